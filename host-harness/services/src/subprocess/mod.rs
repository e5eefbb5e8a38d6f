//! `ctx.subprocess`: child processes of this machine, whole trees at a time.
//!
//! [`LocalSubprocess`] starts programs, [`GrantedSubprocess`] puts one owner's grants in front of it.
//!
//! A child inherits the host's environment without what looks like a credential, gets a process group of its own, and
//! its standard output as a pipe; the end of its standard error is kept. [`Process::done`] settles when the program has
//! ended and its output is closed, or a grace after its end when something still holds the output open.
//! [`Process::terminate`] sends SIGTERM to the tree and SIGKILL after the grace, and no signal once the tree was
//! seen to be gone.

mod abort;
mod argv_rule;
mod authorized_paths;
#[cfg(any(unix, test))]
mod collector;
mod contract;
mod environment;
mod error;
mod granted;
mod grants;
#[cfg(unix)]
mod launcher;
#[cfg(unix)]
mod live;
mod local;
mod lookup;
mod roster;
#[cfg(unix)]
mod stdio;
mod supervisor;
#[cfg(unix)]
mod tree;

pub use abort::{AbortController, AbortSignal, abort_signal};
pub use argv_rule::ArgvRule;
pub use authorized_paths::{AuthorizedPath, AuthorizedPaths};
pub use contract::{
    ChildStdin, ChildStdout, EnvChange, Exit, MAX_GRACE_MS, Process, SpawnSpec, Subprocess, Window,
};
pub use error::{DisposeError, SubprocessError};
pub use granted::GrantedSubprocess;
pub use grants::{DEFAULT_MAX_LIVE, Directories, Grants, ProgramGrant, SharedRoots};
pub use local::{LocalSubprocess, MAX_STDERR_BYTES};
pub use roster::Handle;
pub use supervisor::{maybe_run_supervisor, own_executable};
