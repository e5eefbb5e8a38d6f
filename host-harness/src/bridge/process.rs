//! One process of `ctx.subprocess` on the other side.

use super::fs::{decode, encode};
use super::peer::Peer;
use crate::failure::Failure;
use dsh_services::subprocess::{ChildStdin, ChildStdout, Exit, Process, SubprocessError, Window};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, DuplexStream, ReadBuf};
use tokio::sync::{mpsc, watch};

/// Bytes of standard input on their way at once.
const STDIN_WINDOW: usize = 64 << 10;

/// A process, as the session that reads the frames sees it.
pub(super) struct Remote {
    peer: Peer,
    handle: u64,
    pid: OnceLock<u32>,
    pipes: Mutex<Pipes>,
    stderr: Mutex<Tail>,
    /// How it ended, once it has.
    done: watch::Sender<Option<Result<Exit, SubprocessError>>>,
    /// Whether its whole tree is gone.
    gone: watch::Sender<bool>,
}

#[derive(Default)]
struct Pipes {
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    feed: Option<mpsc::UnboundedSender<Vec<u8>>>,
}

/// The end of standard error.
#[derive(Default)]
struct Tail {
    kept: Vec<u8>,
    carried: u64,
    max: usize,
}

impl Remote {
    /// A process that is about to be asked for.
    pub(super) fn new(peer: Peer, handle: u64, stdin: bool, stderr_max: u64) -> Arc<Self> {
        let (feed, chunks) = mpsc::unbounded_channel();
        let stdout = Stdout {
            peer: peer.clone(),
            handle,
            chunks,
            current: Vec::new(),
            at: 0,
        };
        let mut pipes = Pipes {
            stdin: None,
            stdout: Some(Box::new(stdout)),
            feed: Some(feed),
        };
        if stdin {
            let (near, far) = tokio::io::duplex(STDIN_WINDOW);
            pipes.stdin = Some(Box::new(near));
            tokio::spawn(carry_stdin(peer.clone(), handle, far));
        }
        Arc::new(Self {
            peer,
            handle,
            pid: OnceLock::new(),
            pipes: Mutex::new(pipes),
            stderr: Mutex::new(Tail {
                max: usize::try_from(stderr_max).unwrap_or(usize::MAX),
                ..Tail::default()
            }),
            done: watch::Sender::new(None),
            gone: watch::Sender::new(false),
        })
    }

    /// Takes what the other side tells of the process.
    pub(super) fn take(&self, what: &str, params: &Value) -> Result<(), Failure> {
        let data = || {
            params
                .get("data")
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        match what {
            "process.stdout" => {
                let bytes = decode(data())?;
                if let Some(feed) = &self.pipes().feed {
                    // Nobody listening means that the plugin dropped the stream.
                    let _ = feed.send(bytes);
                }
            }
            "process.stdoutEnd" => self.pipes().feed = None,
            "process.stderr" => lock(&self.stderr).push(&decode(data())?),
            "process.done" => self.settle(outcome(params)),
            "process.gone" => {
                self.gone.send_replace(true);
            }
            _ => {}
        }
        Ok(())
    }

    /// The other side is gone, and the process with it.
    pub(super) fn lose(&self) {
        self.settle(Err(SubprocessError::Lost {
            reason: "DSH is no longer connected".into(),
        }));
        self.pipes().feed = None;
        self.gone.send_replace(true);
    }

    /// It runs: the number is what the other side says, or 0 when that does not say. Without one it could not be started.
    pub(super) fn started(&self, pid: Option<u32>) {
        if let Some(pid) = pid {
            // It is told once.
            let _ = self.pid.set(pid);
        }
    }

    /// It could not be asked for.
    pub(super) fn never_started(&self) {
        self.gone.send_replace(true);
    }

    pub(super) fn is_gone(&self) -> bool {
        *self.gone.borrow()
    }

    fn settle(&self, outcome: Result<Exit, SubprocessError>) {
        self.done.send_if_modified(|done| {
            let first = done.is_none();
            if first {
                *done = Some(outcome);
            }
            first
        });
    }

    fn pipes(&self) -> MutexGuard<'_, Pipes> {
        lock(&self.pipes)
    }
}

impl Process for Remote {
    fn pid(&self) -> Option<u32> {
        self.pid.get().copied()
    }

    fn take_stdin(&self) -> Option<ChildStdin> {
        self.pipes().stdin.take()
    }

    fn take_stdout(&self) -> Option<ChildStdout> {
        self.pipes().stdout.take()
    }

    fn stderr_from(&self, offset: u64) -> Window {
        lock(&self.stderr).from(offset)
    }

    fn done(&self) -> BoxFuture<'static, Result<Exit, SubprocessError>> {
        let mut done = self.done.subscribe();
        async move {
            let settled = done.wait_for(Option::is_some).await;
            let lost = || {
                Err(SubprocessError::Lost {
                    reason: "the process was given up".into(),
                })
            };
            settled.map_or_else(|_| lost(), |outcome| outcome.clone().unwrap_or_else(lost))
        }
        .boxed()
    }

    fn terminate(&self) {
        if !self.is_gone() {
            self.peer
                .tell("process.terminate", json!({ "handle": self.handle }));
        }
    }

    fn wait_for_exit(&self, timeout: Option<Duration>) -> BoxFuture<'static, bool> {
        let mut gone = self.gone.subscribe();
        async move {
            let waiting = async { gone.wait_for(|gone| *gone).await.is_ok() };
            match timeout {
                None => waiting.await,
                Some(timeout) => tokio::time::timeout(timeout, waiting).await == Ok(true),
            }
        }
        .boxed()
    }
}

impl Tail {
    fn push(&mut self, bytes: &[u8]) {
        self.carried += bytes.len() as u64;
        self.kept.extend_from_slice(bytes);
        let surplus = self.kept.len().saturating_sub(self.max);
        self.kept.drain(..surplus);
    }

    fn from(&self, offset: u64) -> Window {
        let first = self.carried - self.kept.len() as u64;
        let skipped = usize::try_from(offset.saturating_sub(first)).unwrap_or(usize::MAX);
        let kept = self.kept.get(skipped..).unwrap_or_default();
        Window {
            text: String::from_utf8_lossy(kept).into_owned(),
            next_offset: self.carried,
            lossy: offset < first,
        }
    }
}

/// Standard output as it comes. What was read is told to the other side, which sends no more than a window ahead.
struct Stdout {
    peer: Peer,
    handle: u64,
    chunks: mpsc::UnboundedReceiver<Vec<u8>>,
    current: Vec<u8>,
    at: usize,
}

impl Drop for Stdout {
    /// A process whose output nobody reads any more must still be able to end, so the rest is let through and forgotten.
    fn drop(&mut self) {
        self.peer
            .tell("process.discard", json!({ "handle": self.handle }));
    }
}

impl AsyncRead for Stdout {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        if self.at == self.current.len() {
            match self.chunks.poll_recv(context) {
                Poll::Ready(Some(chunk)) => {
                    let params = json!({ "handle": self.handle, "bytes": chunk.len() });
                    self.peer.tell("process.read", params);
                    self.current = chunk;
                    self.at = 0;
                }
                Poll::Ready(None) => return Poll::Ready(Ok(())),
                Poll::Pending => return Poll::Pending,
            }
        }
        let end = self.current.len().min(self.at + buffer.remaining());
        buffer.put_slice(&self.current[self.at..end]);
        self.at = end;
        Poll::Ready(Ok(()))
    }
}

/// Hands standard input over, a piece after the other has been taken.
async fn carry_stdin(peer: Peer, handle: u64, mut input: DuplexStream) {
    let mut buffer = vec![0; STDIN_WINDOW];
    loop {
        match input.read(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(read) => {
                let params = json!({ "handle": handle, "data": encode(&buffer[..read]) });
                // Dropping the pipe is how the plugin learns that nobody reads.
                if peer.ask("process.stdin", params).await.is_err() {
                    return;
                }
            }
        }
    }
    peer.tell("process.stdinEnd", json!({ "handle": handle }));
}

fn outcome(params: &Value) -> Result<Exit, SubprocessError> {
    if let Some(error) = params.get("error") {
        let text = |key: &str| error.get(key).and_then(Value::as_str).map(String::from);
        return Err(SubprocessError::Foreign {
            code: text("code"),
            message: text("message").unwrap_or_else(|| "the process could not be started".into()),
        });
    }
    Ok(Exit {
        code: params
            .get("exitCode")
            .and_then(Value::as_i64)
            .and_then(|code| i32::try_from(code).ok()),
        signal: params
            .get("signal")
            .and_then(Value::as_str)
            .map(String::from),
    })
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncBufReadExt, BufReader};

    #[tokio::test]
    async fn what_is_read_and_that_nobody_reads_is_told() {
        let (near, far) = tokio::io::duplex(1 << 16);
        let (peer, writing) = Peer::new(near);
        tokio::spawn(writing);
        let remote = Remote::new(peer, 7, false, 10);
        let data = json!({ "data": encode(b"abc") });
        remote.take("process.stdout", &data).unwrap();
        let mut stdout = remote.take_stdout().unwrap();
        let mut read = [0; 3];
        stdout.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"abc");
        drop(stdout);
        remote.take("process.stdout", &data).unwrap();
        let mut lines = BufReader::new(far).lines();
        for expected in ["process.read", "process.discard"] {
            let line = lines.next_line().await.unwrap().unwrap();
            assert!(line.contains(expected), "{line}");
        }
    }

    #[test]
    fn the_end_of_standard_error_is_kept() {
        let mut tail = Tail {
            max: 4,
            ..Tail::default()
        };
        tail.push(b"ab");
        tail.push(b"cdef");
        let window = |text: &str, lossy| Window {
            text: text.into(),
            next_offset: 6,
            lossy,
        };
        assert_eq!(tail.from(0), window("cdef", true));
        assert_eq!(tail.from(2), window("cdef", false));
        assert_eq!(tail.from(5), window("f", false));
        assert_eq!(tail.from(99), window("", false));
    }
}
