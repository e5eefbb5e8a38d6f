//! Cooperative cancellation on the host's side of `dsh:ctx/abort`.

use crate::failure::{Failure, codes};
use std::convert::Infallible;
use tokio::sync::watch;

/// Why a call is to end.
#[derive(Clone, Debug, PartialEq)]
pub enum AbortReason {
    /// The caller aborted with an error.
    CallerError(Failure),
    /// The caller aborted with a value that is no error.
    CallerValue(serde_json::Value),
    /// The deadline passed; its length in milliseconds.
    Timeout(u32),
    /// The plugin or the host is being unloaded.
    Disposed,
}

impl AbortReason {
    /// The reason of a JavaScript `abort()` without an argument.
    pub fn unspecified() -> Self {
        Self::CallerError(Failure {
            name: Some("AbortError".into()),
            code: None,
            message: "This operation was aborted".into(),
        })
    }

    /// The reason as an error, for callers that can only report errors. A value that is no error becomes its JSON text.
    pub fn into_failure(self) -> Failure {
        match self {
            Self::CallerError(failure) => failure,
            Self::CallerValue(serde_json::Value::String(text)) => Failure {
                name: None,
                code: None,
                message: text,
            },
            Self::CallerValue(value) => Failure {
                name: None,
                code: None,
                message: value.to_string(),
            },
            Self::Timeout(ms) => Failure::named(
                "ToolTimeoutError",
                codes::TOOL_TIMEOUT,
                format!("tool call timed out after {ms}ms"),
            ),
            Self::Disposed => Failure::host(codes::PLUGIN_DISPOSED, "the plugin was unloaded"),
        }
    }
}

/// The side that aborts. Dropping it without a call to [`AbortController::abort`] leaves its signals pending for ever.
#[derive(Debug)]
pub struct AbortController(watch::Sender<Option<AbortReason>>);

impl Default for AbortController {
    fn default() -> Self {
        Self(watch::Sender::new(None))
    }
}

impl AbortController {
    /// A controller whose signal is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the signal. Only the first call counts.
    pub fn abort(&self, reason: AbortReason) {
        self.0.send_if_modified(|current| {
            let first = current.is_none();
            if first {
                *current = Some(reason);
            }
            first
        });
    }

    /// Drives `work` to its end. A reason that `source` gives meanwhile sets the signal; the work goes on until it heeds that.
    pub(crate) async fn relay<R>(
        &self,
        source: impl Future<Output = AbortReason>,
        work: impl Future<Output = R>,
    ) -> R {
        let relaying = async {
            self.abort(source.await);
            std::future::pending::<Infallible>().await
        };
        tokio::select! {
            biased;
            done = work => done,
            never = relaying => match never {},
        }
    }

    /// The side that listens.
    pub fn signal(&self) -> AbortSignal {
        AbortSignal(self.0.subscribe())
    }
}

/// The side that listens. Cheap to clone.
#[derive(Clone, Debug)]
pub struct AbortSignal(watch::Receiver<Option<AbortReason>>);

impl AbortSignal {
    /// A signal that nobody can set.
    pub fn never() -> Self {
        AbortController::new().signal()
    }

    /// The reason, once there is one.
    pub fn reason(&self) -> Option<AbortReason> {
        self.0.borrow().clone()
    }

    /// Resolves with the reason; stays pending when nobody sets one.
    pub async fn wait(&self) -> AbortReason {
        let mut receiver = self.0.clone();
        let reason = receiver
            .wait_for(Option::is_some)
            .await
            .ok()
            .and_then(|reason| reason.clone());
        match reason {
            Some(reason) => reason,
            None => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_first_reason_counts() {
        let controller = AbortController::new();
        let signal = controller.signal();
        assert_eq!(signal.reason(), None);
        controller.abort(AbortReason::Timeout(5));
        controller.abort(AbortReason::Disposed);
        assert_eq!(signal.reason(), Some(AbortReason::Timeout(5)));
        assert_eq!(signal.wait().await, AbortReason::Timeout(5));
    }

    #[tokio::test]
    async fn a_signal_outlives_its_controller() {
        let controller = AbortController::new();
        let (set, unset) = (controller.signal(), AbortSignal::never());
        controller.abort(AbortReason::unspecified());
        drop(controller);
        assert_eq!(set.wait().await, AbortReason::unspecified());
        let pending = futures::future::poll_immediate(unset.wait()).await;
        assert_eq!(pending, None);
    }
}
