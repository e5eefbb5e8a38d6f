//! What the driver needs of the outside: time, tasks, files and processes.

use std::future::Future;

/// Severity of a log record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Something that the deployer should look at.
    Warn,
    /// Something for whoever looks for a fault.
    Debug,
}

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// Anything else, links in a listing included.
    Other,
}

/// One entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Child {
    /// Its name.
    pub name: String,
    /// What it is; links are not followed.
    pub kind: NodeKind,
}

/// How to start a language server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpawnSpec {
    /// The resolved executable, then the arguments.
    pub argv: Vec<String>,
    /// The workspace.
    pub cwd: String,
    /// Added to the environment.
    pub env: Vec<(String, String)>,
    /// How much of standard error is kept, in bytes.
    pub max_stderr_bytes: u64,
    /// Between the request to end and the kill, in milliseconds.
    pub kill_grace_ms: u32,
}

/// A started process and both ends of its conversation.
pub struct Spawned<H: Host> {
    /// The process; dropping it ends the whole tree.
    pub process: H::Process,
    /// The writing side.
    pub input: H::Input,
    /// The reading side.
    pub output: H::Output,
}

/// A child process with its descendants.
pub trait Process: 'static {
    /// The kept tail of standard error.
    fn stderr_tail(&self) -> String;
    /// Resolves when the process has ended, to a text such as `exited with code 1`, or with the reason why it was never started.
    fn done(&self) -> impl Future<Output = Result<String, String>>;
    /// Asks the whole tree to end, and kills it after the grace.
    fn terminate(&self);
    /// Resolves once no process of the tree is left; with `false` when that cannot be brought about.
    fn wait_for_exit(&self) -> impl Future<Output = bool>;
}

/// The standard input of a process; dropping it closes the pipe.
pub trait Input: 'static {
    /// Writes all bytes, or says why not.
    fn write(&mut self, bytes: Vec<u8>) -> impl Future<Output = Result<(), String>>;
}

/// The standard output of a process.
pub trait Output: 'static {
    /// The next bytes, in chunks of any size; `None` at the end.
    fn read(&mut self) -> impl Future<Output = Option<Vec<u8>>>;
}

/// The outside.
pub trait Host: 'static + Sized {
    /// A resolved path.
    type Target: 'static;
    /// See [`Process`].
    type Process: Process;
    /// See [`Input`].
    type Input: Input;
    /// See [`Output`].
    type Output: Output;

    /// Milliseconds of a monotonic clock.
    fn now_ms(&self) -> u64;
    /// Resolves after at least this many milliseconds.
    fn sleep(&self, milliseconds: u64) -> impl Future<Output = ()>;
    /// Runs a task beside all calls.
    fn start_task(&self, task: impl Future<Output = ()> + 'static);
    /// Writes one log record.
    fn log(&self, level: Level, message: &str);

    /// Finds a program; an error is a text for the deployer.
    fn resolve_executable(
        &self,
        command: &str,
        env: &[(String, String)],
    ) -> impl Future<Output = Result<String, String>>;
    /// Starts a process. An error means that nothing was started.
    fn spawn(&self, spec: SpawnSpec) -> impl Future<Output = Result<Spawned<Self>, String>>;

    /// Resolves a path, relative ones against `cwd`; an error is a text that names the path.
    fn resolve(
        &self,
        path: &str,
        cwd: Option<&str>,
    ) -> impl Future<Output = Result<Self::Target, String>>;
    /// What the target leads to; `None` when nothing is there.
    fn kind(&self, target: &Self::Target)
    -> impl Future<Output = Result<Option<NodeKind>, String>>;
    /// Equal for two spellings of one place.
    fn key(&self, target: &Self::Target) -> String;
    /// The canonical path.
    fn process_path(&self, target: &Self::Target) -> String;
    /// The canonical path as a `file:` URL.
    fn file_url(&self, target: &Self::Target) -> String;
    /// Whether `child` is `parent` or lies under it.
    fn contains(&self, parent: &Self::Target, child: &Self::Target) -> bool;
    /// The children of a directory, in the order of their names.
    fn list(&self, target: &Self::Target) -> impl Future<Output = Result<Vec<Child>, String>>;
    /// The text of a file of at most `max_bytes` bytes.
    fn read_text(
        &self,
        target: &Self::Target,
        max_bytes: u64,
    ) -> impl Future<Output = Result<String, String>>;
}

/// Waits for `work`, but at most this many milliseconds.
pub async fn within<H: Host, F: Future>(host: &H, milliseconds: u64, work: F) -> Option<F::Output> {
    use futures::future::{Either, select};
    match select(
        std::pin::pin!(work),
        std::pin::pin!(host.sleep(milliseconds)),
    )
    .await
    {
        Either::Left((output, _)) => Some(output),
        Either::Right(_) => None,
    }
}
