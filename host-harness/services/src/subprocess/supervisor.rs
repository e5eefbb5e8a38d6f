//! The supervisor: this same executable, started again to keep one process tree.
//!
//! A host that is killed cannot clean up, so something that outlives it must. The supervisor leaves the host's session,
//! makes itself the parent of every orphan among its descendants, starts the program, and holds one socket to the host.
//! When that socket closes, for whatever reason, it kills every descendant and ends. It relays nothing: the program
//! has the pipes themselves. Linux finds descendants that left the program's process group; other systems do not.
//!
//! The code on that path is single-threaded and uses neither the async runtime nor any other service.

use std::path::PathBuf;

/// The hidden first argument that makes the executable a supervisor.
pub(super) const VERB: &str = "__supervise";

/// Becomes a supervisor, and never returns, when the process was started as one. Call it first thing in `main`, before
/// any thread is started and before arguments are parsed.
pub fn maybe_run_supervisor() {
    if std::env::args_os().nth(1).is_some_and(|verb| verb == VERB) {
        std::process::exit(run());
    }
}

/// The path by which this process can start itself again, even after its file was replaced.
///
/// # Errors
/// The operating system does not say where the executable is.
pub fn own_executable() -> std::io::Result<PathBuf> {
    if cfg!(target_os = "linux") {
        Ok("/proc/self/exe".into())
    } else {
        std::env::current_exe()
    }
}

#[cfg(unix)]
fn run() -> i32 {
    match supervise() {
        Ok(()) => 0,
        // Standard error is closed to it; the host sees the socket end too early and says so.
        Err(_) => 2,
    }
}

#[cfg(not(unix))]
fn run() -> i32 {
    2
}

#[cfg(unix)]
fn supervise() -> std::io::Result<()> {
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use super::tree::{Launch, Reach, keep};

    // Out of the terminal's reach: an interrupt is the host's to handle. Fails only for a group leader, which has left
    // the host's group already.
    let _ = rustix::process::setsid();
    let host = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let (launch, stdio) = Launch::receive(&host)?;
    let reach = adopt_orphans();
    keep(host, &launch, stdio, reach);
    return Ok(());

    #[cfg(target_os = "linux")]
    fn adopt_orphans() -> Reach {
        match rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
            Ok(()) => Reach::Descendants,
            Err(_) => Reach::Group,
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn adopt_orphans() -> Reach {
        Reach::Group
    }
}
