//! Read-only sight of the names under one directory: what `workspace.directory` of the WIT contract is on this machine.
//!
//! [`Directory`] is the seam, [`LocalDirectory`] the provider for a real file system. Rules that the provider keeps:
//!
//! - **Confinement.** A path is text relative to the root. Absolute paths, `.`, `..`, empty segments, NUL and overlong
//!   paths are refused before the system is asked. Below the root no link is followed, whatever it points to and
//!   whenever it appears: the kernel resolves the path in one step (`openat2`), or one segment at a time, each opened
//!   without following links (see [`Resolver`]). The root itself is the host's own choice, so a root that is a link is
//!   followed. It is opened anew for every call, because it may be missing now and appear later.
//! - **What is listed.** Real directories and regular files. Links, FIFOs, sockets and devices are not.
//! - **Order.** By name in UTF-16 code units. A name that is not UTF-8 shows U+FFFD for each ill-formed part, and takes
//!   part in everything under that spelling.
//! - **Limit.** A directory is [`Outcome::Skipped`] exactly when the directories before it returned
//!   [`ListOptions::limit`] entries or more. Threads read a batch in order, so at most (threads - 1) directories are
//!   read in vain, and their result is thrown away: the answer does not depend on timing.
//! - **Memory.** One directory is held as at most twice the limit (never less than 8,192 entries) while it is read,
//!   however many entries it has, and a batch as at most the limit and one directory more for each thread. A limit
//!   above [`MAX_ENTRIES`] counts as [`MAX_ENTRIES`].
//! - **Failures.** A directory that cannot be read to its end fails as a whole; one that is deleted meanwhile is
//!   [`ListError::NotFound`]. Nothing that one directory does affects the outcome of another.
//! - **Ignore rules.** As git has them, see [`ListOptions::mark_ignored`]. Ignore files are read under the same
//!   confinement, and nothing of their content leaves this module.

mod batch;
mod confined;
mod entries;
mod folder;
mod ignore_rules;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod linux;
mod local;
mod path;
mod segments;

use std::sync::atomic::AtomicBool;

pub use confined::Resolver;
pub use local::LocalDirectory;

/// The most entries that one directory returns and one batch collects, whatever [`ListOptions::limit`] says.
pub const MAX_ENTRIES: u64 = 1 << 21;

/// The longest path that is looked up, in bytes.
pub const MAX_PATH_BYTES: usize = 4_095;

/// The longest segment of a path that is looked up, in bytes.
pub const MAX_SEGMENT_BYTES: usize = 255;

/// What a listed entry is. Anything else, links above all, is never listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A real directory, not a link to one.
    Directory,
}

/// Why a directory could not be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum ListError {
    /// The root, or a segment of the path, does not exist.
    #[error("no such directory")]
    NotFound,
    /// A segment of the path is a link, a file, or anything else that is no real directory.
    #[error("not a directory")]
    NotDirectory,
    /// This process may not read the directory.
    #[error("permission denied")]
    Denied,
    /// The path is absolute, has a `..`, `.`, empty or NUL-carrying segment, or is too long; or the root is no absolute path.
    #[error("invalid path")]
    InvalidPath,
    /// Any other failure of the operating system.
    #[error("input/output error")]
    Io,
}

/// The entries of one directory, ordered by name in UTF-16 code units.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// Every name followed by one `/`, which no name can contain.
    pub names: String,
    /// The kind of each name, in the same order.
    pub kinds: Vec<EntryKind>,
    /// Positions in `kinds` of the entries that ignore files exclude, ascending; empty unless asked for.
    pub ignored: Vec<u32>,
    /// Entries that exist but were left out because of [`ListOptions::limit`].
    pub omitted: u64,
}

/// The outcome for one directory of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The directory was read to its end.
    Listed(Listing),
    /// The directory could not be read.
    Failed(ListError),
    /// The directory was not read, because the directories before it already held [`ListOptions::limit`] entries, or
    /// because the call was stopped.
    Skipped,
}

/// How to list a batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListOptions {
    /// Directories with one of these names (exact, case-sensitive) are left out and count towards no limit.
    pub exclude_directories: Vec<String>,
    /// Entries after which the batch stops, counted over all its directories in the order given. One directory never
    /// returns more than this. Zero skips everything.
    pub limit: u64,
    /// Whether entries that `.gitignore`, `.ignore` and `.git/info/exclude` exclude are marked.
    ///
    /// The nearest file decides and the last matching line of a file, `.ignore` files before all `.gitignore` files,
    /// and these before the repository's exclude file. What lies in an ignored directory is ignored, whatever a line
    /// further down says. The files of the root's parents count up to the repository, the nearest directory at or above
    /// the root that holds a `.git`; without one, those of the root and below count. A repository below the root
    /// starts afresh, except for `.ignore` files. Patterns above the root that ignore the root itself, or a directory
    /// on the way to it, are left out, so a root inside an ignored directory is not ignored as a whole. The user's
    /// global ignore file and git's index are not read.
    pub mark_ignored: bool,
    /// Whether the marked entries are left out and count towards no limit. Implies `mark_ignored`.
    pub hide_ignored: bool,
}

/// The working directory of one agent, as a capability: nothing outside it can be named, and no link is followed.
pub trait Directory: Send + Sync {
    /// The absolute path as text, for comparison with absolute paths that a user typed. It need not exist.
    fn path(&self) -> &str;

    /// Lists many directories at once. A path is relative to this directory, its segments are separated by `/`, and
    /// the empty string means the directory itself. The answer has one outcome per path, in order.
    ///
    /// Blocks, so an asynchronous caller runs it where blocking is allowed. Setting `stop` makes the call return soon
    /// with [`Outcome::Skipped`] for whatever was not read to its end; such an answer is incomplete and for nobody.
    fn list(&self, paths: &[String], options: &ListOptions, stop: &AtomicBool) -> Vec<Outcome>;
}
