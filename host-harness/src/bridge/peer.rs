//! The other side: what is sent to it, and what it was asked.

use super::wire::{codes, failure_to_json};
use crate::failure::Failure;
use crate::lines::MAX_LINE;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Semaphore, mpsc};

/// Requests of this side that wait for an answer at once; more wait for their turn.
const MAX_ASKED: usize = 512;
/// Lines that may wait to be written before records of the log are dropped.
const MAX_QUEUED_FOR_LOG: usize = 1_000;

/// The other side. Cheap to clone.
#[derive(Clone)]
pub(super) struct Peer(Arc<Inner>);

struct Inner {
    out: mpsc::UnboundedSender<Vec<u8>>,
    queued: Arc<AtomicUsize>,
    asked: Mutex<Asked>,
    turns: Semaphore,
}

#[derive(Default)]
struct Asked {
    last: u64,
    waiting: HashMap<u64, mpsc::UnboundedSender<Reply>>,
    closed: bool,
}

enum Reply {
    Part(Value),
    End(Result<Value, Failure>),
}

impl Peer {
    /// The sending half, and the task that writes. The task ends with an error when nobody reads any more, and without one when every clone
    /// of the peer is gone.
    pub(super) fn new<W: AsyncWrite + Unpin + Send + 'static>(
        output: W,
    ) -> (Self, impl Future<Output = std::io::Result<()>> + Send) {
        let (out, lines) = mpsc::unbounded_channel();
        let queued = Arc::new(AtomicUsize::new(0));
        let writing = write(output, lines, queued.clone());
        let peer = Self(Arc::new(Inner {
            out,
            queued,
            asked: Mutex::default(),
            turns: Semaphore::new(MAX_ASKED),
        }));
        (peer, writing)
    }

    /// Asks for something and waits. Dropping the future tells the other side to stop.
    pub(super) async fn ask(&self, method: &str, params: Value) -> Result<Value, Failure> {
        self.ask_parts(method, params, |_| {}).await
    }

    /// The same for an answer that may take several lines.
    pub(super) async fn ask_parts(
        &self,
        method: &str,
        params: Value,
        mut part: impl FnMut(Value),
    ) -> Result<Value, Failure> {
        let _turn = self.0.turns.acquire().await.map_err(|_| closed())?;
        let (sender, mut replies) = mpsc::unbounded_channel();
        let id = {
            let mut asked = self.asked();
            if asked.closed {
                return Err(closed());
            }
            asked.last += 1;
            let id = asked.last;
            asked.waiting.insert(id, sender);
            id
        };
        let waiting = Waiting { peer: self, id };
        self.send(&json!({ "id": id, "method": method, "params": params }))?;
        loop {
            match replies.recv().await {
                Some(Reply::Part(value)) => part(value),
                Some(Reply::End(outcome)) => {
                    drop(waiting);
                    return outcome;
                }
                None => return Err(closed()),
            }
        }
    }

    /// Tells something.
    pub(super) fn tell(&self, method: &str, params: Value) {
        // A line that is too long is the sender's mistake in a notification, and nobody waits for it.
        if let Err(failure) = self.send(&json!({ "method": method, "params": params })) {
            tracing::debug!("{method}: {failure}");
        }
    }

    /// Tells of a record of the log, unless too much waits already.
    pub(super) fn tell_record(&self, params: Value) {
        if self.0.queued.load(Ordering::Relaxed) < MAX_QUEUED_FOR_LOG {
            self.tell("log", params);
        }
    }

    /// Answers a request of the other side.
    pub(super) fn answer(&self, id: u64, outcome: Result<Value, Failure>) {
        let line = match outcome {
            Ok(value) => json!({ "id": id, "result": value }),
            Err(failure) => json!({ "id": id, "error": failure_to_json(&failure) }),
        };
        if let Err(failure) = self.send(&line) {
            // The failure itself is short.
            let _ = self.send(&json!({ "id": id, "error": failure_to_json(&failure) }));
        }
    }

    /// A piece of an answer has come.
    pub(super) fn take_part(&self, id: u64, value: Value) {
        if let Some(waiting) = self.asked().waiting.get(&id) {
            let _ = waiting.send(Reply::Part(value));
        }
    }

    /// An answer has come. One that nobody waits for was given up.
    pub(super) fn take_answer(&self, id: u64, outcome: Result<Value, Failure>) {
        if let Some(waiting) = self.asked().waiting.remove(&id) {
            let _ = waiting.send(Reply::End(outcome));
        }
    }

    /// The other side is gone: nobody waits for it any longer.
    pub(super) fn close(&self) {
        let mut asked = self.asked();
        asked.closed = true;
        asked.waiting.clear();
    }

    fn send(&self, frame: &Value) -> Result<(), Failure> {
        let mut line = frame.to_string().into_bytes();
        if line.len() > MAX_LINE {
            let message = format!(
                "{} bytes do not fit into a line of the bridge; at most {MAX_LINE} do",
                line.len()
            );
            return Err(Failure::host(codes::TOO_LARGE, message));
        }
        line.push(b'\n');
        self.0.queued.fetch_add(1, Ordering::Relaxed);
        self.0.out.send(line).map_err(|_| closed())
    }

    fn asked(&self) -> std::sync::MutexGuard<'_, Asked> {
        self.0.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question that has not been answered.
struct Waiting<'a> {
    peer: &'a Peer,
    id: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let given_up = self.peer.asked().waiting.remove(&self.id).is_some();
        if given_up {
            self.peer.tell("cancel", json!({ "id": self.id }));
        }
    }
}

fn closed() -> Failure {
    Failure::host(codes::CLOSED, "DSH is no longer connected")
}

async fn write<W: AsyncWrite + Unpin>(
    mut output: W,
    mut lines: mpsc::UnboundedReceiver<Vec<u8>>,
    queued: Arc<AtomicUsize>,
) -> std::io::Result<()> {
    while let Some(line) = lines.recv().await {
        output.write_all(&line).await?;
        queued.fetch_sub(1, Ordering::Relaxed);
        while let Ok(line) = lines.try_recv() {
            output.write_all(&line).await?;
            queued.fetch_sub(1, Ordering::Relaxed);
        }
        output.flush().await?;
    }
    Ok(())
}
