//! Waiting until shared state has changed, within one thread.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Is rung after every change of the state that it belongs to.
#[derive(Debug, Default)]
pub struct Bell {
    sleepers: RefCell<Vec<(u64, Waker)>>,
    last_key: Cell<u64>,
}

impl Bell {
    /// Wakes everybody who waits.
    pub fn ring(&self) {
        // Taken out first: a woken task may wait again at once.
        let woken = std::mem::take(&mut *self.sleepers.borrow_mut());
        for (_, waker) in woken {
            waker.wake();
        }
    }

    /// Waits until `ready` gives a value. It is asked at once and after every ring.
    pub fn until<F>(&self, ready: F) -> Until<'_, F> {
        let key = self.last_key.get() + 1;
        self.last_key.set(key);
        Until {
            bell: self,
            key,
            ready,
        }
    }
}

/// See [`Bell::until`].
#[derive(Debug)]
pub struct Until<'a, F> {
    bell: &'a Bell,
    key: u64,
    ready: F,
}

impl<T, F: FnMut() -> Option<T> + Unpin> Future for Until<'_, F> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match (self.ready)() {
            Some(value) => Poll::Ready(value),
            None => {
                let mut sleepers = self.bell.sleepers.borrow_mut();
                sleepers.retain(|(key, _)| *key != self.key);
                sleepers.push((self.key, context.waker().clone()));
                Poll::Pending
            }
        }
    }
}

impl<F> Drop for Until<'_, F> {
    /// A bell can outlive very many waits that ended otherwise.
    fn drop(&mut self) {
        let mut sleepers = self.bell.sleepers.borrow_mut();
        sleepers.retain(|(key, _)| *key != self.key);
    }
}
