//! Waiting for several things at once.

use futures::future::{MaybeDone, maybe_done};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// Runs all of `work` side by side; the outputs come in the order of `work`.
///
/// It polls everything whenever anything moves: right for the handful of servers of a workspace, and a tenth of the code of the general one.
pub async fn join_all<F: Future>(work: Vec<F>) -> Vec<F::Output> {
    let mut work: Vec<Pin<Box<MaybeDone<F>>>> =
        work.into_iter().map(maybe_done).map(Box::pin).collect();
    poll_fn(|context| {
        let mut pending = 0;
        for one in &mut work {
            pending += usize::from(one.as_mut().poll(context).is_pending());
        }
        if pending == 0 {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    work.iter_mut()
        .filter_map(|one| one.as_mut().take_output())
        .collect()
}
