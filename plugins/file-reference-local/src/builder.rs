//! Building an index, without I/O: the builder asks for directories and is fed what they hold (SPEC 4.2).

use crate::index::Index;
use crate::workspace::{Batch, Outcome};

/// Fewest directories asked for at once, so that the last entries below the bound do not cost a round trip each.
const MIN_BATCH: u64 = 32;
/// Most directories asked for at once. It bounds the answer that has to be held while it is taken in.
const MAX_BATCH: u64 = 4096;

/// Why an index does not hold the whole tree (SPEC 8.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LimitedBy {
    /// It does.
    #[default]
    None,
    /// The bound was reached.
    MaxEntries,
    /// So many directories could not be read.
    Unreadable(u64),
}

/// A finished index and what is missing from it.
#[derive(Debug)]
pub struct Built {
    /// The entries.
    pub index: Index,
    /// Why there are no more.
    pub limited_by: LimitedBy,
}

/// Walks a tree breadth first until it is exhausted or the bound is reached.
#[derive(Debug)]
pub struct Builder {
    index: Index,
    max_entries: u64,
    full: bool,
    unreadable: u64,
}

impl Builder {
    /// A walk that records at most `max_entries`.
    pub fn new(max_entries: u64) -> Self {
        Self {
            index: Index::new(""),
            max_entries,
            full: false,
            unreadable: 0,
        }
    }

    /// The directories to be listed next, or none when the index is finished.
    pub fn request(&self) -> Option<Batch> {
        let remaining = self.remaining();
        let unread = self.index.unread();
        if self.full || remaining == 0 || unread.len() == 0 {
            return None;
        }
        let paths = unread
            .take(self.batch_size(remaining))
            .map(str::to_owned)
            .collect();
        Some(Batch {
            paths,
            limit: remaining,
        })
    }

    /// Takes in the answer to the last request.
    pub fn feed(&mut self, batch: &Batch, outcomes: &[Outcome]) {
        let before = self.index.directories_read();
        for (path, outcome) in batch.paths.iter().zip(outcomes) {
            let remaining = self.remaining();
            if self.full || remaining == 0 {
                return;
            }
            match outcome {
                Outcome::Listed(listing) => {
                    let whole = self.index.push_directory(listing, remaining);
                    self.full = !whole || listing.omitted > 0;
                }
                Outcome::Failed(error) => {
                    self.index.skip_directory();
                    self.unreadable += u64::from(error.leaves_unread(path));
                }
                // Breadth-first order allows no gap: what follows has to be asked for again.
                Outcome::Skipped => break,
            }
        }
        if self.index.directories_read() == before {
            // The host skipped even the first one. Asking for ever would not help.
            self.index.skip_directory();
            self.unreadable += 1;
        }
    }

    /// The index, once there is no further request.
    pub fn finish(self) -> Built {
        let left = self.full || self.index.unread().len() > 0;
        let limited_by = match self.unreadable {
            _ if left => LimitedBy::MaxEntries,
            0 => LimitedBy::None,
            count => LimitedBy::Unreadable(count),
        };
        Built {
            index: self.index,
            limited_by,
        }
    }

    fn remaining(&self) -> u64 {
        self.max_entries.saturating_sub(self.index.len() as u64)
    }

    /// As many directories as should hold the remaining entries, going by those read so far, and a quarter more.
    fn batch_size(&self, remaining: u64) -> usize {
        let read = self.index.directories_read() as u64;
        let entries = (self.index.len() as u64).max(1);
        let expected = (remaining.saturating_mul(read) / entries).min(MAX_BATCH);
        (expected + expected / 4).clamp(MIN_BATCH, MAX_BATCH) as usize
    }
}
