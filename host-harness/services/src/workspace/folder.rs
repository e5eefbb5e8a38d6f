//! One open directory below the root.

use std::io::Read;
use std::path::Path;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};

use super::confined::Purpose;
use super::{EntryKind, ListError, segments};

/// An open directory that was reached without following a link.
#[derive(Debug)]
pub(super) struct Folder(Dir);

impl Folder {
    pub(super) fn new(dir: Dir) -> Self {
        Self(dir)
    }

    /// Shows every real directory and regular file to `visit`, in no order, until it answers `false`. The directory
    /// must be open for [`Purpose::Read`]. The next read can use `buffer` again.
    pub(super) fn read(
        &self,
        buffer: &mut Vec<u8>,
        visit: impl FnMut(&str, EntryKind) -> bool,
    ) -> Result<(), ListError> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        let outcome = super::linux::read(&self.0, buffer, visit).map_err(std::io::Error::from);
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        let outcome = {
            let _ = buffer;
            segments::read(&self.0, visit)
        };
        outcome.map_err(|error| ListError::from(&error))
    }

    /// A directory outside the root, by its plain path. For places that the host chose, never for a path from a plugin.
    pub(super) fn ambient(path: &Path) -> Result<Self, ListError> {
        let dir = Dir::open_ambient_dir(path, ambient_authority())
            .map_err(|error| ListError::from(&error))?;
        Ok(Self::new(dir))
    }

    /// A directory further down, reached without following a link.
    pub(super) fn below(&self, relative: &str) -> Result<Self, ListError> {
        segments::open(&self.0, relative, Purpose::Search)
            .map(Self::new)
            .map_err(|error| ListError::from(&error))
    }

    /// Whether there is anything of this name, be it a link that leads nowhere.
    pub(super) fn has(&self, name: &str) -> bool {
        self.look(name).is_some()
    }

    /// Whether there is a regular file of this name; nothing when there is no such name. Asked several times for every
    /// directory, mostly in vain, so it takes the shortest way. `name` is one segment of our own choice.
    #[cfg(unix)]
    fn look(&self, name: &str) -> Option<bool> {
        use rustix::fs::{AtFlags, FileType, statat};
        let stat = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
    }

    /// Whether there is a regular file of this name; nothing when there is no such name.
    #[cfg(not(unix))]
    fn look(&self, name: &str) -> Option<bool> {
        Some(self.0.symlink_metadata(name).ok()?.is_file())
    }

    /// The content of a regular file in this directory, nothing when it cannot be read or has more than `max` bytes.
    pub(super) fn small_file(&self, name: &str, max: usize) -> Option<String> {
        // Looking first keeps the open from reaching a device; not blocking keeps it from waiting for the other end of
        // a FIFO that takes the file's place in between.
        if !self.look(name)? {
            return None;
        }
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No).nonblock(true);
        let file = self.0.open_with(name, &options).ok()?;
        if !file.metadata().ok()?.is_file() {
            return None;
        }
        let mut content = Vec::new();
        file.take(max as u64 + 1).read_to_end(&mut content).ok()?;
        (content.len() <= max).then(|| String::from_utf8_lossy(&content).into_owned())
    }
}
