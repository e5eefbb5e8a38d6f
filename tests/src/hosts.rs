//! Hosts with bundled plugins in them.

use dsh_host::grants::Programs;
use dsh_host::registry::{Registration, Scope};
use dsh_host::{
    AbortSignal, AgentSpec, Candidate, Failure, Host, HostOptions, Level, Limits, LoadedComponent,
    LogSink, PluginRow, RowState, SearchError, Tool, ToolDefinition, ToolError, ToolInvocation,
    ToolOutput, Workspaces, bundled,
};
use serde_json::{Value, json};
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

/// The completion plugin.
pub const COMPLETION: &str = "dsh-file-reference-local";
/// The plugin for workspace symbols.
pub const SYMBOLS: &str = "dsh-workspace-intelligence";
/// The plugin for recorded history.
pub const HISTORY: &str = "dsh-context-proxy";

/// A host without plugins, on the directories of this machine.
pub fn host() -> Host {
    Host::new(HostOptions::default()).unwrap()
}

/// A host without plugins whose agents get their directories from `workspaces`.
pub fn host_with(workspaces: Arc<dyn Workspaces>) -> Host {
    Host::new(HostOptions {
        workspaces,
        ..HostOptions::default()
    })
    .unwrap()
}

/// A host without plugins, and what is logged in it.
pub fn host_and_log() -> (Host, Arc<Log>) {
    let log = Arc::new(Log::default());
    let options = HostOptions {
        log: log.clone(),
        ..HostOptions::default()
    };
    (Host::new(options).unwrap(), log)
}

/// The row that mounts a bundled plugin under its own name, with default limits and what its configuration asks for.
pub fn row(host: &Host, name: &str, config: Value) -> PluginRow {
    let bytes = bundled::find(name).expect("a bundled plugin").bytes;
    PluginRow {
        id: name.into(),
        component: LoadedComponent::new(host.engine(), bytes).unwrap(),
        programs: Programs::OfConfiguration(name.into()),
        config,
        limits: Limits::default(),
    }
}

/// Mounts a bundled plugin under its own name.
///
/// # Errors
/// The host's.
pub async fn mount(host: &Host, name: &str, config: Value) -> Result<RowState, Failure> {
    host.mount(row(host, name, config)).await
}

/// Announces an agent whose session has this working directory.
pub async fn agent(host: &Host, id: &str, cwd: &Path) {
    let cwd = cwd.to_str().expect("paths of DSH are text");
    host.create_agent(AgentSpec::new(id, cwd)).await.unwrap();
}

/// One query by a caller who does not leave.
///
/// # Errors
/// The plugin's.
pub async fn ask(host: &Host, agent: &str, query: &str) -> Result<Vec<Candidate>, SearchError> {
    host.list_file_references(agent, query, &AbortSignal::never())
        .await
}

/// The paths that such a query answers.
pub async fn paths(host: &Host, agent: &str, query: &str) -> Vec<String> {
    let found = ask(host, agent, query).await.unwrap();
    found.into_iter().map(|candidate| candidate.path).collect()
}

/// The names of the global tools, in order.
pub fn tool_names(host: &Host) -> Vec<String> {
    let tools = host.tools(None);
    tools.iter().map(|tool| tool.name.clone()).collect()
}

/// Registers a tool that is there to be seen. It goes with the registration.
pub fn register(host: &Host, scope: Scope, name: &str) -> Registration {
    let definition = ToolDefinition {
        name: name.into(),
        description: "A tool of the test.".into(),
        parameters: json!({"type": "object"}),
        output_schema: json!({"type": "object"}),
        timeout_ms: None,
        concurrency_safe: true,
    };
    host.register_tool(scope, definition, Arc::new(Echo))
        .unwrap()
}

/// Answers its arguments.
struct Echo;

impl Tool for Echo {
    fn execute(
        &self,
        call: ToolInvocation,
        _: AbortSignal,
    ) -> Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send + '_>> {
        Box::pin(async move {
            Ok(ToolOutput {
                content: call.arguments.to_string(),
                value: call.arguments.into(),
            })
        })
    }
}

/// Keeps what plugins and the host log.
#[derive(Default)]
pub struct Log(Mutex<Vec<String>>);

impl LogSink for Log {
    fn record(&self, plugin: &str, level: Level, message: &str) {
        let line = format!("{level:?} {plugin}: {message}");
        self.0.lock().unwrap().push(line);
    }
}

impl Log {
    /// The records so far, each as `Level row: message`.
    pub fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}
