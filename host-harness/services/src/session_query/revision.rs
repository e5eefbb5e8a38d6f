//! Opening a log, and telling one state of its file from another.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a log to read it. Only a regular file can be one: opening a FIFO would wait for its writer without end, and a device may have no
/// end itself (SPEC-sessions 3.7).
///
/// # Errors
/// There is no such file, it may not be read, or it is no regular file.
pub fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not a regular file",
        ))
    }
}

/// A state of a file. Equal revisions have equal bytes, as far as a file system can promise that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Revision {
    pub device: u64,
    pub inode: u64,
    pub size: u64,
    pub modified: (i64, i64),
    pub changed: (i64, i64),
}

impl Revision {
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether `later` can be this file with more at its end.
    pub fn may_have_grown_to(&self, later: &Self) -> bool {
        self.device == later.device && self.inode == later.inode && later.size > self.size
    }
}
