//! Host functions that take their time. Those that keep a thread busy share the threads with all plugins, so each instance has a few lanes to
//! them. All requests that are pending, in a lane or not, may hold only so much of the host's memory: a guest can ask faster than anything
//! answers.

use crate::limits::Limits;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wasmtime::{Result, bail};

/// Threads that one instance may keep busy at one time.
const LANES: usize = 8;
/// What a request costs besides its content, in bytes.
const REQUEST_BYTES: usize = 1 << 10;

/// The lanes of one instance. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Lanes {
    free: Arc<Semaphore>,
    pending: Arc<AtomicUsize>,
    most_pending: usize,
}

/// A place in a lane. Whoever does the work holds it until the thread is free again.
pub(crate) struct Lane {
    _permit: OwnedSemaphorePermit,
    _request: Request,
}

/// A request that is pending, until dropped.
pub(crate) struct Request {
    bytes: usize,
    pending: Arc<AtomicUsize>,
}

impl Drop for Request {
    fn drop(&mut self) {
        self.pending.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Lanes {
    /// Lanes for an instance with these limits. A few of its largest messages may be pending.
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            free: Arc::new(Semaphore::new(LANES)),
            pending: Arc::default(),
            most_pending: limits.message.saturating_mul(4),
        }
    }

    /// Waits for a lane, for a request of this size in bytes.
    ///
    /// # Errors
    /// The pending requests of the instance are too large together; that is a trap.
    pub(crate) async fn enter(&self, bytes: usize) -> Result<Lane> {
        let request = self.wait(bytes)?;
        Ok(Lane {
            _permit: self.free.clone().acquire_owned().await?,
            _request: request,
        })
    }

    /// Counts a request of this size that is pending without keeping a thread busy, such as one for a moment to come.
    ///
    /// # Errors
    /// As [`Lanes::enter`].
    pub(crate) fn wait(&self, bytes: usize) -> Result<Request> {
        let bytes = bytes.saturating_add(REQUEST_BYTES);
        let before = self.pending.fetch_add(bytes, Ordering::Relaxed);
        let request = Request {
            bytes,
            pending: self.pending.clone(),
        };
        if before.saturating_add(bytes) > self.most_pending {
            bail!(
                "its pending host calls hold more than {} MiB",
                self.most_pending >> 20
            );
        }
        Ok(request)
    }
}
