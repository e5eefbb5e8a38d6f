//! A host with plugins in it that misbehave as they are told.

use dsh_host::grants::{ProgramRequest, Programs};
use dsh_host::{
    AgentSpec, CallRequest, CodeCache, Failure, Host, HostOptions, Level, Limits, LoadedComponent,
    LocalWorkspaces, LogSink, PluginRow, RowState, ToolResult, Workspaces,
};
use dsh_services::session_query::{
    Cancel, Document, EventFilter, EventRecord, Page, PageLimits, ReadRequest, SessionQuery,
    SessionQueryError, SessionRecord, Surface, Window,
};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The component. Its source says what can be asked of it.
pub const COMPONENT: &[u8] = include_bytes!(env!("DSH_HOSTILE_GUEST_WASM"));

/// Against hangs; no test comes near it.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// The component with another way to describe itself; `word` has six letters.
pub fn describing(word: &str) -> Vec<u8> {
    const MARK: &[u8] = b"dsh-hostile-describe:answer";
    assert_eq!(word.len(), 6, "the word is written over another one");
    let found: Vec<usize> = COMPONENT
        .windows(MARK.len())
        .enumerate()
        .filter_map(|(index, window)| (window == MARK).then_some(index))
        .collect();
    assert_eq!(found.len(), 1, "the component holds the mark once");
    let mut bytes = COMPONENT.to_vec();
    let end = found[0] + MARK.len();
    bytes[end - 6..end].copy_from_slice(word.as_bytes());
    bytes
}

/// Limits that are reached soon, except by what only takes long because the machine is busy.
pub fn limits() -> Limits {
    Limits {
        memory: 32 << 20,
        spin: Duration::from_secs(10),
        abort_grace: Duration::from_millis(200),
        apply: Duration::from_secs(10),
        dispose: Duration::from_secs(10),
        message: 1 << 20,
        concurrent_calls: 64,
    }
}

/// The same for plugins that compute or block for ever.
pub fn impatient() -> Limits {
    Limits {
        spin: Duration::from_millis(100),
        ..limits()
    }
}

/// Waits for what must come soon.
pub async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what)
        .await
        .expect("this hangs")
}

/// Keeps the records of all plugins.
#[derive(Default)]
pub struct Records {
    kept: Mutex<Vec<(String, Level, String)>>,
    fatal: Mutex<Option<String>>,
}

impl LogSink for Records {
    fn record(&self, plugin: &str, level: Level, message: &str) {
        let fatal = self.fatal.lock().unwrap().as_deref() == Some(message);
        assert!(!fatal, "as the test wants it");
        let record = (plugin.into(), level, message.into());
        self.kept.lock().unwrap().push(record);
    }
}

impl Records {
    /// All messages of one plugin so far.
    pub fn of(&self, plugin: &str) -> Vec<String> {
        let records = self.kept.lock().unwrap();
        let own = records.iter().filter(|(of, _, _)| of == plugin);
        own.map(|(_, _, message)| message.clone()).collect()
    }

    /// Panics at this message from now on, as a faulty service of the host would.
    pub fn panic_at(&self, message: &str) {
        *self.fatal.lock().unwrap() = Some(message.into());
    }

    /// How often a plugin wrote this message.
    pub fn count(&self, plugin: &str, message: &str) -> usize {
        let own = self.of(plugin);
        own.iter().filter(|own| *own == message).count()
    }

    /// Waits until a plugin has written this message.
    pub async fn wait_for(&self, plugin: &str, message: &str) {
        soon(async {
            while self.count(plugin, message) == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }
}

/// A host whose plugins are told how to misbehave.
#[derive(Clone)]
pub struct Stage {
    /// The host.
    pub host: Host,
    /// What its plugins logged.
    pub log: Arc<Records>,
}

impl Default for Stage {
    fn default() -> Self {
        Self::new()
    }
}

impl Stage {
    /// A host without plugins. Compiled code is shared with the other tests of this build.
    pub fn new() -> Self {
        Self::with_workspaces(Arc::new(LocalWorkspaces))
    }

    /// The same with other directories for its agents.
    pub fn with_workspaces(workspaces: Arc<dyn Workspaces>) -> Self {
        let log = Arc::new(Records::default());
        let options = HostOptions {
            cache: CodeCache::Directory(PathBuf::from(env!("OUT_DIR")).join("code")),
            log: log.clone(),
            workspaces,
        };
        let host = Host::new(options).unwrap();
        Self { host, log }
    }

    /// A row of the misbehaving component.
    pub fn row(&self, id: &str, config: Value, limits: Limits) -> PluginRow {
        // One test compiles, and the others find the code in the cache.
        static COMPILING: Mutex<()> = Mutex::new(());
        let component = {
            let _compiling = COMPILING.lock();
            LoadedComponent::new(self.host.engine(), COMPONENT).unwrap()
        };
        PluginRow {
            id: id.into(),
            component,
            config,
            limits,
            programs: Programs::None,
        }
    }

    /// Mounts a plugin with the usual limits; its tools are named by its configuration, `act` without one.
    pub async fn mount(&self, id: &str, config: Value) -> Result<RowState, Failure> {
        self.mount_with(id, config, limits()).await
    }

    /// Mounts a plugin with these limits.
    pub async fn mount_with(
        &self,
        id: &str,
        config: Value,
        limits: Limits,
    ) -> Result<RowState, Failure> {
        soon(self.host.mount(self.row(id, config, limits))).await
    }

    /// Mounts a plugin that may run these programs.
    pub async fn mount_with_programs(&self, id: &str, programs: Vec<ProgramRequest>) {
        let row = PluginRow {
            programs: Programs::Only(programs),
            ..self.row(id, json!({}), limits())
        };
        let state = soon(self.host.mount(row)).await;
        assert_eq!(state, Ok(RowState::Active));
    }

    /// Mounts a second plugin that only serves: its tool is `bystander`.
    pub async fn mount_bystander(&self) {
        let config = json!({"tools": [{"name": "bystander"}]});
        let state = self.mount("bystander", config).await.unwrap();
        assert_eq!(state, RowState::Active);
    }

    /// Adds an agent in a directory of this machine.
    pub async fn agent(&self, id: &str) {
        let cwd = std::env::temp_dir();
        let spec = AgentSpec::new(id, cwd.to_str().unwrap());
        soon(self.host.create_agent(spec)).await.unwrap();
    }

    /// Makes a call without an agent.
    pub async fn call(&self, tool: &str, arguments: Value) -> ToolResult {
        self.request(CallRequest::new(tool, &arguments.to_string()))
            .await
    }

    /// Makes any call.
    pub async fn request(&self, request: CallRequest) -> ToolResult {
        soon(self.host.call(request)).await
    }

    /// Begins a call and does not wait for it.
    pub fn begin(&self, tool: &str, arguments: Value) -> tokio::task::JoinHandle<ToolResult> {
        self.begin_request(CallRequest::new(tool, &arguments.to_string()))
    }

    /// Begins any call and does not wait for it.
    pub fn begin_request(&self, request: CallRequest) -> tokio::task::JoinHandle<ToolResult> {
        let stage = self.clone();
        tokio::spawn(async move { stage.request(request).await })
    }

    /// What the plugin knows: its configuration, its agents, and how many calls its instance has seen.
    pub async fn echo(&self, tool: &str) -> Value {
        value(self.call(tool, json!({"do": "echo"})).await)
    }

    /// Waits until this many calls, other than those that this function makes, have reached the plugin's instance.
    pub async fn until_begun(&self, tool: &str, calls: u64) {
        soon(async {
            for own in 1.. {
                if self.echo(tool).await["calls"].as_u64() >= Some(calls + own) {
                    break;
                }
            }
        })
        .await;
    }

    /// The names of all global tools.
    pub fn tools(&self) -> Vec<String> {
        let tools = self.host.tools(None);
        tools.iter().map(|tool| tool.name.clone()).collect()
    }
}

/// The value of a success.
pub fn value(result: ToolResult) -> Value {
    match result {
        ToolResult::Success(output) => output.value.value(),
        other => panic!("no success: {other:?}"),
    }
}

/// The failure of a call that failed.
pub fn failure(result: ToolResult) -> Failure {
    match result {
        ToolResult::Failure(failure) => failure,
        other => panic!("no failure: {other:?}"),
    }
}

/// Asserts code and message of a failure.
pub fn assert_failure(failure: &Failure, code: &str, message: &str) {
    assert_eq!(
        (failure.code.as_deref(), failure.message.as_str()),
        (Some(code), message)
    );
}

/// A session query service in which every session has one event.
pub fn one_event_each() -> Arc<dyn SessionQuery> {
    Arc::new(OneEvent)
}

struct OneEvent;

impl SessionQuery for OneEvent {
    fn list_sessions(&self, _: &Cancel) -> Result<Vec<SessionRecord>, SessionQueryError> {
        Ok(Vec::new())
    }

    fn list_events(&self, _: &str, _: &Cancel) -> Result<Vec<EventRecord>, SessionQueryError> {
        Ok(vec![event()])
    }

    fn filter_page(
        &self,
        _: &str,
        _: &[EventFilter],
        _: &PageLimits,
        _: &Cancel,
    ) -> Result<Page, SessionQueryError> {
        let document = Document {
            record: event(),
            text: "hello".into(),
            text_bytes: 5,
            text_start: 0,
        };
        Ok(Page {
            documents: vec![document],
            next_seq: None,
        })
    }

    fn read_event(
        &self,
        session: &str,
        request: &ReadRequest,
        _: &Cancel,
    ) -> Result<Window, SessionQueryError> {
        Err(SessionQueryError::EventNotFound {
            id: session.into(),
            seq: request.seq,
        })
    }
}

fn event() -> EventRecord {
    EventRecord {
        seq: 1,
        event_type: "user/message".into(),
        time: 0,
        surface: Surface::Current,
    }
}
