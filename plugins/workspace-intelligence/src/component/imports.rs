//! The driver's ports, over the imports of the component.

use super::bindings::dsh::ctx::types::Failure;
use super::bindings::dsh::ctx::{fs, logger, subprocess, timers};
use super::bindings::wit_stream;
use crate::driver::ports::{self, Child, Host, Level, NodeKind, Spawned};
use std::pin::Pin;
use std::time::Instant;
use wit_bindgen::{FutureReader, StreamReader, StreamResult, StreamWriter};

/// How many bytes one read of standard output asks for.
const READ_BYTES: usize = 65_536;

/// The most of standard error that the host keeps for one process (SPEC 4.1).
const MOST_STDERR_BYTES: u64 = 64 << 20;

/// The outside of the component.
pub struct Imports {
    epoch: Instant,
}

impl Imports {
    pub fn new() -> Self {
        Self {
            epoch: Instant::now(),
        }
    }
}

impl Host for Imports {
    type Target = fs::Target;
    type Process = Process;
    type Input = Input;
    type Output = Output;

    fn now_ms(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    async fn sleep(&self, milliseconds: u64) {
        timers::sleep(u32::try_from(milliseconds).unwrap_or(u32::MAX)).await;
    }

    fn start_task(&self, task: impl Future<Output = ()> + 'static) {
        // Dropping the handle lets the task go on, past the call that started it.
        drop(wit_bindgen::spawn_local(
            Box::pin(task) as Pin<Box<dyn Future<Output = ()>>>
        ));
    }

    fn log(&self, level: Level, message: &str) {
        let level = match level {
            Level::Warn => logger::Level::Warn,
            Level::Debug => logger::Level::Debug,
        };
        logger::log(level, message);
    }

    async fn resolve_executable(
        &self,
        command: &str,
        env: &[(String, String)],
    ) -> Result<String, String> {
        subprocess::resolve_executable(command.to_owned(), entries(env))
            .await
            .map_err(message)
    }

    async fn spawn(&self, spec: ports::SpawnSpec) -> Result<Spawned<Self>, String> {
        let spec = subprocess::SpawnSpec {
            argv: spec.argv,
            cwd: spec.cwd,
            stdin: true,
            stderr_max_bytes: spec.max_stderr_bytes.min(MOST_STDERR_BYTES),
            grace_ms: spec.kill_grace_ms,
            env: entries(&spec.env),
        };
        let process = subprocess::spawn(spec).await.map_err(message)?;
        if process.pid().is_none() {
            // Only the end of such a process says why it was not started, and it has no pipes to be taken.
            let reason = process.done().await.map_err(message);
            return Err(reason.map_or_else(|reason| reason, |_| "there is no process".to_owned()));
        }
        let (writer, reader) = wit_stream::new();
        let input = Input {
            writer,
            closed: Some(process.write_stdin(reader)),
        };
        let output = Output {
            reader: Some(process.take_stdout()),
        };
        Ok(Spawned {
            process: Process(process),
            input,
            output,
        })
    }

    async fn resolve(&self, path: &str, cwd: Option<&str>) -> Result<fs::Target, String> {
        fs::resolve(path.to_owned(), cwd.map(str::to_owned))
            .await
            .map_err(text)
    }

    async fn kind(&self, target: &fs::Target) -> Result<Option<NodeKind>, String> {
        let info = fs::stat(target).await.map_err(text)?;
        Ok(info.map(|info| node_kind(info.kind)))
    }

    fn key(&self, target: &fs::Target) -> String {
        target.key()
    }

    fn process_path(&self, target: &fs::Target) -> String {
        target.process_path()
    }

    fn file_url(&self, target: &fs::Target) -> String {
        target.file_url()
    }

    fn contains(&self, parent: &fs::Target, child: &fs::Target) -> bool {
        fs::contains(parent, child)
    }

    async fn list(&self, target: &fs::Target) -> Result<Vec<Child>, String> {
        let children = fs::list_dir(target).await.map_err(text)?;
        let child = |child: fs::Child| Child {
            name: child.name,
            kind: node_kind(child.kind),
        };
        Ok(children.into_iter().map(child).collect())
    }

    async fn read_text(&self, target: &fs::Target, max_bytes: u64) -> Result<String, String> {
        fs::read_text(target, max_bytes).await.map_err(text)
    }
}

pub struct Process(subprocess::Process);

impl ports::Process for Process {
    fn stderr_tail(&self) -> String {
        self.0.stderr_tail()
    }

    async fn done(&self) -> Result<String, String> {
        let exit = self.0.done().await.map_err(message)?;
        Ok(match exit {
            subprocess::Exit {
                signal: Some(signal),
                ..
            } => format!("was ended by {signal}"),
            subprocess::Exit {
                code: Some(code), ..
            } => format!("exited with code {code}"),
            subprocess::Exit {
                code: None,
                signal: None,
            } => "exited".to_owned(),
        })
    }

    fn terminate(&self) {
        self.0.terminate();
    }

    async fn wait_for_exit(&self) -> bool {
        self.0.wait_for_exit(None).await
    }
}

pub struct Input {
    writer: StreamWriter<u8>,
    /// Tells why the pipe was closed; none once it was asked.
    closed: Option<FutureReader<Result<(), Failure>>>,
}

impl ports::Input for Input {
    async fn write(&mut self, bytes: Vec<u8>) -> Result<(), String> {
        if self.writer.write_all(bytes).await.is_empty() {
            return Ok(());
        }
        if let Some(closed) = self.closed.take() {
            closed.await.map_err(message)?;
        }
        Err("the pipe is closed".to_owned())
    }
}

pub struct Output {
    /// None once the stream has ended.
    reader: Option<StreamReader<u8>>,
}

impl ports::Output for Output {
    async fn read(&mut self) -> Option<Vec<u8>> {
        while let Some(reader) = &mut self.reader {
            let (result, chunk) = reader.read(Vec::with_capacity(READ_BYTES)).await;
            if matches!(result, StreamResult::Dropped) {
                self.reader = None;
            }
            if !chunk.is_empty() {
                return Some(chunk);
            }
        }
        None
    }
}

fn entries(env: &[(String, String)]) -> Vec<subprocess::EnvEntry> {
    let entry = |(name, value): &(String, String)| subprocess::EnvEntry {
        name: name.clone(),
        value: Some(value.clone()),
    };
    env.iter().map(entry).collect()
}

fn node_kind(kind: fs::NodeKind) -> NodeKind {
    match kind {
        fs::NodeKind::File => NodeKind::File,
        fs::NodeKind::Directory => NodeKind::Directory,
        fs::NodeKind::Symlink | fs::NodeKind::Other => NodeKind::Other,
    }
}

fn message(failure: Failure) -> String {
    failure.message
}

fn text(error: fs::FsError) -> String {
    error.message
}
