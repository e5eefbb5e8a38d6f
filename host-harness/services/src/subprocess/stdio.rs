use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::oneshot;

use super::collector::Collector;
use super::tree::ChildStdio;

/// The host's ends of a child's pipes.
#[derive(Debug)]
pub(super) struct HostStdio {
    pub(super) stdin: Option<Stdin>,
    pub(super) stdout: Stdout,
    pub(super) stdout_closed: oneshot::Receiver<()>,
    pub(super) stderr: Receiver,
}

/// Makes the pipes of one child. Must be called inside a tokio runtime.
pub(super) fn pipes(with_stdin: bool) -> io::Result<(HostStdio, ChildStdio)> {
    let (stdin, child_stdin) = match with_stdin {
        true => {
            let (reader, writer) = io::pipe()?;
            let stdin = Sender::from_owned_fd(writer.into())?;
            (Some(Stdin { pipe: Some(stdin) }), Some(reader.into()))
        }
        false => (None, None),
    };
    let (stdout, child_stdout) = io::pipe()?;
    let (stderr, child_stderr) = io::pipe()?;
    let (closed, stdout_closed) = oneshot::channel();
    let host = HostStdio {
        stdin,
        stdout: Stdout {
            pipe: Receiver::from_owned_fd(stdout.into())?,
            open: Some(closed),
        },
        stdout_closed,
        stderr: Receiver::from_owned_fd(stderr.into())?,
    };
    let child = ChildStdio {
        stdin: child_stdin,
        stdout: child_stdout.into(),
        stderr: child_stderr.into(),
    };
    Ok((host, child))
}

/// The writing side of standard input. Shutting it down closes the pipe, as dropping it does.
#[derive(Debug)]
pub(super) struct Stdin {
    pipe: Option<Sender>,
}

impl AsyncWrite for Stdin {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.pipe {
            Some(pipe) => Pin::new(pipe).poll_write(context, bytes),
            None => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.pipe = None;
        Poll::Ready(Ok(()))
    }
}

/// The reading side of standard output. It tells, by dropping `open`, when nothing more will be read.
#[derive(Debug)]
pub(super) struct Stdout {
    pipe: Receiver,
    open: Option<oneshot::Sender<()>>,
}

impl AsyncRead for Stdout {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let had_room = buffer.remaining() > 0;
        let outcome = Pin::new(&mut self.pipe).poll_read(context, buffer);
        if let Poll::Ready(result) = &outcome {
            let at_end = had_room && buffer.filled().len() == before;
            if result.is_err() || at_end {
                self.open = None;
            }
        }
        outcome
    }
}

/// Reads standard error to its end.
pub(super) async fn collect(mut stderr: Receiver, collector: Arc<Mutex<Collector>>) {
    let mut chunk = vec![0; 16 * 1024];
    while let Ok(length @ 1..) = stderr.read(&mut chunk).await {
        collector
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(&chunk[..length]);
    }
}
