//! `ctx.fs`, the read half: files of this machine, confined to the directories that were granted.
//!
//! A path is resolved by its text, links included, and the answer is a place. Whether the place may be read is decided
//! when it is opened, by a walk that starts at the handle of a granted directory and cannot leave it. A link that is put
//! in the way between the two finds its target refused.

mod contract;
mod error;
mod file_url;
mod local;
mod read;
mod resolve;
mod roots;

pub use contract::{FileSystem, FsChild, FsInfo, FsTarget, NodeKind};
pub use error::{FsError, FsErrorCode};
pub use local::LocalFileSystem;
pub use read::{MAX_CHILDREN, MAX_READ_BYTES};
