//! Directories that this process may not read. The super-user may read everything, so for it these tests run again as
//! another user, in a process of their own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use dsh_services::workspace::ListError;

use crate::support::{Scene, ignored, names};

/// A user without privileges on every system.
const NOBODY: u32 = 65_534;

/// Whether to go on; the super-user's answer is what the other process found.
fn as_ordinary_user(test: &str) -> bool {
    if !rustix::process::geteuid().is_root() {
        return true;
    }
    let name = format!("permissions::{test}");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", &name])
        .current_dir("/")
        .uid(NOBODY)
        .gid(NOBODY);
    match command.output() {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(
                output.status.success() && text.contains("1 passed"),
                "{text}{}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        // The test program lies where another user cannot reach it.
        Err(error) => println!(
            "SKIPPED: the super-user may read everything, and another user cannot run this: {error}"
        ),
    }
    false
}

/// Takes permissions away and gives them back, so that the scratch directory can be removed.
struct Mode(std::path::PathBuf);

impl Mode {
    fn set(path: std::path::PathBuf, mode: u32) -> Self {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        Self(path)
    }
}

impl Drop for Mode {
    fn drop(&mut self) {
        let _ = fs::set_permissions(&self.0, fs::Permissions::from_mode(0o755));
    }
}

#[test]
fn an_unreadable_directory_is_denied_and_the_rest_stays_useful() {
    if !as_ordinary_user("an_unreadable_directory_is_denied_and_the_rest_stays_useful") {
        return;
    }
    let scene = Scene::new().with(&["closed/x", "open/y"]);
    let _closed = Mode::set(scene.root().join("closed"), 0o000);
    for directory in scene.directories() {
        assert_eq!(names(&directory, "").unwrap(), ["closed/", "open/"]);
        assert_eq!(names(&directory, "closed"), Err(ListError::Denied));
        assert_eq!(names(&directory, "closed/x"), Err(ListError::Denied));
        assert_eq!(names(&directory, "open").unwrap(), ["y"]);
    }
}

#[test]
fn search_permission_lets_known_names_be_reached() {
    if !as_ordinary_user("search_permission_lets_known_names_be_reached") {
        return;
    }
    let scene = Scene::new().with(&["search/inner/x", "search/inner/ignored"]);
    scene.write("search/.gitignore", "ignored\n");
    let _search = Mode::set(scene.root().join("search"), 0o111);
    for directory in scene.directories() {
        assert_eq!(names(&directory, "search"), Err(ListError::Denied));
        assert_eq!(names(&directory, "search/inner").unwrap(), ["ignored", "x"]);
    }
    let _root = Mode::set(scene.root(), 0o111);
    for directory in scene.directories() {
        assert_eq!(names(&directory, ""), Err(ListError::Denied));
        assert_eq!(names(&directory, "search/inner").unwrap(), ["ignored", "x"]);
    }
}

#[test]
fn read_permission_alone_lists_and_leads_no_further() {
    if !as_ordinary_user("read_permission_alone_lists_and_leads_no_further") {
        return;
    }
    let scene = Scene::new().with(&["read/file", "read/inner/x"]);
    let _read = Mode::set(scene.root().join("read"), 0o444);
    for directory in scene.directories() {
        assert_eq!(names(&directory, "read/inner"), Err(ListError::Denied));
        assert_eq!(names(&directory, "read").unwrap(), ["file", "inner/"]);
    }
}

#[test]
fn an_ignore_file_that_cannot_be_read_says_nothing() {
    if !as_ordinary_user("an_ignore_file_that_cannot_be_read_says_nothing") {
        return;
    }
    let scene = Scene::new().with(&["a", "b"]);
    scene.write(".gitignore", "a\n");
    scene.write(".ignore", "b\n");
    let _file = Mode::set(scene.root().join(".gitignore"), 0o000);
    for directory in scene.directories() {
        assert_eq!(ignored(&directory), ["b"]);
    }
}
