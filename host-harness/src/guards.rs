//! What holds a guest to its limits inside wasmtime: memory, tables, computing time.

use crate::engine::TICK;
use crate::limits::Limits;
use crate::store::PluginState;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use wasmtime::{ResourceLimiter, Result, Store, UpdateDeadline};

/// Elements of all tables of one instance. A component of this kind has one small function table.
const TABLE_ELEMENTS: usize = 100_000;
/// Core instances, tables and memories. A component holds its main module and a few adapters.
const INSTANCES: usize = 64;
const TABLES: usize = 64;
const MEMORIES: usize = 8;

/// Linear memory of an instance in bytes, kept where it can be read while the instance is at work.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemoryGauge(Arc<AtomicUsize>);

impl MemoryGauge {
    /// Bytes now; none once the instance is gone.
    pub(crate) fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Bounds memory and tables, and remembers that it had to refuse, so that the trap which follows can be explained.
#[derive(Debug)]
pub(crate) struct MemoryLimiter {
    memory: usize,
    used: MemoryGauge,
    refused: bool,
}

impl Drop for MemoryLimiter {
    fn drop(&mut self) {
        self.used.0.store(0, Ordering::Relaxed);
    }
}

impl MemoryLimiter {
    pub(crate) fn new(limits: &Limits, used: MemoryGauge) -> Self {
        Self {
            memory: limits.memory,
            used,
            refused: false,
        }
    }

    /// Whether the guest asked for more memory than it may have.
    pub(crate) fn refused(&self) -> bool {
        self.refused
    }
}

impl ResourceLimiter for MemoryLimiter {
    // The bound is on the sum over the instance's memories: a component may have several, and each grows by itself.
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> Result<bool> {
        let growth = desired.saturating_sub(current);
        let used = self.used.bytes().saturating_add(growth);
        let fits = used <= self.memory;
        if fits {
            self.used.0.store(used, Ordering::Relaxed);
        } else {
            self.refused = true;
        }
        Ok(fits)
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> Result<bool> {
        Ok(desired <= TABLE_ELEMENTS)
    }

    fn instances(&self) -> usize {
        INSTANCES
    }

    fn tables(&self) -> usize {
        TABLES
    }

    fn memories(&self) -> usize {
        MEMORIES
    }
}

/// Counts the engine's ticks during which a guest computed without giving way. The instance's own loop resets the count, and it only runs
/// while no guest code does: wasmtime suspends the whole store when a guest yields to the ticker.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watchdog(Arc<AtomicU64>);

impl Watchdog {
    /// Makes the store give way at every tick and trap after `spin`.
    pub(crate) fn guard(&self, store: &mut Store<PluginState>, spin: Duration) {
        let ticks = self.0.clone();
        let limit = u64::try_from(spin.as_millis() / TICK.as_millis())
            .unwrap_or(u64::MAX)
            .max(1);
        store.epoch_deadline_callback(move |_| {
            Ok(if ticks.fetch_add(1, Ordering::Relaxed) >= limit {
                UpdateDeadline::Interrupt
            } else {
                UpdateDeadline::Yield(1)
            })
        });
        store.set_epoch_deadline(1);
    }

    /// How often the guest was interrupted since it gave way last.
    pub(crate) fn ticks(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// The guest has given way.
    pub(crate) fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_bound_holds_for_the_sum_of_all_memories() {
        let limits = Limits {
            memory: 100,
            ..Limits::default()
        };
        let mut limiter = MemoryLimiter::new(&limits, MemoryGauge::default());
        assert!(limiter.memory_growing(0, 60, None).unwrap());
        assert!(limiter.memory_growing(0, 40, None).unwrap());
        assert!(!limiter.refused());
        assert!(!limiter.memory_growing(40, 41, None).unwrap());
        assert!(limiter.refused());
        assert!(
            limiter.memory_growing(60, 60, None).unwrap(),
            "a refusal changes nothing"
        );
    }

    /// A core module with so many tables of so many elements each.
    fn tables(count: u8, elements: usize) -> Vec<u8> {
        assert!(count < 0x80, "one byte of LEB128");
        let mut section = vec![count];
        for _ in 0..count {
            // References to functions, and no upper bound.
            section.extend([0x70, 0x00]);
            let mut left = elements;
            while left >= 0x80 {
                section.push(left as u8 | 0x80);
                left >>= 7;
            }
            section.push(left as u8);
        }
        let length = u16::try_from(section.len()).unwrap();
        let length = [(length & 0x7f) as u8 | 0x80, (length >> 7) as u8];
        [b"\0asm\x01\0\0\0\x04".as_slice(), &length, &section].concat()
    }

    #[test]
    fn tables_are_bounded_in_number_and_in_size() {
        let engine = wasmtime::Engine::default();
        let starts = |count: u8, elements: usize, instances: usize| {
            let module = wasmtime::Module::new(&engine, tables(count, elements)).unwrap();
            let limiter = MemoryLimiter::new(&Limits::default(), MemoryGauge::default());
            let mut store = Store::new(&engine, limiter);
            store.limiter(|limiter| limiter);
            (0..instances).all(|_| wasmtime::Instance::new(&mut store, &module, &[]).is_ok())
        };
        for (count, elements, instances) in [(1, TABLE_ELEMENTS, 1), (64, 1, 1), (0, 0, INSTANCES)]
        {
            assert!(starts(count, elements, instances));
        }
        for (count, elements, instances) in [
            (1, TABLE_ELEMENTS + 1, 1),
            (65, 1, 1),
            (0, 0, INSTANCES + 1),
        ] {
            assert!(!starts(count, elements, instances));
        }
    }
}
