//! The way from the root down to a directory that leads nowhere else.

use std::io;
#[cfg(any(target_os = "linux", target_os = "android"))]
use std::sync::atomic::{AtomicBool, Ordering};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
#[cfg(unix)]
use rustix::io::Errno;

use super::folder::Folder;
#[cfg(any(target_os = "linux", target_os = "android"))]
use super::linux;
use super::{ListError, path, segments};

/// How paths are resolved. Both ways give the same answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Resolver {
    /// `openat2` where the kernel has it and lets this process use it, else [`Resolver::Segments`].
    #[default]
    Auto,
    /// One segment at a time, each opened without following links. The only way on systems other than Linux.
    Segments,
}

/// What a directory is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To read its entries.
    Read,
    /// To look up single names in it, for which search permission is enough.
    Search,
}

/// Chooses the resolver, and remembers once the kernel has said that it has no `openat2`.
#[derive(Debug, Default)]
pub(super) struct Opener {
    resolver: Resolver,
    #[cfg(any(target_os = "linux", target_os = "android"))]
    without_openat2: AtomicBool,
}

impl Opener {
    pub(super) fn new(resolver: Resolver) -> Self {
        Self {
            resolver,
            ..Self::default()
        }
    }

    /// Opens the root by its absolute path, following links: where it is, is the host's own choice.
    pub(super) fn root(&self, absolute: &str) -> Result<Root<'_>, ListError> {
        let path = std::path::Path::new(absolute);
        if !path.is_absolute() || absolute.contains('\0') {
            return Err(ListError::InvalidPath);
        }
        let dir = Dir::open_ambient_dir(path, ambient_authority())
            .map_err(|error| ListError::from(&error))?;
        Ok(Root { dir, opener: self })
    }
}

/// The open root of one call.
#[derive(Debug)]
pub(super) struct Root<'a> {
    dir: Dir,
    opener: &'a Opener,
}

impl Root<'_> {
    /// Opens the directory at `relative`; empty means the root.
    pub(super) fn folder(&self, relative: &str, purpose: Purpose) -> Result<Folder, ListError> {
        path::check(relative)?;
        let dir = match self.at_once(relative, purpose) {
            Some(outcome) => outcome,
            None => segments::open(&self.dir, relative, purpose),
        };
        dir.map(Folder::new)
            .map_err(|error| ListError::from(&error))
    }

    /// Lets the kernel resolve the path; nothing where that is not to be had or not wanted.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn at_once(&self, relative: &str, purpose: Purpose) -> Option<io::Result<Dir>> {
        if self.opener.resolver == Resolver::Segments
            || self.opener.without_openat2.load(Ordering::Relaxed)
        {
            return None;
        }
        match linux::open_at_once(&self.dir, relative, purpose) {
            // No such call, or a sandbox that forbids it.
            Err(Errno::NOSYS | Errno::PERM) => {
                self.opener.without_openat2.store(true, Ordering::Relaxed);
                None
            }
            outcome => Some(outcome.map_err(io::Error::from)),
        }
    }

    /// No other system resolves a whole path without following links.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    fn at_once(&self, _relative: &str, _purpose: Purpose) -> Option<io::Result<Dir>> {
        match self.opener.resolver {
            Resolver::Auto | Resolver::Segments => None,
        }
    }
}

impl From<&io::Error> for ListError {
    fn from(error: &io::Error) -> Self {
        use io::ErrorKind;
        #[cfg(unix)]
        if Errno::from_io_error(error) == Some(Errno::LOOP) {
            return Self::NotDirectory;
        }
        match error.kind() {
            ErrorKind::NotFound => Self::NotFound,
            ErrorKind::NotADirectory => Self::NotDirectory,
            ErrorKind::PermissionDenied => Self::Denied,
            ErrorKind::InvalidFilename => Self::InvalidPath,
            _ => Self::Io,
        }
    }
}
