//! Telling one state of a file from another.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

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
