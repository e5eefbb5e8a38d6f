use std::sync::Arc;

use tokio::sync::watch;

/// The side that aborts. Dropping it without aborting leaves the signal unset for ever.
#[derive(Debug)]
pub struct AbortController(watch::Sender<Option<Arc<str>>>);

/// The side that is told. Clones are the same signal.
#[derive(Debug, Clone)]
pub struct AbortSignal(watch::Receiver<Option<Arc<str>>>);

/// A signal that can be set once, and the controller that sets it.
pub fn abort_signal() -> (AbortController, AbortSignal) {
    let (sender, receiver) = watch::channel(None);
    (AbortController(sender), AbortSignal(receiver))
}

impl AbortController {
    /// Sets the signal. Only the first reason counts.
    pub fn abort(&self, reason: &str) {
        self.0.send_if_modified(|current| {
            let first = current.is_none();
            if first {
                *current = Some(reason.into());
            }
            first
        });
    }
}

impl AbortSignal {
    /// The reason, or none while the signal is unset.
    pub fn reason(&self) -> Option<String> {
        self.0.borrow().as_deref().map(str::to_owned)
    }

    /// Resolves with the reason once the signal is set; stays pending when it never is.
    pub async fn aborted(&self) -> String {
        let mut receiver = self.0.clone();
        // Nobody is left who could set a signal whose controller is gone.
        if receiver.wait_for(Option::is_some).await.is_err() {
            return std::future::pending().await;
        }
        self.reason().unwrap_or_default()
    }
}
