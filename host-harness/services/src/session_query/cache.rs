//! The logs in memory, least recently used first to go.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::load::Loaded;

/// A log that several queries share. It is empty until the first of them has read it.
pub type Shared = Arc<RwLock<Option<Loaded>>>;

/// Logs by path, within a bound on the memory that they hold together.
#[derive(Debug)]
pub struct Cache {
    max_bytes: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    slots: HashMap<PathBuf, Slot>,
    clock: u64,
}

#[derive(Debug)]
struct Slot {
    log: Shared,
    bytes: usize,
    used: u64,
}

impl Cache {
    /// A cache that keeps at most so many bytes between queries.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            state: Mutex::default(),
        }
    }

    /// The log of a path, read or not.
    pub fn log(&self, path: &Path) -> Shared {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.clock += 1;
        let used = state.clock;
        let slot = state.slots.entry(path.to_owned()).or_insert_with(|| Slot {
            log: Shared::default(),
            bytes: 0,
            used,
        });
        slot.used = used;
        slot.log.clone()
    }

    /// Notes how large a log has become, and lets go of others until the bound is kept. A log beyond the bound is not kept at
    /// all; the query that read it holds it until it ends.
    pub fn note(&self, path: &Path, bytes: usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = state.slots.get_mut(path) {
            slot.bytes = bytes;
        }
        if bytes > self.max_bytes {
            state.slots.remove(path);
        }
        while state.slots.values().map(|slot| slot.bytes).sum::<usize>() > self.max_bytes {
            let oldest = state
                .slots
                .iter()
                .min_by_key(|(_, slot)| slot.used)
                .map(|(path, _)| path.clone());
            match oldest {
                Some(oldest) => state.slots.remove(&oldest),
                None => break,
            };
        }
    }

    /// Forgets a log.
    pub fn forget(&self, path: &Path) {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .slots
            .remove(path);
    }

    /// The memory that the kept logs hold, in bytes.
    pub fn bytes(&self) -> usize {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .slots
            .values()
            .map(|slot| slot.bytes)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_goes_first_and_the_bound_holds() {
        let cache = Cache::new(100);
        let [a, b, c] = ["a", "b", "c"].map(Path::new);
        let kept = |path: &Path, log: &Shared| Arc::ptr_eq(&cache.log(path), log);
        let (log_a, log_b) = (cache.log(a), cache.log(b));
        cache.note(a, 40);
        cache.note(b, 40);
        assert!(kept(a, &log_a));
        let log_c = cache.log(c);
        cache.note(c, 40);
        assert_eq!(cache.bytes(), 80);
        assert!(kept(a, &log_a) && kept(c, &log_c) && !kept(b, &log_b));
        cache.note(c, 101);
        assert_eq!(cache.bytes(), 40);
        assert!(!kept(c, &log_c) && kept(a, &log_a));
        cache.forget(a);
        assert_eq!(cache.bytes(), 0);
    }
}
