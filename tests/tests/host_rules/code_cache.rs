//! Compiled code is kept where nobody else can put anything.
#![cfg(unix)]

use dsh_host::{CodeCache, Engine, LoadedComponent};
use dsh_tests::hostile::COMPONENT;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

fn compile(directory: &Path) {
    let engine = Engine::new(&CodeCache::Directory(directory.into())).unwrap();
    LoadedComponent::new(&engine, COMPONENT).unwrap();
}

/// All compiled code below, with the time of its last change. wasmtime keeps counts of uses and marks of its own work beside it.
fn files(directory: &Path) -> BTreeMap<PathBuf, SystemTime> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path()));
        } else if !entry.file_name().to_string_lossy().contains('.') {
            found.insert(entry.path(), entry.metadata().unwrap().modified().unwrap());
        }
    }
    found
}

#[test]
fn code_is_compiled_once_into_a_directory_of_the_users_own() {
    let place = tempfile::tempdir().unwrap();
    let cache = place.path().join("new/cache");
    compile(&cache);
    let mode = fs::metadata(&cache).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let kept = files(&cache);
    assert!(!kept.is_empty());
    compile(&cache);
    assert_eq!(files(&cache), kept, "the second time nothing was compiled");
}

#[test]
fn a_directory_that_others_may_write_to_is_not_used() {
    let place = tempfile::tempdir().unwrap();
    for mode in [0o770, 0o702, 0o777] {
        let cache = place.path().join(format!("{mode:o}"));
        fs::DirBuilder::new().mode(0o700).create(&cache).unwrap();
        fs::set_permissions(&cache, fs::Permissions::from_mode(mode)).unwrap();
        compile(&cache);
        assert_eq!(files(&cache), BTreeMap::new(), "{mode:o}");
    }
}
