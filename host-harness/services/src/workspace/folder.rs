//! One open directory below the root.

use std::io::Read;
use std::path::Path;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};

#[cfg(any(target_os = "linux", target_os = "android"))]
use super::openat2;
use super::{EntryKind, ListError, segments};

/// An open directory that was reached without following a link.
#[derive(Debug)]
pub(super) struct Folder {
    dir: Dir,
    #[cfg(any(target_os = "linux", target_os = "android"))]
    by_kernel: bool,
}

impl Folder {
    /// A directory that `openat2` opened.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(super) fn by_kernel(dir: Dir) -> Self {
        Self {
            dir,
            by_kernel: true,
        }
    }

    /// A directory that the portable resolver opened.
    pub(super) fn by_segments(dir: Dir) -> Self {
        Self {
            dir,
            #[cfg(any(target_os = "linux", target_os = "android"))]
            by_kernel: false,
        }
    }

    /// Shows every real directory and regular file to `visit`, in no order, until it answers `false`.
    pub(super) fn read(&self, visit: impl FnMut(&str, EntryKind) -> bool) -> Result<(), ListError> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if self.by_kernel {
            return openat2::read(&self.dir, visit).map_err(|errno| ListError::from(&errno.into()));
        }
        segments::read(&self.dir, visit).map_err(|error| ListError::from(&error))
    }

    /// A directory outside the root, by its plain path. For places that the host chose, never for a path from a plugin.
    pub(super) fn ambient(path: &Path) -> Result<Self, ListError> {
        let dir = Dir::open_ambient_dir(path, ambient_authority())
            .map_err(|error| ListError::from(&error))?;
        Ok(Self::by_segments(dir))
    }

    /// A directory further down, reached without following a link.
    pub(super) fn below(&self, relative: &str) -> Result<Self, ListError> {
        segments::open(&self.dir, relative)
            .map(Self::by_segments)
            .map_err(|error| ListError::from(&error))
    }

    /// Whether there is anything of this name, be it a link that leads nowhere.
    pub(super) fn has(&self, name: &str) -> bool {
        self.dir.symlink_metadata(name).is_ok()
    }

    /// The content of a regular file in this directory, nothing when it cannot be read or has more than `max` bytes.
    pub(super) fn small_file(&self, name: &str, max: usize) -> Option<String> {
        // Looking first keeps the open from reaching a device; not blocking keeps it from waiting for the other end of
        // a FIFO that takes the file's place in between.
        if !self.dir.symlink_metadata(name).ok()?.is_file() {
            return None;
        }
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No).nonblock(true);
        let file = self.dir.open_with(name, &options).ok()?;
        if !file.metadata().ok()?.is_file() {
            return None;
        }
        let mut content = Vec::new();
        file.take(max as u64 + 1).read_to_end(&mut content).ok()?;
        (content.len() <= max).then(|| String::from_utf8_lossy(&content).into_owned())
    }
}
