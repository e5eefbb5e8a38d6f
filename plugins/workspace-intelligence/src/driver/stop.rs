//! The switch that ends a call before its time (SPEC 17).

use super::bell::Bell;
use futures::future::{Either, select};
use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;

/// Who ends a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// Its caller, or its deadline.
    Caller,
    /// The plugin is being unmounted.
    Disposed,
}

/// A one-way switch; the first reason stands. Clones are the same switch.
#[derive(Debug, Clone, Default)]
pub struct Stop(Rc<Switch>);

#[derive(Debug, Default)]
struct Switch {
    reason: Cell<Option<StopReason>>,
    bell: Bell,
}

impl Stop {
    /// Sets the switch.
    pub fn set(&self, reason: StopReason) {
        if self.0.reason.get().is_none() {
            self.0.reason.set(Some(reason));
            self.0.bell.ring();
        }
    }

    /// Why the call is to end, if it is.
    pub fn reason(&self) -> Option<StopReason> {
        self.0.reason.get()
    }

    /// Waits until the switch is set.
    pub async fn wait(&self) -> StopReason {
        self.0.bell.until(|| self.reason()).await
    }

    /// Runs `work` until the switch is set. When it is set already, `work` does not even begin.
    pub async fn race<F: Future>(&self, work: F) -> Result<F::Output, StopReason> {
        match select(pin!(self.wait()), pin!(work)).await {
            Either::Left((reason, _)) => Err(reason),
            Either::Right((output, _)) => Ok(output),
        }
    }
}
