//! The provider for this machine's file system.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::confined::{Opener, Purpose, Resolver, Root};
use super::entries::Scratch;
use super::ignore_rules::{Matchers, Rules};
use super::{Directory, EntryKind, ListError, ListOptions, Listing, MAX_ENTRIES, Outcome, batch};

/// Entries between two looks at the stop flag.
const STOP_INTERVAL: u64 = 1_024;

/// A directory of this machine.
#[derive(Debug)]
pub struct LocalDirectory {
    path: String,
    opener: Opener,
    threads: usize,
    reads: AtomicU64,
    matchers: Matchers,
}

impl LocalDirectory {
    /// The directory at an absolute path. It is not looked at before the first [`Directory::list`]; a path that is not
    /// absolute is answered with [`ListError::InvalidPath`] there, and one that leads nowhere with [`ListError::NotFound`].
    pub fn new(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            opener: Opener::default(),
            threads: batch::default_threads(),
            reads: AtomicU64::new(0),
            matchers: Matchers::default(),
        }
    }

    /// Resolves paths in the given way.
    #[must_use]
    pub fn with_resolver(self, resolver: Resolver) -> Self {
        Self {
            opener: Opener::new(resolver),
            ..self
        }
    }

    /// Reads a batch on up to `threads` threads (1 to 8, the caller's own included) instead of one per core.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self {
            threads: threads.clamp(1, batch::MAX_THREADS),
            ..self
        }
    }

    /// How many directories have been opened to read their entries since the start.
    pub fn directories_read(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }
}

impl Directory for LocalDirectory {
    fn path(&self) -> &str {
        &self.path
    }

    fn list(&self, paths: &[String], options: &ListOptions, stop: &AtomicBool) -> Vec<Outcome> {
        let root = self.opener.root(&self.path);
        let limit = options.limit.min(MAX_ENTRIES);
        let mut excluded: Vec<&str> = options
            .exclude_directories
            .iter()
            .map(String::as_str)
            .collect();
        excluded.sort_unstable();
        let with_rules = options.mark_ignored || options.hide_ignored;
        let call = Call {
            directory: self,
            root: root.as_ref().map_err(|error| *error),
            rules: root
                .as_ref()
                .ok()
                .filter(|_| with_rules)
                .map(|root| Rules::new(&self.path, root, &self.matchers)),
            hide: options.hide_ignored,
            excluded,
            limit: limit as usize,
            stop,
        };
        batch::read_in_order(paths.len(), self.threads, limit, stop, |index, scratch| {
            paths
                .get(index)
                .map_or(Outcome::Skipped, |path| call.outcome(path, scratch))
        })
    }
}

/// What the directories of one batch share.
struct Call<'a> {
    directory: &'a LocalDirectory,
    root: Result<&'a Root<'a>, ListError>,
    /// Present when ignored entries are to be told from others.
    rules: Option<Rules<'a>>,
    hide: bool,
    /// In order, for a binary search: the caller decides how many there are.
    excluded: Vec<&'a str>,
    limit: usize,
    stop: &'a AtomicBool,
}

impl Call<'_> {
    fn outcome(&self, path: &str, scratch: &mut Scratch) -> Outcome {
        match self.read(path, scratch) {
            Ok(Some(listing)) => Outcome::Listed(listing),
            Ok(None) => Outcome::Skipped,
            Err(error) => Outcome::Failed(error),
        }
    }

    /// Reads one directory; nothing when the call was stopped.
    fn read(&self, path: &str, scratch: &mut Scratch) -> Result<Option<Listing>, ListError> {
        super::path::check(path)?;
        let folder = self.root?.folder(path, Purpose::Read)?;
        self.directory.reads.fetch_add(1, Ordering::Relaxed);
        let mut verdicts = self
            .rules
            .as_ref()
            .map(|rules| rules.verdicts(path, &folder));
        let mut is_ignored = |name: &str, kind| {
            verdicts
                .as_mut()
                .is_some_and(|verdicts| verdicts.is_ignored(name, kind))
        };
        let (mut collector, buffer) = scratch.collect(self.limit);
        let mut seen = 0_u64;
        let mut stopped = false;
        folder.read(buffer, |name, kind| {
            seen += 1;
            stopped = seen.is_multiple_of(STOP_INTERVAL) && self.stop.load(Ordering::Relaxed);
            let excluded =
                kind == EntryKind::Directory && self.excluded.binary_search(&name).is_ok();
            let left_out = excluded || (self.hide && is_ignored(name, kind));
            if !left_out {
                collector.push(name, kind);
            }
            !stopped
        })?;
        // Hidden entries are gone already, so none of those that are left is to be marked.
        Ok((!stopped).then(|| collector.finish(|name, kind| !self.hide && is_ignored(name, kind))))
    }
}
