//! The way from the root down to a directory that leads nowhere else.

#[cfg(any(target_os = "linux", target_os = "android"))]
use std::sync::atomic::{AtomicBool, Ordering};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

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
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if self.opener.resolver == Resolver::Auto
            && !self.opener.without_openat2.load(Ordering::Relaxed)
        {
            match linux::open_at_once(&self.dir, relative, purpose) {
                // No such call, or a sandbox that forbids it.
                Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => {
                    self.opener.without_openat2.store(true, Ordering::Relaxed);
                }
                Ok(dir) => return Ok(Folder::new(dir)),
                Err(errno) => return Err(ListError::from(&errno.into())),
            }
        }
        segments::open(&self.dir, relative, purpose)
            .map(Folder::new)
            .map_err(|error| ListError::from(&error))
    }
}

impl From<&std::io::Error> for ListError {
    fn from(error: &std::io::Error) -> Self {
        use std::io::ErrorKind;
        #[cfg(unix)]
        if rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::LOOP) {
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
