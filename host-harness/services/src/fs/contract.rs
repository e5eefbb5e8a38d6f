use std::path::{Path, PathBuf};

use futures::future::BoxFuture;

use super::error::FsError;
use super::file_url::file_url;

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link; only [`FileSystem::lstat`] and [`FileSystem::list_dir`] report it.
    Symlink,
    /// Anything else: a FIFO, a socket, a device.
    Other,
}

/// Metadata of a file or directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FsInfo {
    /// Opaque token that changes when the content may have changed.
    pub version: String,
    /// What it is.
    pub kind: NodeKind,
    /// Size in bytes, for regular files.
    pub size: Option<u64>,
}

/// One direct child of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FsChild {
    /// The name, with U+FFFD for each ill-formed part.
    pub name: String,
    /// What it is; links are not followed.
    pub kind: NodeKind,
}

/// A resolved path. It stays valid when the file goes away; every use of it is checked afresh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FsTarget {
    display: PathBuf,
    canonical: PathBuf,
    foreign: Option<Foreign>,
}

/// What another provider says of its own target.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Foreign {
    key: String,
    file_url: String,
}

impl FsTarget {
    pub(super) fn new(display: PathBuf, canonical: PathBuf) -> Self {
        Self {
            display,
            canonical,
            foreign: None,
        }
    }

    /// A target that another provider resolved: its own key and URL are passed on as they are.
    pub fn foreign(display: PathBuf, canonical: PathBuf, key: String, file_url: String) -> Self {
        Self {
            display,
            canonical,
            foreign: Some(Foreign { key, file_url }),
        }
    }

    /// Equal for two spellings of one place, links included. Opaque.
    pub fn key(&self) -> String {
        match &self.foreign {
            Some(foreign) => foreign.key.clone(),
            None => self.process_path(),
        }
    }

    /// The lexically absolute path, for people.
    pub fn display_path(&self) -> String {
        self.display.to_string_lossy().into_owned()
    }

    /// The canonical absolute path, as a child process would be given it.
    pub fn process_path(&self) -> String {
        self.canonical.to_string_lossy().into_owned()
    }

    /// The canonical path as a `file:` URL, encoded as Node's `pathToFileURL` does.
    pub fn file_url(&self) -> String {
        match &self.foreign {
            Some(foreign) => foreign.file_url.clone(),
            None => file_url(&self.canonical),
        }
    }

    /// Whether `child` is this place or lies under it, by whole path components.
    pub fn contains(&self, child: &FsTarget) -> bool {
        child.canonical.starts_with(&self.canonical)
    }

    pub(super) fn display(&self) -> &Path {
        &self.display
    }

    /// The canonical path.
    pub fn canonical(&self) -> &Path {
        &self.canonical
    }
}

/// The read half of `ctx.fs`.
pub trait FileSystem: Send + Sync {
    /// Resolves a path, relative ones against `cwd`. Missing tails are allowed; links are followed.
    ///
    /// # Errors
    /// The path is blank, uses a file as a directory, leads out of what may be read, or cannot be looked up.
    fn resolve<'a>(
        &'a self,
        path: &'a str,
        cwd: Option<&'a str>,
    ) -> BoxFuture<'a, Result<FsTarget, FsError>>;

    /// Metadata of what the target leads to; none when it does not exist.
    ///
    /// # Errors
    /// The target leads out of what may be read, or the operating system refuses.
    fn stat<'a>(&'a self, target: &'a FsTarget) -> BoxFuture<'a, Result<Option<FsInfo>, FsError>>;

    /// Metadata of the path itself, without following a final link; none when it does not exist.
    ///
    /// # Errors
    /// As [`FileSystem::resolve`] and [`FileSystem::stat`].
    fn lstat<'a>(
        &'a self,
        path: &'a str,
        cwd: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<FsInfo>, FsError>>;

    /// The text of a regular file of at most `max_bytes` bytes, without its UTF-8 byte order mark.
    ///
    /// # Errors
    /// As [`FileSystem::read_bytes`], and a NUL in the first 8,192 bytes or bytes that are not UTF-8.
    fn read_text<'a>(
        &'a self,
        target: &'a FsTarget,
        max_bytes: u64,
    ) -> BoxFuture<'a, Result<String, FsError>>;

    /// The bytes of a regular file of at most `max_bytes` bytes.
    ///
    /// # Errors
    /// The file is missing, not regular, larger than allowed, out of what may be read, or cannot be read.
    fn read_bytes<'a>(
        &'a self,
        target: &'a FsTarget,
        max_bytes: u64,
    ) -> BoxFuture<'a, Result<Vec<u8>, FsError>>;

    /// The direct children of a directory, ordered by name in UTF-16 code units.
    ///
    /// # Errors
    /// The directory is missing, no directory, out of what may be read, or cannot be read.
    fn list_dir<'a>(&'a self, target: &'a FsTarget)
    -> BoxFuture<'a, Result<Vec<FsChild>, FsError>>;
}
