//! What the host tells about directories: the plugin's own copy of the `workspace` interface, so that the core needs no
//! bindings (SPEC 3).

use std::future::Future;

/// What a listed entry, and so a candidate, is. Links, sockets, FIFOs and devices are never listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A regular file.
    File,
    /// A real directory, not a link to one.
    Directory,
}

/// Why a directory could not be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListError {
    /// The root, or a segment of the path, does not exist.
    NotFound,
    /// A segment of the path is a link, a file, or anything else that is no real directory.
    NotDirectory,
    /// The host may not read the directory.
    Denied,
    /// The path cannot name a directory, or is too long.
    InvalidPath,
    /// Any other failure of the operating system.
    Io,
}

impl ListError {
    /// Whether entries may exist at `path` that the failure keeps out of sight (SPEC 8.2). What is not there, or is no
    /// directory any more, hides nothing; but a name with U+FFFD stands for one that cannot be spelled, and so may exist.
    pub fn leaves_unread(self, path: &str) -> bool {
        match self {
            Self::NotFound | Self::NotDirectory => path.contains(char::REPLACEMENT_CHARACTER),
            Self::Denied | Self::InvalidPath | Self::Io => true,
        }
    }
}

/// The entries of one directory, ordered by name in UTF-16 code units.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// Every name followed by one `/`.
    pub names: String,
    /// The kind of each name, in the same order.
    pub kinds: Vec<Kind>,
    /// Positions in `kinds` of the entries that ignore files exclude, ascending.
    pub ignored: Vec<u32>,
    /// Entries that exist but were left out because of the limit.
    pub omitted: u64,
}

/// The outcome for one directory of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The directory was read.
    Listed(Listing),
    /// The directory could not be read.
    Failed(ListError),
    /// The directory was not read, because those before it held enough entries.
    Skipped,
}

/// Directories to list, and how many entries are of use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Paths relative to the root, without a trailing `/`; the empty one is the root.
    pub paths: Vec<String>,
    /// Entries after which the host may stop, counted over the whole batch.
    pub limit: u64,
}

/// The working directory of one agent, as the host lends it.
pub trait Workspace {
    /// Its absolute path as text.
    fn path(&self) -> String;
    /// Lists a batch under the exclusion and ignore rules of the configuration; one outcome per path, in order.
    fn list(&self, batch: Batch) -> impl Future<Output = Vec<Outcome>>;
}
