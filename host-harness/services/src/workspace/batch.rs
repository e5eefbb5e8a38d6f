//! Reads the directories of a batch in order, on a few threads, and no further than the limit asks.
//!
//! Helper threads live for one batch. A thread costs some microseconds, a batch milliseconds, and no batch ever waits
//! for a pool that another one keeps busy, for instance on a network file system that hangs. The number of helpers is
//! bounded over the whole process: a batch that gets none does all the work on the thread of its caller.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;

use super::Outcome;
use super::entries::Scratch;

/// The most threads that work on one batch, the caller's included.
pub(super) const MAX_THREADS: usize = 8;

/// Directories that make a further thread worth its start.
const DIRECTORIES_PER_HELPER: usize = 16;

/// Helpers at work in the whole process.
static HELPERS: AtomicUsize = AtomicUsize::new(0);

/// The number of threads that suit this machine.
pub(super) fn default_threads() -> usize {
    thread::available_parallelism().map_or(1, |cores| cores.get().min(MAX_THREADS))
}

/// Calls `read` with 0, 1, 2 and so on up to `count`, and stops once the listings hold `limit` entries.
///
/// An index is taken only after all lower ones, so when the directories read so far hold `limit` entries, those before
/// the next index do too: it would be skipped in any case. What the other threads were reading at that moment is thrown
/// away, unless the limit needed it. That makes the answer the same for any number of threads.
pub(super) fn read_in_order<R>(
    count: usize,
    threads: usize,
    limit: u64,
    stop: &AtomicBool,
    read: R,
) -> Vec<Outcome>
where
    R: Fn(usize, &mut Scratch) -> Outcome + Sync,
{
    let next = AtomicUsize::new(0);
    let entries = AtomicU64::new(0);
    let work = || {
        let mut done = Vec::new();
        let mut scratch = Scratch::default();
        while !stop.load(Ordering::Relaxed) && entries.load(Ordering::Relaxed) < limit {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                break;
            }
            let outcome = read(index, &mut scratch);
            entries.fetch_add(held(&outcome), Ordering::Relaxed);
            done.push((index, outcome));
        }
        done
    };

    let mut outcomes = vec![Outcome::Skipped; count];
    let mut settle = |done: Vec<(usize, Outcome)>| {
        for (index, outcome) in done {
            if let Some(slot) = outcomes.get_mut(index) {
                *slot = outcome;
            }
        }
    };
    let helpers = Helpers::take((threads.min(MAX_THREADS) - 1).min(count / DIRECTORIES_PER_HELPER));
    thread::scope(|scope| {
        // A system that has no thread left is no reason to fail: the caller's own thread does the work.
        let started: Vec<_> = (0..helpers.0)
            .map_while(|_| thread::Builder::new().spawn_scoped(scope, work).ok())
            .collect();
        settle(work());
        for helper in started {
            settle(helper.join().unwrap_or_default());
        }
    });

    let mut before = 0_u64;
    for outcome in &mut outcomes {
        if before >= limit {
            *outcome = Outcome::Skipped;
        }
        before = before.saturating_add(held(outcome));
    }
    outcomes
}

fn held(outcome: &Outcome) -> u64 {
    match outcome {
        Outcome::Listed(listing) => listing.kinds.len() as u64,
        Outcome::Failed(_) | Outcome::Skipped => 0,
    }
}

/// A share of the helpers that the process may run, given back on drop.
struct Helpers(usize);

impl Helpers {
    fn take(wanted: usize) -> Self {
        let mut taken = 0;
        if wanted > 0 {
            let _ = HELPERS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |busy| {
                taken = wanted.min((MAX_THREADS - 1).saturating_sub(busy));
                Some(busy + taken)
            });
        }
        Self(taken)
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        HELPERS.fetch_sub(self.0, Ordering::Relaxed);
    }
}
