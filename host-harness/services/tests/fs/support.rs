//! A granted directory, one beside it that is not granted, and a file system between them.

use std::fs;
use std::path::{Path, PathBuf};

use dsh_services::fs::{FileSystem, FsErrorCode, FsTarget, LocalFileSystem};

/// The directories are removed with it.
pub struct Fixture {
    _all: tempfile::TempDir,
    pub root: PathBuf,
    pub outside: PathBuf,
    pub files: LocalFileSystem,
}

pub fn fixture() -> Fixture {
    let all = tempfile::tempdir().unwrap();
    let base = all.path().canonicalize().unwrap();
    let (root, outside) = (base.join("root"), base.join("outside"));
    fs::create_dir(&root).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(root.join("a.txt"), "alpha").unwrap();
    fs::write(outside.join("secret.txt"), "secret").unwrap();
    let files = LocalFileSystem::new(root.clone()).unwrap();
    files.grant(&root).unwrap();
    Fixture {
        _all: all,
        root,
        outside,
        files,
    }
}

impl Fixture {
    pub async fn target(&self, path: &str) -> FsTarget {
        self.files.resolve(path, None).await.unwrap()
    }

    pub async fn resolve_code(&self, path: &str) -> FsErrorCode {
        self.files.resolve(path, None).await.unwrap_err().code
    }

    pub async fn read(&self, path: &str) -> Result<String, FsErrorCode> {
        let target = self
            .files
            .resolve(path, None)
            .await
            .map_err(|error| error.code)?;
        self.files
            .read_text(&target, 1000)
            .await
            .map_err(|error| error.code)
    }
}

pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
