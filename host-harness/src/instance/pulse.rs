//! Whether an instance is alive: what is in flight, and whether its loop still turns.

use crate::engine::TICK;
use crate::guards::Watchdog;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// See [`Pulse::stopped`].
const TURNS_TO_SHOW: usize = 5;

/// Tells a guest that is at work from one that blocks its instance.
#[derive(Default)]
pub(super) struct Pulse {
    in_flight: AtomicUsize,
    turns: AtomicU64,
    busy: Notify,
    probe: Notify,
    idle: Notify,
    stopping: AtomicBool,
}

pub(super) struct InFlight<'a>(&'a Pulse);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if self.0.in_flight.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.idle.notify_waiters();
        }
    }
}

impl Pulse {
    /// A call is in flight as long as the answer lives.
    pub(super) fn begin(&self) -> InFlight<'_> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        self.busy.notify_one();
        InFlight(self)
    }

    /// The instance takes no calls any more.
    pub(super) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    /// Whether it takes none any more.
    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Resolves when no call is in flight.
    pub(super) async fn until_idle(&self) {
        loop {
            let idle = self.idle.notified();
            if self.in_flight.load(Ordering::Acquire) == 0 {
                return;
            }
            idle.await;
        }
    }

    /// The instance's loop has turned.
    pub(super) fn turn(&self) {
        self.turns.fetch_add(1, Ordering::Relaxed);
    }

    /// Resolves when the loop is asked to turn once more.
    pub(super) async fn probed(&self) {
        self.probe.notified().await;
    }

    /// Resolves when calls are in flight and the instance's loop has not turned for `patience` although it was woken: a guest function sits
    /// in a host call that blocks, such as a sleep of WASI 0.2. The epoch watchdog does not see that, because no guest code runs. A guest that
    /// computes is its business alone: on a busy machine it gets there late.
    pub(super) async fn stopped(&self, patience: Duration, watchdog: &Watchdog) {
        loop {
            self.busy.notified().await;
            while self.in_flight.load(Ordering::Relaxed) > 0 {
                let seen = || (self.turns.load(Ordering::Relaxed), watchdog.ticks());
                let before = seen();
                self.probe.notify_one();
                tokio::time::sleep(patience).await;
                // On a busy machine this may be the first time in all the while that the actor runs. A guest that computes shows it within a
                // few more turns.
                for _ in 0..TURNS_TO_SHOW {
                    if seen() != before {
                        break;
                    }
                    tokio::time::sleep(TICK).await;
                }
                if seen() == before && self.in_flight.load(Ordering::Relaxed) > 0 {
                    return;
                }
            }
        }
    }
}
