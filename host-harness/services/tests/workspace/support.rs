//! What the tests share.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use dsh_services::workspace::{
    Directory, EntryKind, ListError, ListOptions, Listing, LocalDirectory, Outcome, Resolver,
};
use tempfile::TempDir;

pub static NEVER: AtomicBool = AtomicBool::new(false);

/// A scratch directory with a root in it, so that there is something outside the root too.
pub struct Scene {
    scratch: TempDir,
}

impl Scene {
    pub fn new() -> Self {
        #[cfg(target_os = "linux")]
        crate::without_openat2::forbid_if_asked();
        let scratch = TempDir::new().unwrap();
        fs::create_dir(scratch.path().join("root")).unwrap();
        Self { scratch }
    }

    /// The scratch directory, which is outside the root.
    pub fn outside(&self) -> &Path {
        self.scratch.path()
    }

    pub fn root(&self) -> PathBuf {
        self.scratch.path().join("root")
    }

    /// Creates files in the root, and directories for paths that end in `/`.
    pub fn with(self, paths: &[&str]) -> Self {
        for path in paths {
            let full = self.root().join(path);
            if path.ends_with('/') {
                fs::create_dir_all(full).unwrap();
            } else {
                self.write(path, "");
            }
        }
        self
    }

    pub fn write(&self, path: &str, content: &str) {
        let full = self.root().join(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, content).unwrap();
    }

    pub fn link(&self, path: &str, target: impl AsRef<Path>) {
        std::os::unix::fs::symlink(target, self.root().join(path)).unwrap();
    }

    /// The root once per resolver.
    pub fn directories(&self) -> [LocalDirectory; 2] {
        directories(self.root())
    }
}

/// A directory once per resolver.
pub fn directories(path: impl AsRef<Path>) -> [LocalDirectory; 2] {
    [Resolver::Auto, Resolver::Segments].map(|resolver| {
        LocalDirectory::new(path.as_ref().to_str().unwrap()).with_resolver(resolver)
    })
}

pub fn everything() -> ListOptions {
    ListOptions {
        limit: u64::MAX,
        ..ListOptions::default()
    }
}

pub fn marking() -> ListOptions {
    ListOptions {
        mark_ignored: true,
        ..everything()
    }
}

pub fn hiding() -> ListOptions {
    ListOptions {
        hide_ignored: true,
        ..everything()
    }
}

pub fn list(directory: &LocalDirectory, paths: &[&str], options: &ListOptions) -> Vec<Outcome> {
    let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    let outcomes = directory.list(&paths, options, &NEVER);
    assert_eq!(outcomes.len(), paths.len(), "one outcome per path");
    outcomes
}

/// The names of one directory, those of directories with a `/`, or the error.
pub fn names(directory: &LocalDirectory, path: &str) -> Result<Vec<String>, ListError> {
    match list(directory, &[path], &everything()).remove(0) {
        Outcome::Listed(listing) => Ok(shown(&listing)),
        Outcome::Failed(error) => Err(error),
        Outcome::Skipped => panic!("a single directory was skipped"),
    }
}

/// The names of a listing, those of directories with a `/`.
pub fn shown(listing: &Listing) -> Vec<String> {
    let names: Vec<&str> = listing.names.split_terminator('/').collect();
    assert_eq!(names.len(), listing.kinds.len());
    let slash = |kind| {
        if kind == EntryKind::Directory {
            "/"
        } else {
            ""
        }
    };
    names
        .iter()
        .zip(&listing.kinds)
        .map(|(name, kind)| format!("{name}{}", slash(*kind)))
        .collect()
}

/// Walks the whole tree breadth-first; the entries by path, directories with a `/`, and whether they are ignored.
pub fn walk(directory: &LocalDirectory, options: &ListOptions) -> BTreeMap<String, bool> {
    let mut found = BTreeMap::new();
    let mut level = vec![String::new()];
    while !level.is_empty() {
        let outcomes = directory.list(&level, options, &NEVER);
        let mut next = Vec::new();
        for (folder, outcome) in level.iter().zip(outcomes) {
            let Outcome::Listed(listing) = outcome else {
                panic!("{folder:?}: {outcome:?}")
            };
            for (position, name) in (0..).zip(shown(&listing)) {
                let path = if folder.is_empty() {
                    name
                } else {
                    format!("{folder}/{name}")
                };
                if let Some(folder) = path.strip_suffix('/') {
                    next.push(folder.to_owned());
                }
                found.insert(path, listing.ignored.binary_search(&position).is_ok());
            }
        }
        level = next;
    }
    found
}

/// The paths that a walk found ignored.
pub fn ignored(directory: &LocalDirectory) -> Vec<String> {
    walk(directory, &marking())
        .into_iter()
        .filter(|(_, ignored)| *ignored)
        .map(|(path, _)| path)
        .collect()
}
