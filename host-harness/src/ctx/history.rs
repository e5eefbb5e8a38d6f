//! Blocking work over recorded history, as plugins may ask for it: in a lane, cancelled when nobody waits for it any more, with the
//! service's failures as the contract writes them.

use crate::bindings::dsh::ctx::types;
use crate::ctx::Lanes;
use dsh_services::session_query::{Cancel, SessionQueryError};
use wasmtime::Result;

/// Runs `work` on a thread that may block. The flag that it gets is set when the future is dropped, which happens when the guest or its
/// instance gives up.
///
/// # Errors
/// The instance has too much pending (see [`Lanes::enter`]), or the work panicked; both are traps.
pub(super) async fn on_a_thread<R: Send + 'static>(
    lanes: &Lanes,
    request_bytes: usize,
    work: impl FnOnce(&Cancel) -> Result<R, SessionQueryError> + Send + 'static,
) -> Result<Result<R, types::Failure>> {
    let cancel = CancelOnDrop::default();
    let flag = cancel.0.clone();
    let lane = lanes.enter(request_bytes).await?;
    let answer = tokio::task::spawn_blocking(move || {
        let _lane = lane;
        work(&flag)
    });
    Ok(answer
        .await?
        .map_err(|error| failure(error.code(), error.to_string())))
}

#[derive(Default)]
struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// A failure of the session query service.
pub(super) fn failure(code: Option<&str>, message: String) -> types::Failure {
    types::Failure {
        name: Some("SessionQueryError".into()),
        code: code.map(String::from),
        message,
    }
}
