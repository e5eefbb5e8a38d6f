//! `ctx.fs`, the read half: files of this machine, confined to the directories that were granted.

mod contract;
mod error;
mod file_url;

pub use contract::{FileSystem, FsChild, FsInfo, FsTarget, NodeKind};
pub use error::{FsError, FsErrorCode};
