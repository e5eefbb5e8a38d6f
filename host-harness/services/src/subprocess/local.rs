use std::ffi::OsString;
use std::path::PathBuf;
#[cfg(unix)]
use std::sync::Arc;
use std::time::Duration;
#[cfg(unix)]
use std::time::Instant;

use futures::FutureExt;
use futures::future::BoxFuture;

use super::abort::AbortSignal;
use super::contract::{EnvChange, MAX_GRACE_MS, Process, SpawnSpec, Subprocess};
use super::environment::{Environment, child_environment, validate};
use super::error::{DisposeError, SubprocessError};
use super::lookup;
use super::roster::Roster;

/// The most standard error that is kept for one process, in bytes.
pub const MAX_STDERR_BYTES: u64 = 64 * 1024 * 1024;

/// How long dropping the service blocks for killed trees to disappear.
const DROP_WAIT: Duration = Duration::from_secs(2);

/// Starts processes on this machine.
///
/// Tested on Linux only. Other Unix systems lack the search for processes that left their group. On Windows nothing is
/// started: every `spawn` answers [`SubprocessError::Unsupported`].
///
/// With a supervisor a tree is all descendants of the program, and dies with the host however that ends. Without one it is
/// the program's process group: a descendant that starts a session of its own escapes, and a host that is killed
/// leaves its trees behind.
///
/// Dropping the service kills every tree and blocks, two seconds at most, until they are gone.
pub struct LocalSubprocess {
    supervisor: Option<PathBuf>,
    base_env: Option<Environment>,
    #[cfg(unix)]
    roster: Roster<super::live::LiveProcess>,
    #[cfg(not(unix))]
    roster: Roster<dyn Process>,
}

impl LocalSubprocess {
    /// Starts processes through `supervisor`, the absolute path of an executable whose `main` calls [`super::maybe_run_supervisor`] first;
    /// without one, directly.
    pub fn new(supervisor: Option<PathBuf>) -> Self {
        Self {
            supervisor,
            base_env: None,
            roster: Roster::new(),
        }
    }

    /// Children inherit from `env` instead of from this process.
    #[must_use]
    pub fn with_base_env(mut self, env: Vec<(OsString, OsString)>) -> Self {
        self.base_env = Some(env);
        self
    }

    /// Kills every tree without grace and blocks until they are gone, for at most `wait`. For the end of the process,
    /// when nothing can be awaited any more.
    pub fn kill_all(&self, wait: Duration) {
        #[cfg(unix)]
        {
            let processes = self.roster.processes();
            processes.iter().for_each(|process| process.order_kill());
            let deadline = Instant::now() + wait;
            processes
                .iter()
                .for_each(|process| process.block_until_kept(deadline));
        }
        #[cfg(not(unix))]
        let _ = wait;
    }

    fn environment(&self, changes: &[EnvChange]) -> Environment {
        match &self.base_env {
            Some(base) => child_environment(base.iter().cloned(), changes),
            None => child_environment(std::env::vars_os(), changes),
        }
    }

    async fn find(
        &self,
        command: &str,
        env: &[EnvChange],
        signal: Option<&AbortSignal>,
    ) -> Result<String, SubprocessError> {
        self.roster.check_open()?;
        validate(env)?;
        let environment = self.environment(env);
        let (command, signal) = (command.to_owned(), signal.cloned());
        // The disk behind a directory of PATH may be slow.
        tokio::task::spawn_blocking(move || lookup::find(&command, &environment, signal.as_ref()))
            .await
            .unwrap_or_else(|error| {
                Err(SubprocessError::Lost {
                    reason: format!("the lookup ended early: {error}"),
                })
            })
    }

    #[cfg(unix)]
    async fn start(&self, spec: SpawnSpec) -> Result<Box<dyn Process>, SubprocessError> {
        use super::launcher::launch;
        use super::live::LiveProcess;
        use super::tree::{Launch, Report};

        let entry = self.roster.enter().await?;
        check(&spec)?;
        let grace = Duration::from_millis(spec.grace_ms.into());
        let request = Launch {
            argv: spec.argv.iter().map(OsString::from).collect(),
            cwd: spec.cwd.clone().into(),
            env: self.environment(&spec.env),
            grace,
        };
        let trouble = |error: std::io::Error| SubprocessError::Lost {
            reason: format!("its pipes could not be made: {error}"),
        };
        let (host, child) = super::stdio::pipes(spec.stdin).map_err(trouble)?;
        let (line, report) = launch(self.supervisor.as_deref(), request, child).await?;
        let program = spec.argv.first().cloned().unwrap_or_default();
        match report {
            Report::Spawned(pid) => {
                let limit = usize::try_from(spec.stderr_max_bytes).unwrap_or(usize::MAX);
                let process = LiveProcess::follow(pid, line, host, limit, grace, spec.signal)
                    .map_err(trouble)?;
                Ok(Box::new(self.roster.admit(
                    entry,
                    Arc::new(process),
                    program,
                    grace,
                    (),
                )))
            }
            Report::Failed(errno) => Ok(Box::new(LiveProcess::stillborn(launch_error(
                program, spec.cwd, errno,
            )))),
            Report::Exited(_) | Report::StatusLost | Report::Gone => Err(SubprocessError::Lost {
                reason: "its supervisor spoke out of turn".into(),
            }),
        }
    }

    #[cfg(not(unix))]
    async fn start(&self, spec: SpawnSpec) -> Result<Box<dyn Process>, SubprocessError> {
        self.roster.check_open()?;
        check(&spec)?;
        let _ = &self.supervisor;
        Err(SubprocessError::Unsupported)
    }
}

impl Subprocess for LocalSubprocess {
    fn resolve_executable<'a>(
        &'a self,
        command: &'a str,
        env: &'a [EnvChange],
        signal: Option<&'a AbortSignal>,
    ) -> BoxFuture<'a, Result<String, SubprocessError>> {
        self.find(command, env, signal).boxed()
    }

    fn spawn(&self, spec: SpawnSpec) -> BoxFuture<'_, Result<Box<dyn Process>, SubprocessError>> {
        self.start(spec).boxed()
    }

    fn dispose(&self) -> BoxFuture<'_, Result<(), DisposeError>> {
        async {
            let outcome = self.roster.dispose().await;
            self.kill_all(Duration::ZERO);
            outcome
        }
        .boxed()
    }
}

impl Drop for LocalSubprocess {
    fn drop(&mut self) {
        self.kill_all(DROP_WAIT);
    }
}

fn check(spec: &SpawnSpec) -> Result<(), SubprocessError> {
    if !(1..=MAX_GRACE_MS).contains(&spec.grace_ms) {
        return Err(SubprocessError::InvalidGrace {
            grace_ms: spec.grace_ms,
        });
    }
    if let Some(reason) = spec.signal.as_ref().and_then(AbortSignal::reason) {
        return Err(SubprocessError::AbortedBeforeSpawn(reason));
    }
    let invalid_argv = |reason: String| SubprocessError::InvalidArgv { reason };
    if spec.argv.first().is_none_or(String::is_empty) {
        return Err(invalid_argv("the first element must name a program".into()));
    }
    if let Some(index) = spec
        .argv
        .iter()
        .position(|argument| argument.contains('\0'))
    {
        return Err(invalid_argv(format!(
            "element {index} must not contain NUL"
        )));
    }
    if !std::path::Path::new(&spec.cwd).is_absolute() || spec.cwd.contains('\0') {
        return Err(SubprocessError::InvalidCwd {
            cwd: spec.cwd.clone(),
        });
    }
    if spec.stderr_max_bytes > MAX_STDERR_BYTES {
        return Err(SubprocessError::StderrTooLarge {
            asked: spec.stderr_max_bytes,
            limit: MAX_STDERR_BYTES,
        });
    }
    validate(&spec.env)
}

#[cfg(unix)]
fn launch_error(program: String, cwd: String, errno: i32) -> SubprocessError {
    use rustix::io::Errno;

    let names = [
        (Errno::NOENT, "ENOENT"),
        (Errno::ACCESS, "EACCES"),
        (Errno::NOTDIR, "ENOTDIR"),
        (Errno::ISDIR, "EISDIR"),
        (Errno::NOEXEC, "ENOEXEC"),
        (Errno::PERM, "EPERM"),
        (Errno::LOOP, "ELOOP"),
        (Errno::NAMETOOLONG, "ENAMETOOLONG"),
        (Errno::TOOBIG, "E2BIG"),
        (Errno::TXTBSY, "ETXTBSY"),
        (Errno::NOMEM, "ENOMEM"),
        (Errno::AGAIN, "EAGAIN"),
        (Errno::MFILE, "EMFILE"),
        (Errno::NFILE, "ENFILE"),
        (Errno::IO, "EIO"),
    ];
    let name = names
        .iter()
        .find(|(known, _)| known.raw_os_error() == errno);
    SubprocessError::Launch {
        program,
        cwd,
        code: name.map_or_else(|| format!("E{errno}"), |(_, name)| (*name).to_owned()),
        reason: std::io::Error::from_raw_os_error(errno).to_string(),
    }
}
