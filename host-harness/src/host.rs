//! The host: mounts plugins, and is `ctx` for them.

use crate::agents::{AgentSpec, Agents};
use crate::component::LoadedComponent;
use crate::ctx::PluginEnv;
use crate::ctx::logger::{Level, LogSink, TracingSink};
use crate::dispatch::{self, CallRequest};
use crate::engine::{CodeCache, Engine};
use crate::failure::{Failure, codes};
use crate::grants::{ProgramRequest, Programs};
use crate::limits::Limits;
use crate::plugin::{self, Manifest, Plugin};
use crate::plugin_tool;
use crate::registry::{Registration, Restriction, Scope, ToolRegistry};
use crate::services::{LocalWorkspaces, Services, Workspaces};
use crate::tool::{Tool, ToolDefinition, ToolResult};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::RwLock;

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

/// One plugin to mount.
#[derive(Clone, Debug)]
pub struct PluginRow {
    /// Unique identifier of the row.
    pub id: String,
    /// The component.
    pub component: LoadedComponent,
    /// Its configuration; `null` for none.
    pub config: Value,
    /// Its limits.
    pub limits: Limits,
    /// Programs that it may run.
    pub programs: Programs,
}

impl PluginRow {
    /// A row without configuration and grants, with the default limits.
    pub fn new(id: &str, component: LoadedComponent) -> Self {
        Self {
            id: id.into(),
            component,
            config: Value::Null,
            limits: Limits::default(),
            programs: Programs::None,
        }
    }
}

/// How a mounted row stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowState {
    /// Applied.
    Active,
    /// Waiting for these services.
    Pending(Vec<String>),
    /// It could not be applied when its services came back.
    Failed(Failure),
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
    rows: RwLock<BTreeMap<String, Row>>,
}

struct Row {
    spec: PluginRow,
    manifest: Manifest,
    state: State,
}

enum State {
    Active {
        plugin: Arc<Plugin>,
        tools: Option<Registration>,
    },
    Pending(Vec<String>),
    Failed(Failure),
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
            rows: RwLock::default(),
        })))
    }

    /// The compiler, for [`LoadedComponent::new`].
    pub fn engine(&self) -> &Engine {
        &self.0.engine
    }

    /// The services, to provide and withdraw them. Call [`Host::settle`] after a change to have rows follow.
    pub fn services(&self) -> &Services {
        &self.0.services
    }

    /// Mounts a plugin: asks it what it is, waits for nothing, applies its configuration, tells it of the agents there are, and registers its
    /// tools. With a required service missing the row stays pending, see [`Host::settle`].
    ///
    /// # Errors
    /// The identifier is taken, the plugin refuses its configuration, one of its tools cannot be registered, or it traps. Nothing of it is
    /// left then.
    pub async fn mount(&self, row: PluginRow) -> Result<RowState, Failure> {
        let mut rows = self.0.rows.write().await;
        if rows.contains_key(&row.id) {
            return Err(Failure::host(
                "ROW_DUPLICATE",
                format!("there is a row \"{}\" already", row.id),
            ));
        }
        let manifest = self.describe(&row.id, &row.component, &row.limits).await?;
        let state = self.activate(&row, &manifest).await?;
        let shown = state.shown();
        rows.insert(
            row.id.clone(),
            Row {
                spec: row,
                manifest,
                state,
            },
        );
        Ok(shown)
    }

    /// Asks a component what it is, without mounting it. `id` stands for it in messages.
    ///
    /// # Errors
    /// It traps, does not answer in time, or describes itself in no JSON.
    pub async fn describe(
        &self,
        id: &str,
        component: &LoadedComponent,
        limits: &Limits,
    ) -> Result<Manifest, Failure> {
        plugin::describe(
            &self.0.engine,
            component,
            limits,
            self.env(id, limits, Vec::new()),
        )
        .await
    }

    /// Unmounts a plugin: first its tools are removed, then it is disposed; when the future resolves nothing of it is left.
    ///
    /// # Errors
    /// There is no such row, or the plugin reported a failure; it is gone all the same.
    pub async fn unmount(&self, id: &str) -> Result<(), Failure> {
        let row = self.0.rows.write().await.remove(id);
        match row {
            Some(row) => deactivate(row.state).await,
            None => Err(Failure::host(
                "ROW_UNKNOWN",
                format!("there is no row \"{id}\""),
            )),
        }
    }

    /// Mounts a row anew with another configuration. The old instance is wholly gone before the new one begins; when the new configuration is
    /// refused, the old one is mounted again.
    ///
    /// # Errors
    /// There is no such row, or the new configuration was refused.
    pub async fn reload(&self, id: &str, config: Value) -> Result<RowState, Failure> {
        let mut rows = self.0.rows.write().await;
        let Some(mut row) = rows.remove(id) else {
            return Err(Failure::host(
                "ROW_UNKNOWN",
                format!("there is no row \"{id}\""),
            ));
        };
        if let Err(failure) = deactivate(row.state).await {
            self.0
                .log
                .record(id, Level::Warn, &format!("unloading reported: {failure}"));
        }
        let old = std::mem::replace(&mut row.spec.config, config);
        let (state, outcome) = match self.activate(&row.spec, &row.manifest).await {
            Ok(state) => {
                let shown = state.shown();
                (state, Ok(shown))
            }
            Err(failure) => {
                row.spec.config = old;
                let state = self
                    .activate(&row.spec, &row.manifest)
                    .await
                    .unwrap_or_else(State::Failed);
                (state, Err(failure))
            }
        };
        rows.insert(id.into(), Row { state, ..row });
        outcome
    }

    /// Lets rows follow the services: pending ones whose services have come are applied, active ones whose required services have gone are
    /// unloaded and wait.
    pub async fn settle(&self) {
        let mut rows = self.0.rows.write().await;
        for (id, row) in rows.iter_mut() {
            let missing = self.0.services.missing(&row.manifest.required);
            let next = match &row.state {
                State::Active { .. } if !missing.is_empty() => State::Pending(missing),
                State::Pending(known) if !missing.is_empty() && *known != missing => {
                    State::Pending(missing)
                }
                State::Pending(_) | State::Failed(_) if missing.is_empty() => self
                    .activate(&row.spec, &row.manifest)
                    .await
                    .unwrap_or_else(State::Failed),
                _ => continue,
            };
            if let Err(failure) = deactivate(std::mem::replace(&mut row.state, next)).await {
                self.0
                    .log
                    .record(id, Level::Warn, &format!("unloading reported: {failure}"));
            }
        }
    }

    /// How a row stands, with what its plugin says of itself.
    pub async fn row(&self, id: &str) -> Option<(Manifest, RowState)> {
        self.0
            .rows
            .read()
            .await
            .get(id)
            .map(|row| (row.manifest.clone(), row.state.shown()))
    }

    /// Unmounts everything, in no particular order.
    pub async fn shutdown(&self) {
        let rows = std::mem::take(&mut *self.0.rows.write().await);
        futures::future::join_all(rows.into_iter().map(|(id, row)| async move {
            if let Err(failure) = deactivate(row.state).await {
                self.0
                    .log
                    .record(&id, Level::Warn, &format!("unloading reported: {failure}"));
            }
        }))
        .await;
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
            for (row, plugin) in self.active().await {
                self.note(&row, plugin.agent_created(&agent).await);
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
        for (row, plugin) in self.active().await {
            self.note(&row, plugin.agent_disposed(id).await);
        }
    }

    /// Tells the plugins that something was committed to the session of an agent.
    pub async fn session_event(&self, agent: Option<&str>, event_type: &str) {
        for (row, plugin) in self.active().await {
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

    /// Makes one tool call. The future resolves when the tool has settled; to end it early, set the request's signal and go on awaiting.
    pub async fn call(&self, request: CallRequest) -> ToolResult {
        dispatch::dispatch(&self.0.registry, &self.0.agents, request).await
    }

    pub(crate) async fn active(&self) -> Vec<(String, Arc<Plugin>)> {
        let rows = self.0.rows.read().await;
        let plugin = |row: &Row| match &row.state {
            State::Active { plugin, .. } => Some(plugin.clone()),
            _ => None,
        };
        rows.iter()
            .filter_map(|(id, row)| Some((id.clone(), plugin(row)?)))
            .collect()
    }

    pub(crate) fn log_warning(&self, row: &str, message: &str) {
        self.0.log.record(row, Level::Warn, message);
    }

    fn note(&self, row: &str, outcome: Result<(), Failure>) {
        if let Err(failure) = outcome {
            self.0.log.record(
                row,
                Level::Warn,
                &format!("an event was not delivered: {failure}"),
            );
        }
    }

    fn env(&self, id: &str, limits: &Limits, programs: Vec<ProgramRequest>) -> Arc<PluginEnv> {
        let inner = &self.0;
        let (log, registry, services) = (
            inner.log.clone(),
            inner.registry.clone(),
            inner.services.clone(),
        );
        Arc::new(PluginEnv::new(
            id,
            programs,
            log,
            registry,
            services,
            limits.clone(),
        ))
    }

    async fn activate(&self, row: &PluginRow, manifest: &Manifest) -> Result<State, Failure> {
        let missing = self.0.services.missing(&manifest.required);
        if !missing.is_empty() {
            let note = format!("waiting for {}", missing.join(", "));
            self.0.log.record(&row.id, Level::Warn, &note);
            return Ok(State::Pending(missing));
        }
        let env = self.env(&row.id, &row.limits, row.programs.under(&row.config));
        let plugin = Arc::new(
            Plugin::mount(
                &self.0.engine,
                &row.component,
                row.limits.clone(),
                env,
                row.config.clone(),
            )
            .await?,
        );
        let tools = async {
            for agent in self.0.agents.all() {
                plugin.agent_created(&agent).await?;
            }
            if !row.component.provides_tools() {
                return Ok(None);
            }
            let tools = plugin_tool::tools(&plugin).await?;
            self.0.registry.register(Scope::Global, tools).map(Some)
        };
        match tools.await {
            Ok(tools) => Ok(State::Active { plugin, tools }),
            Err(failure) => {
                // What the plugin reports while it is taken down again says less than why.
                let _ = plugin.dispose().await;
                Err(failure)
            }
        }
    }
}

impl State {
    fn shown(&self) -> RowState {
        match self {
            Self::Active { .. } => RowState::Active,
            Self::Pending(missing) => RowState::Pending(missing.clone()),
            Self::Failed(failure) => RowState::Failed(failure.clone()),
        }
    }
}

async fn deactivate(state: State) -> Result<(), Failure> {
    match state {
        State::Active { plugin, tools } => {
            drop(tools);
            plugin.dispose().await
        }
        State::Pending(_) | State::Failed(_) => Ok(()),
    }
}

/// The failure for a plugin that lacks an interface.
pub(crate) fn lacks(plugin: &str, interface: &str) -> Failure {
    Failure::host(
        codes::PLUGIN_LACKS_EXPORT,
        format!("plugin \"{plugin}\" does not export {interface}"),
    )
}
