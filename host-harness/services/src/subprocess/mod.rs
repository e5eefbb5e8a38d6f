//! `ctx.subprocess`: child processes of this machine, whole trees at a time.

mod abort;
mod contract;
mod error;

pub use abort::{AbortController, AbortSignal, abort_signal};
pub use contract::{
    ChildStdin, ChildStdout, EnvChange, Exit, MAX_GRACE_MS, Process, SpawnSpec, Subprocess, Window,
};
pub use error::{DisposeError, SubprocessError};
