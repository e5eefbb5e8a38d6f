//! Hosts whose plugin for workspace symbols asks scripted language servers, and what those servers write down.

use crate::hostile::{PATIENCE, soon};
use crate::hosts::{Log, SYMBOLS, agent, host_and_log, row};
use dsh_host::{
    AbortController, AbortReason, CallRequest, Failure, Host, PluginRow, RowState, ToolResult,
};
use dsh_services::fs::LocalFileSystem;
use dsh_services::subprocess::LocalSubprocess;
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The tool.
pub const TOOL: &str = "workspace_symbol";
/// The agent whose directory is the workspace.
pub const AGENT: &str = "agent";

/// The example of this crate that is a language server, and the supervisor of processes.
pub fn scripted_server() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let build = own.ancestors().nth(2).expect("a directory of the build");
    let server = build.join("examples/scripted_language_server");
    assert!(
        server.exists(),
        "{} is missing: run the whole of `cargo test`, or build it with `cargo build --example scripted_language_server`",
        server.display()
    );
    server
}

/// A host with the files and programs of this machine, one agent, and room for servers.
pub struct Desk {
    /// The host.
    pub host: Host,
    /// What is logged in it.
    pub log: Arc<Log>,
    /// Its subprocess service.
    pub programs: Arc<LocalSubprocess>,
    home: tempfile::TempDir,
}

impl Desk {
    /// A desk whose workspace is an empty directory.
    pub async fn new() -> Self {
        Self::with_programs(LocalSubprocess::new(Some(scripted_server()))).await
    }

    /// A desk whose servers inherit these variables instead of the test's own.
    pub async fn with_environment(variables: &[(&str, &str)]) -> Self {
        let pair = |(name, value): &(&str, &str)| (OsString::from(name), OsString::from(value));
        let programs = LocalSubprocess::new(Some(scripted_server()));
        Self::with_programs(programs.with_base_env(variables.iter().map(pair).collect())).await
    }

    async fn with_programs(programs: LocalSubprocess) -> Self {
        let (host, log) = host_and_log();
        let home = tempfile::tempdir().unwrap();
        let desk = Self {
            host,
            log,
            programs: Arc::new(programs),
            home,
        };
        let services = desk.host.services();
        services.set_local_file_system(LocalFileSystem::new(desk.path().to_owned()).unwrap());
        services.set_subprocess(Some(desk.programs.clone()));
        desk.agent(AGENT, "ws").await;
        desk
    }

    /// A directory of the test's own, without links in its path.
    pub fn path(&self) -> PathBuf {
        self.home.path().canonicalize().unwrap()
    }

    /// The agent's directory.
    pub fn workspace(&self) -> PathBuf {
        self.path().join("ws")
    }

    /// Announces an agent in a directory of this name, which is made when it is missing.
    pub async fn agent(&self, id: &str, directory: &str) {
        let directory = self.path().join(directory);
        std::fs::create_dir_all(&directory).unwrap();
        agent(&self.host, id, &directory).await;
    }

    /// The configuration of a scripted server that plays `runs`, process after process, without a warm-up.
    pub fn server(&self, id: &str, runs: Value) -> Value {
        let script = json!({"journal": self.journal(id).0, "runs": runs});
        json!({
            "command": scripted_server(),
            "args": [script.to_string()],
            "warmupMs": 0,
            "killGraceMs": 300,
            "shutdownTimeoutMs": 20_000,
        })
    }

    /// What the processes of a scripted server write down.
    pub fn journal(&self, id: &str) -> Journal {
        Journal(self.path().join(format!("{id}.journal")))
    }

    /// A file that does not exist yet, for a script to wait for.
    pub fn gate(&self, name: &str) -> Gate {
        Gate(self.path().join(format!("{name}.gate")))
    }

    /// The row with these servers.
    pub fn row(&self, servers: &[(&str, Value)]) -> PluginRow {
        row(&self.host, SYMBOLS, config(servers))
    }

    /// Mounts the plugin with these servers.
    ///
    /// # Errors
    /// The host's.
    pub async fn mount(&self, servers: &[(&str, Value)]) -> Result<RowState, Failure> {
        soon(self.host.mount(self.row(servers))).await
    }

    /// Mounts the plugin with one server, `server`, that plays these runs.
    pub async fn mount_scripted(&self, runs: Value) {
        let server = self.server("server", runs);
        let state = self.mount(&[("server", server)]).await;
        assert_eq!(state, Ok(RowState::Active));
    }

    /// A call of the agent.
    pub async fn ask(&self, query: &str) -> ToolResult {
        self.ask_as(AGENT, query).await
    }

    /// A call of this agent.
    pub async fn ask_as(&self, agent: &str, query: &str) -> ToolResult {
        self.begin_as(agent, query, None).result().await
    }

    /// Begins a call of the agent.
    pub fn begin(&self, query: &str) -> Call {
        self.begin_as(AGENT, query, None)
    }

    /// Begins a call with a deadline.
    pub fn begin_as(&self, agent: &str, query: &str, timeout_ms: Option<u32>) -> Call {
        let controller = AbortController::new();
        let request = CallRequest {
            agent: Some(agent.into()),
            signal: controller.signal(),
            timeout_ms,
            ..CallRequest::new(TOOL, &json!({"query": query}).to_string())
        };
        let host = self.host.clone();
        Call {
            controller,
            task: tokio::spawn(async move { host.call(request).await }),
        }
    }

    /// Unmounts the plugin.
    ///
    /// # Errors
    /// The host's.
    pub async fn unmount(&self) -> Result<(), Failure> {
        soon(self.host.unmount(SYMBOLS)).await
    }
}

/// A configuration of these servers.
pub fn config(servers: &[(&str, Value)]) -> Value {
    let entry = |(id, server): &(&str, Value)| ((*id).to_owned(), server.clone());
    json!({"servers": servers.iter().map(entry).collect::<Map<_, _>>()})
}

/// A call under way.
pub struct Call {
    controller: AbortController,
    task: tokio::task::JoinHandle<ToolResult>,
}

impl Call {
    /// Sets its signal.
    pub fn abort(&self, reason: AbortReason) {
        self.controller.abort(reason);
    }

    /// Whether it has settled.
    pub fn is_over(&self) -> bool {
        self.task.is_finished()
    }

    /// What it came to.
    pub async fn result(self) -> ToolResult {
        soon(self.task).await.unwrap()
    }
}

/// Something that scripts wait for.
pub struct Gate(PathBuf);

impl Gate {
    /// Where it is, for the action `await`.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Lets everybody through.
    pub fn open(&self) {
        std::fs::write(&self.0, "").unwrap();
    }
}

/// What the processes of one scripted server wrote down.
pub struct Journal(PathBuf);

impl Journal {
    /// The journal at this place.
    pub fn at(path: PathBuf) -> Self {
        Self(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// All entries so far.
    pub fn entries(&self) -> Vec<Value> {
        let text = self.text();
        text.split(|byte| *byte == b'\n')
            .filter_map(entry)
            .collect()
    }

    fn text(&self) -> Vec<u8> {
        match std::fs::read(&self.0) {
            Ok(text) => text,
            // No process has started yet.
            Err(missing) if missing.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(failure) => panic!("{}: {failure}", self.0.display()),
        }
    }

    /// What belongs to one kind of event.
    pub fn of(&self, event: &str) -> Vec<Value> {
        let entries = self.entries().into_iter();
        entries
            .filter(|entry| entry["event"] == event)
            .map(|entry| entry["what"].clone())
            .collect()
    }

    /// The processes that were started, in order. Of a long journal the other entries are not read: tests that measure memory ask this often.
    pub fn pids(&self) -> Vec<i32> {
        let text = self.text();
        text.split(|byte| *byte == b'\n')
            .filter(|line| line.starts_with(br#"{"event":"start""#))
            .filter_map(entry)
            .map(|entry| i32::try_from(entry["pid"].as_i64().unwrap()).unwrap())
            .collect()
    }

    /// The methods of what was received, in order.
    pub fn methods(&self) -> Vec<String> {
        let method = |message: &Value| message["method"].as_str().unwrap_or("<reply>").to_owned();
        self.of("got").iter().map(method).collect()
    }

    /// The parameters of what was received of one method.
    pub fn params(&self, method: &str) -> Vec<Value> {
        let messages = self.of("got").into_iter();
        messages
            .filter(|message| message["method"] == method)
            .map(|message| message["params"].clone())
            .collect()
    }

    /// Waits until a method was received so often.
    pub async fn until_got(&self, method: &str, times: usize) {
        self.until(&format!("{times} of {method}"), || {
            self.methods().iter().filter(|got| *got == method).count() >= times
        })
        .await;
    }

    /// Waits until there are so many entries of an event.
    pub async fn until_noted(&self, event: &str, times: usize) {
        self.until(&format!("{times} of {event}"), || {
            self.of(event).len() >= times
        })
        .await;
    }

    async fn until(&self, what: &str, reached: impl FnMut() -> bool) {
        let note = || format!("{what}: {:#?}", self.entries());
        eventually(note, reached).await;
    }
}

/// One line of a journal. Half a line is none: its process is writing it, or was killed while it did.
fn entry(line: &[u8]) -> Option<Value> {
    match serde_json::from_slice(line) {
        Ok(entry) => Some(entry),
        Err(half) if half.is_eof() => None,
        Err(failure) => panic!("{failure}: {}", String::from_utf8_lossy(line)),
    }
}

/// Waits for a state that must come.
pub async fn eventually(what: impl Fn() -> String, mut reached: impl FnMut() -> bool) {
    let start = Instant::now();
    while !reached() {
        assert!(start.elapsed() < PATIENCE, "never came true: {}", what());
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Whether there is such a process, as a zombie too.
pub fn exists(pid: i32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// The value of a call that succeeded.
pub fn found(result: ToolResult) -> Value {
    crate::hostile::value(result)
}

/// The names in the value of a call that succeeded.
pub fn names(result: ToolResult) -> Vec<String> {
    let value = found(result);
    let symbols = value["symbols"].as_array().unwrap();
    let name = |symbol: &Value| symbol["name"].as_str().unwrap().to_owned();
    symbols.iter().map(name).collect()
}

/// One symbol as servers write it.
pub fn symbol(name: &str) -> Value {
    let at = |character: u32| json!({"line": 3, "character": character});
    json!({"name": name, "kind": 23, "location": {"uri": "file:///ws/a.rs", "range": {"start": at(0), "end": at(4)}}})
}

/// The run of a server that answers every query with these symbols.
pub fn answering(names: &[&str]) -> Value {
    let symbols: Vec<Value> = names.iter().map(|name| symbol(name)).collect();
    json!({"workspace/symbol": [{"reply": symbols}]})
}
