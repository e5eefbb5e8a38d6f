//! Standard error of a guest: kept for the explanation of a trap, and logged.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

/// How much of the end is kept, in bytes. A panic message with its place fits many times over.
const KEPT: usize = 16 << 10;

/// The last bytes that a guest wrote. Writing never fails and never waits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stderr(Arc<Mutex<Vec<u8>>>);

impl Stderr {
    fn push(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = &bytes[bytes.len().saturating_sub(KEPT)..];
        let surplus = (kept.len() + bytes.len()).saturating_sub(KEPT);
        kept.drain(..surplus);
        kept.extend_from_slice(bytes);
    }

    /// What was kept, as text.
    pub(crate) fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).into_owned()
    }

    /// The message of the last panic, without the thread and the note on backtraces.
    pub(crate) fn panic_message(&self) -> Option<String> {
        let text = self.text();
        let start = text.rfind("panicked at ")?;
        let lines = text[start..]
            .lines()
            .take_while(|line| !line.starts_with("note: "));
        let message = lines.collect::<Vec<_>>().join(" ");
        Some(message.trim().chars().take(500).collect())
    }
}

impl IsTerminal for Stderr {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Stderr {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

impl AsyncWrite for Stderr {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.push(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Stderr {
    async fn ready(&mut self) {}
}

impl OutputStream for Stderr {
    fn write(&mut self, bytes: bytes::Bytes) -> StreamResult<()> {
        self.push(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(64 << 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_is_kept() {
        let stderr = Stderr::default();
        stderr.push(&vec![b'a'; KEPT * 3]);
        stderr.push(b"end");
        assert_eq!(stderr.text().len(), KEPT);
        assert!(stderr.text().ends_with("aend"));
    }

    #[test]
    fn a_panic_is_found_among_other_lines() {
        let stderr = Stderr::default();
        assert_eq!(stderr.panic_message(), None);
        stderr.push(
            b"hello\n\nthread '<unnamed>' panicked at src/lib.rs:3:5:\nboom\nnote: run with ...\n",
        );
        assert_eq!(
            stderr.panic_message().as_deref(),
            Some("panicked at src/lib.rs:3:5: boom")
        );
    }
}
