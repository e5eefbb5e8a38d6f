use std::time::Duration;

use futures::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};

use super::abort::AbortSignal;
use super::error::{DisposeError, SubprocessError};

/// The largest `grace_ms` that a request may carry: the range of the timers that DSH was written for.
pub const MAX_GRACE_MS: u32 = 2_147_483_647;

/// One change to a child's environment, applied after the credentials were dropped from the host's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvChange {
    /// The variable's name: not empty, without `=` and NUL.
    pub name: String,
    /// Its value, or none to remove the variable.
    pub value: Option<String>,
}

impl EnvChange {
    /// Sets `name` to `value`.
    pub fn set(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: Some(value.into()),
        }
    }

    /// Removes `name`.
    pub fn remove(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: None,
        }
    }
}

/// How to start a process. Standard output is always a pipe, standard error is always collected.
#[derive(Debug, Clone)]
pub struct SpawnSpec {
    /// The program and its arguments, passed on verbatim. No shell is involved.
    pub argv: Vec<String>,
    /// The absolute path of the working directory.
    pub cwd: String,
    /// Whether the child's standard input is a pipe; otherwise it reads end of file.
    pub stdin: bool,
    /// How many bytes of standard error are kept; the last ones win.
    pub stderr_max_bytes: u64,
    /// Milliseconds between SIGTERM and SIGKILL, and the longest wait for pipes that are still open after the process
    /// has ended. 1 to [`MAX_GRACE_MS`].
    pub grace_ms: u32,
    /// Changes to the environment.
    pub env: Vec<EnvChange>,
    /// Ends the process as [`Process::terminate`] does. A signal that is set already makes `spawn` fail.
    pub signal: Option<AbortSignal>,
}

/// How a process ended: exactly one of the two is present.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// The exit code, unless a signal ended the process.
    pub code: Option<i32>,
    /// The name of the signal that ended it, such as `SIGTERM`.
    pub signal: Option<String>,
}

/// What was kept of a collected stream, from some byte on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// The bytes as text, ill-formed parts replaced by U+FFFD. The first character may be cut.
    pub text: String,
    /// The offset from which to read on: how many bytes the stream has carried so far.
    pub next_offset: u64,
    /// Whether bytes at or after the requested offset are no longer kept.
    pub lossy: bool,
}

/// The reading side of a child's standard output.
pub type ChildStdout = Box<dyn AsyncRead + Send + Unpin>;

/// The writing side of a child's standard input. Dropping it closes the pipe.
pub type ChildStdin = Box<dyn AsyncWrite + Send + Unpin>;

/// One child process and its tree. Dropping the handle terminates the tree as [`Process::terminate`] does.
///
/// The futures do not borrow the handle and may be polled by several tasks.
pub trait Process: Send + Sync {
    /// The process identifier; none when the process could not be started.
    fn pid(&self) -> Option<u32>;
    /// Gives the writing side away, once. None when it was not asked for, was taken, or nothing was started.
    fn take_stdin(&self) -> Option<ChildStdin>;
    /// Gives the reading side away, once. None when it was taken or nothing was started.
    fn take_stdout(&self) -> Option<ChildStdout>;
    /// What was kept of standard error from byte `offset` on. Reading consumes nothing and works after the end.
    fn stderr_from(&self, offset: u64) -> Window;
    /// Resolves when the process has ended and its output is closed, or fails when it could not be started.
    fn done(&self) -> BoxFuture<'static, Result<Exit, SubprocessError>>;
    /// Asks the whole tree to end, and kills it after the grace. Returns at once; harmless when repeated or late.
    fn terminate(&self);
    /// Resolves with true once no process of the tree is left, or with false after `timeout`. Without one it waits for
    /// as long as it takes. A tree that is gone already is reported as gone whatever the timeout.
    fn wait_for_exit(&self, timeout: Option<Duration>) -> BoxFuture<'static, bool>;

    /// The whole kept tail of standard error.
    fn stderr_tail(&self) -> String {
        self.stderr_from(0).text
    }
}

/// `ctx.subprocess`: finding and starting programs.
pub trait Subprocess: Send + Sync {
    /// Finds a program: an absolute path as it is, a bare name on `PATH`, that of `env` when it has one. The answer is
    /// spelled as it was found; links are not resolved.
    ///
    /// # Errors
    /// The command is empty, relative, not an executable file or not to be found, or `signal` is set.
    fn resolve_executable<'a>(
        &'a self,
        command: &'a str,
        env: &'a [EnvChange],
        signal: Option<&'a AbortSignal>,
    ) -> BoxFuture<'a, Result<String, SubprocessError>>;

    /// Starts a process. Must be awaited inside a tokio runtime, which then looks after the pipes.
    ///
    /// # Errors
    /// The request itself is not acceptable; nothing was started. A program or working directory that turns out to be
    /// missing is no error here: [`Process::done`] reports it.
    fn spawn<'a>(
        &'a self,
        spec: SpawnSpec,
    ) -> BoxFuture<'a, Result<Box<dyn Process>, SubprocessError>>;

    /// Refuses further work, terminates every process and waits until each has settled and its tree is gone.
    ///
    /// # Errors
    /// Everything that went wrong on the way, after all processes were dealt with.
    fn dispose(&self) -> BoxFuture<'_, Result<(), DisposeError>>;
}
