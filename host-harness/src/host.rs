//! The host: mounts plugins, and is `ctx` for them.

use crate::agents::{AgentSpec, Agents};
use crate::ctx::logger::{Level, LogSink, TracingSink};
use crate::dispatch::{self, CallRequest};
use crate::engine::{CodeCache, Engine};
use crate::failure::{Failure, codes};
use crate::plugin::Plugin;
use crate::registry::{Registration, Restriction, Scope, ToolRegistry};
use crate::rows::Rows;
use crate::services::{LocalWorkspaces, Services, Workspaces};
use crate::tool::{CallCard, Tool, ToolDefinition, ToolResult};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// How to build a [`Host`].
pub struct HostOptions {
    /// Where compiled code is kept.
    pub cache: CodeCache,
    /// Who makes the directories of agents.
    pub workspaces: Arc<dyn Workspaces>,
    /// Who takes the log records of plugins.
    pub log: Arc<dyn LogSink>,
}

impl Default for HostOptions {
    fn default() -> Self {
        Self {
            cache: CodeCache::default(),
            workspaces: Arc::new(LocalWorkspaces),
            log: Arc::new(TracingSink),
        }
    }
}

/// The reference host of `dsh:ctx`. Must be used inside a tokio runtime with the time driver. Cheap to clone.
#[derive(Clone)]
pub struct Host(Arc<Inner>);

struct Inner {
    engine: Engine,
    services: Arc<Services>,
    registry: Arc<ToolRegistry>,
    agents: Agents,
    log: Arc<dyn LogSink>,
    rows: Rows,
}

impl Host {
    /// A host without plugins, agents and services.
    ///
    /// # Errors
    /// wasmtime does not support this machine.
    pub fn new(options: HostOptions) -> wasmtime::Result<Self> {
        Ok(Self(Arc::new(Inner {
            engine: Engine::new(&options.cache)?,
            services: Arc::new(Services::new(options.workspaces)),
            registry: Arc::default(),
            agents: Agents::default(),
            log: options.log,
            rows: Rows::default(),
        })))
    }

    /// The compiler, for [`LoadedComponent::new`](crate::LoadedComponent::new).
    pub fn engine(&self) -> &Engine {
        &self.0.engine
    }

    /// The services, to provide and withdraw them. Call [`Host::settle`] after a change to have rows follow.
    pub fn services(&self) -> &Services {
        &self.0.services
    }

    /// Announces an agent to the plugins. A failure of one plugin is logged and keeps the agent.
    ///
    /// # Errors
    /// There is an agent of this identifier.
    pub async fn create_agent(&self, spec: AgentSpec) -> Result<(), Failure> {
        let id = spec.id.clone();
        if !self.0.agents.add(spec) {
            return Err(Failure::host(
                "AGENT_DUPLICATE",
                format!("there is an agent \"{id}\" already"),
            ));
        }
        if let Some(agent) = self.0.agents.get(&id) {
            if let Some(cwd) = &agent.spec.cwd {
                self.0.services.add_root(Path::new(cwd));
            }
            for (row, plugin) in self.active() {
                self.announce(&row, &plugin, &agent).await;
            }
        }
        Ok(())
    }

    /// Takes an agent away, with its own tools and restrictions. Harmless when repeated.
    pub async fn dispose_agent(&self, id: &str) {
        let gone = self.0.agents.remove(id);
        if let Some(cwd) = gone.as_ref().and_then(|agent| agent.spec.cwd.as_deref()) {
            self.0.services.remove_root(Path::new(cwd));
        }
        self.0.registry.forget_agent(id);
        for (row, plugin) in self.active() {
            self.note(&row, plugin.agent_disposed(id).await);
        }
    }

    /// Tells the plugins that something was committed to the session of an agent.
    pub async fn session_event(&self, agent: Option<&str>, event_type: &str) {
        for (row, plugin) in self.active() {
            self.note(&row, plugin.session_event(agent, event_type).await);
        }
    }

    /// Sets the sequence number of the last `step/start` in the live log of an agent's session.
    pub fn set_current_step(&self, agent: &str, step: Option<u64>) {
        if let Some(agent) = self.0.agents.get(agent) {
            agent.set_current_step(step);
        }
    }

    /// Registers a tool of the embedder's own. It goes when the registration is dropped.
    ///
    /// # Errors
    /// The name is taken in this scope, or the definition is unfit.
    pub fn register_tool(
        &self,
        scope: Scope,
        definition: ToolDefinition,
        tool: Arc<dyn Tool>,
    ) -> Result<Registration, Failure> {
        self.0.registry.register(scope, vec![(definition, tool)])
    }

    /// Narrows what an agent sees of the global tools.
    pub fn restrict_tools(&self, agent: &str, restriction: Restriction) {
        self.0.registry.restrict(agent, restriction);
    }

    /// The tools that an agent sees, ordered by name; without an agent, the global ones.
    pub fn tools(&self, agent: Option<&str>) -> Vec<Arc<ToolDefinition>> {
        self.0.registry.definitions(agent)
    }

    /// How a pending call is shown to people; none when there is no such tool, or it has no card for these arguments.
    pub async fn present_call(&self, name: &str, arguments: &Value) -> Option<CallCard> {
        let found = self.0.registry.effective(name, None)?;
        found.tool.present_call(name, arguments).await
    }

    /// Makes one tool call. The future resolves when the tool has settled; to end it early, set the request's signal and go on awaiting.
    pub async fn call(&self, request: CallRequest) -> ToolResult {
        dispatch::dispatch(&self.0.registry, &self.0.agents, request).await
    }

    pub(crate) fn active(&self) -> Vec<(String, Arc<Plugin>)> {
        self.0.rows.active()
    }

    pub(crate) fn rows(&self) -> &Rows {
        &self.0.rows
    }

    pub(crate) fn agents(&self) -> &Agents {
        &self.0.agents
    }

    pub(crate) fn registry(&self) -> &Arc<ToolRegistry> {
        &self.0.registry
    }

    pub(crate) fn shared_services(&self) -> &Arc<Services> {
        &self.0.services
    }

    pub(crate) fn log(&self) -> &Arc<dyn LogSink> {
        &self.0.log
    }

    pub(crate) fn log_warning(&self, row: &str, message: &str) {
        self.0.log.record(row, Level::Warn, message);
    }

    pub(crate) fn note(&self, row: &str, outcome: Result<(), Failure>) {
        if let Err(failure) = outcome {
            self.log_warning(row, &format!("an event was not delivered: {failure}"));
        }
    }
}

/// The failure for a plugin that lacks an interface.
pub(crate) fn lacks(plugin: &str, interface: &str) -> Failure {
    Failure::host(
        codes::PLUGIN_LACKS_EXPORT,
        format!("plugin \"{plugin}\" does not export {interface}"),
    )
}
