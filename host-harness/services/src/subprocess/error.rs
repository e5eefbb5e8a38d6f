use thiserror::Error;

use super::contract::MAX_GRACE_MS;

/// Why a request to the subprocess service failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SubprocessError {
    /// The command to look up is empty.
    #[error("executable must be non-empty")]
    EmptyCommand,
    /// The command to look up is a path, but not an absolute one.
    #[error("executable {command:?} is a relative path; give an absolute path or a bare name")]
    RelativeCommand {
        /// The command as it was given.
        command: String,
    },
    /// An absolute command does not lead to an executable regular file.
    #[error("{command:?} is not an executable file")]
    NotExecutable {
        /// The command as it was given.
        command: String,
    },
    /// No directory of `PATH` has an executable file of that name.
    #[error("executable {command:?} was not found on PATH")]
    NotFound {
        /// The command as it was given.
        command: String,
    },
    /// `argv` names no program, or an argument holds a NUL.
    #[error("invalid argv: {reason}")]
    InvalidArgv {
        /// What is wrong with it.
        reason: String,
    },
    /// The working directory is not an absolute path, or holds a NUL.
    #[error("invalid cwd {cwd:?}: it must be an absolute path without NUL")]
    InvalidCwd {
        /// The directory as it was given.
        cwd: String,
    },
    /// A name or value cannot be part of an environment.
    #[error("invalid env entry {name:?}: {reason}")]
    InvalidEnv {
        /// The name of the entry.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The grace is out of range.
    #[error("invalid graceMs {grace_ms}: it must be 1 to {MAX_GRACE_MS}")]
    InvalidGrace {
        /// The grace as it was given.
        grace_ms: u32,
    },
    /// The bound on collected standard error is more than the host keeps for one process.
    #[error("invalid stderrMaxBytes {asked}: at most {limit} bytes are kept for one process")]
    StderrTooLarge {
        /// The bound as it was given.
        asked: u64,
        /// The largest allowed value.
        limit: u64,
    },
    /// The caller's signal was set; the text is its reason.
    #[error("{0}")]
    Aborted(String),
    /// The caller's signal was set before anything was started.
    #[error("aborted before spawn: {0}")]
    AbortedBeforeSpawn(String),
    /// The operating system refused to start the program.
    #[error("could not start {program:?} in {cwd:?}: {reason}")]
    Launch {
        /// `argv[0]`.
        program: String,
        /// The working directory.
        cwd: String,
        /// The symbolic error number, such as `ENOENT`.
        code: String,
        /// The same for people.
        reason: String,
    },
    /// The owner's grants do not cover the request.
    #[error("not granted: {asked}; allowed: {allowed}")]
    Denied {
        /// What was asked for.
        asked: String,
        /// What the grants cover.
        allowed: String,
    },
    /// The owner has as many live processes as it may have.
    #[error("too many live processes: the limit is {limit}; end one before starting another")]
    TooMany {
        /// How many are allowed at once.
        limit: usize,
    },
    /// The service is being unloaded.
    #[error("the subprocess service is disposed")]
    Disposed,
    /// What looks after the process on the service's behalf failed; the process was killed.
    #[error("lost control of the process: {reason}")]
    Lost {
        /// What is known about the reason.
        reason: String,
    },
    /// Another provider's failure (a bridge to a running DSH), passed on with its own code and text.
    #[error("{message}")]
    Foreign {
        /// The code that the provider gave, when it gave one.
        code: Option<String>,
        /// The provider's text.
        message: String,
    },
    /// This operating system is not supported.
    #[error("starting processes is not supported on this operating system")]
    Unsupported,
}

impl SubprocessError {
    /// The stable code that programs switch on; none for an uncoded error.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Launch { code, .. } => Some(code),
            Self::Denied { .. } => Some("SUBPROCESS_DENIED"),
            Self::TooMany { .. } => Some("SUBPROCESS_LIMIT"),
            Self::Disposed => Some("SUBPROCESS_DISPOSED"),
            Self::Lost { .. } => Some("SUBPROCESS_LOST"),
            Self::Unsupported => Some("SUBPROCESS_UNSUPPORTED"),
            Self::Foreign { code, .. } => code.as_deref(),
            _ => None,
        }
    }
}

/// What went wrong while a service ended its processes.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{} of the processes could not be ended properly: {}", failures.len(), failures.join("; "))]
pub struct DisposeError {
    /// One text per process.
    pub failures: Vec<String>,
}
