//! Rows: plugins as they are mounted, reloaded, and unmounted. The changes of one row happen one after another. Rows wait neither for each other
//! nor, while a plugin is slow to load, do calls, queries and events for other rows.

mod table;

pub(crate) use table::Rows;

use crate::agents::Agent;
use crate::component::LoadedComponent;
use crate::ctx::PluginEnv;
use crate::failure::{Failure, codes};
use crate::grants::{ProgramRequest, Programs};
use crate::host::Host;
use crate::limits::Limits;
use crate::plugin::{self, Manifest, Plugin};
use crate::plugin_tool;
use crate::registry::Scope;
use serde_json::Value;
use std::sync::Arc;
use table::{Change, Standing, State};

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

impl Host {
    /// Mounts a plugin: asks it what it is, waits for nothing, applies its configuration, tells it of the agents there are, and registers its
    /// tools. With a required service missing the row stays pending, see [`Host::settle`].
    ///
    /// # Errors
    /// The identifier is taken, the plugin refuses its configuration, one of its tools cannot be registered, or it traps. Nothing of it is
    /// left then.
    pub async fn mount(&self, row: PluginRow) -> Result<RowState, Failure> {
        let mounting = self.rows().mountings.begin(&row.id);
        let id = row.id.clone();
        tokio::select! {
            biased;
            mounted = self.mount_row(row) => mounted,
            () = mounting.stopped() => Err(Failure::host(
                codes::PLUGIN_DISPOSED,
                format!("row \"{id}\" was unmounted while it was being mounted"),
            )),
        }
    }

    async fn mount_row(&self, row: PluginRow) -> Result<RowState, Failure> {
        let change = self.rows().reserve(&row.id).await?;
        let manifest = self.describe(&row.id, &row.component, &row.limits).await?;
        let state = self.activate(&row, &manifest).await?;
        let standing = Standing {
            spec: row,
            manifest,
            state,
        };
        Ok(self.finish(change, standing).await)
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
        let env = self.env(id, limits, Vec::new());
        plugin::describe(self.engine(), component, limits, env).await
    }

    /// Unmounts a plugin: first its tools are removed, then it is disposed; when the future resolves nothing of it is left. A mount under way is
    /// given up.
    ///
    /// # Errors
    /// There is no such row, or the plugin reported a failure; it is gone all the same.
    pub async fn unmount(&self, id: &str) -> Result<(), Failure> {
        let given_up = self.rows().mountings.stop(Some(id));
        match self.rows().change(id).await {
            Ok((_change, standing)) => standing.state.deactivate().await,
            Err(_) if given_up => Ok(()),
            Err(unknown) => Err(unknown),
        }
    }

    /// Mounts a row anew with another configuration. The old instance is wholly gone before the new one begins; when the new configuration is
    /// refused, the old one is mounted again.
    ///
    /// # Errors
    /// There is no such row, or the new configuration was refused.
    pub async fn reload(&self, id: &str, config: Value) -> Result<RowState, Failure> {
        let (change, mut standing) = self.rows().change(id).await?;
        self.unload(id, standing.state).await;
        let old = std::mem::replace(&mut standing.spec.config, config);
        let (state, refused) = match self.activate(&standing.spec, &standing.manifest).await {
            Ok(state) => (state, None),
            Err(failure) => {
                standing.spec.config = old;
                let state = self.activate(&standing.spec, &standing.manifest).await;
                (state.unwrap_or_else(State::Failed), Some(failure))
            }
        };
        let shown = self.finish(change, Standing { state, ..standing }).await;
        refused.map_or(Ok(shown), Err)
    }

    /// Lets rows follow the services: pending ones whose services have come are applied, active ones whose required services have gone are
    /// unloaded and wait, and those of which one was replaced are applied anew.
    pub async fn settle(&self) {
        let settling = self.rows().ids().into_iter().map(async |id| {
            let out_of_step = |standing: &Standing| {
                let missing = self.services().missing(&standing.manifest.required);
                match &standing.state {
                    State::Active { on, .. } => {
                        *on != self.services().versions(&standing.manifest.required)
                    }
                    State::Pending(known) => *known != missing,
                    State::Failed(_) => missing.is_empty(),
                }
            };
            if let Some((change, standing)) = self.rows().change_if(&id, out_of_step).await {
                self.unload(&id, standing.state).await;
                let state = self.activate(&standing.spec, &standing.manifest).await;
                let state = state.unwrap_or_else(State::Failed);
                self.finish(change, Standing { state, ..standing }).await;
            }
        });
        futures::future::join_all(settling).await;
    }

    /// How a row stands, with what its plugin says of itself. Nothing while the row is being mounted, reloaded or unmounted.
    pub async fn row(&self, id: &str) -> Option<(Manifest, RowState)> {
        let shown = |standing: &Standing| (standing.manifest.clone(), standing.state.shown());
        self.rows().find(id)?.look(shown)
    }

    /// Linear memory of a row's instance in bytes, zero while it has none. It never shrinks while the instance lives, so this is the instance's
    /// peak as well. Nothing for a row that is not applied.
    pub fn memory(&self, id: &str) -> Option<usize> {
        let active = |standing: &Standing| match &standing.state {
            State::Active { plugin, .. } => Some(plugin.memory()),
            _ => None,
        };
        self.rows().find(id)?.look(active)?
    }

    /// Unmounts everything, in no particular order.
    pub async fn shutdown(&self) {
        self.rows().mountings.stop(None);
        let unmounting = self.rows().ids().into_iter().map(async |id| {
            if let Ok((_change, standing)) = self.rows().change(&id).await {
                self.unload(&id, standing.state).await;
            }
        });
        futures::future::join_all(unmounting).await;
    }

    async fn unload(&self, id: &str, state: State) {
        if let Err(failure) = state.deactivate().await {
            self.log_warning(id, &format!("unloading reported: {failure}"));
        }
    }

    /// Shows the row, and tells its plugin what came to pass among the agents while it did not show.
    async fn finish(&self, change: Change<'_>, standing: Standing) -> RowState {
        let (id, shown) = (standing.spec.id.clone(), standing.state.shown());
        let plugin = match &standing.state {
            State::Active { plugin, .. } => Some(plugin.clone()),
            _ => None,
        };
        change.finish(standing);
        if let Some(plugin) = plugin {
            for agent in self.agents().all() {
                self.announce(&id, &plugin, &agent).await;
            }
            for agent in plugin.known_agents() {
                if self.agents().get(&agent).is_none() {
                    self.note(&id, plugin.agent_disposed(&agent).await);
                }
            }
        }
        shown
    }

    /// Tells a plugin of an agent, unless it knows. An agent that went meanwhile is taken back.
    pub(crate) async fn announce(&self, row: &str, plugin: &Plugin, agent: &Arc<Agent>) {
        self.note(row, plugin.agent_created(agent).await);
        let id = &agent.spec.id;
        if self.agents().get(id).is_none() {
            self.note(row, plugin.agent_disposed(id).await);
        }
    }

    fn env(&self, id: &str, limits: &Limits, programs: Vec<ProgramRequest>) -> Arc<PluginEnv> {
        Arc::new(PluginEnv::new(
            id,
            programs,
            self.log().clone(),
            self.registry().clone(),
            self.shared_services().clone(),
            limits.clone(),
        ))
    }

    async fn activate(&self, row: &PluginRow, manifest: &Manifest) -> Result<State, Failure> {
        let missing = self.services().missing(&manifest.required);
        if !missing.is_empty() {
            self.log_warning(&row.id, &format!("waiting for {}", missing.join(", ")));
            return Ok(State::Pending(missing));
        }
        let on = self.services().versions(&manifest.required);
        let programs = row.programs.under(&row.config);
        let limits = row.limits.covering(&programs);
        let env = self.env(&row.id, &limits, programs);
        let config = row.config.clone();
        let plugin =
            Arc::new(Plugin::mount(self.engine(), &row.component, limits, env, config).await?);
        let tools = async {
            for agent in self.agents().all() {
                plugin.agent_created(&agent).await?;
            }
            if !row.component.provides_tools() {
                return Ok(None);
            }
            let tools = plugin_tool::tools(&plugin).await?;
            self.registry().register(Scope::Global, tools).map(Some)
        };
        match tools.await {
            Ok(tools) => Ok(State::Active { plugin, tools, on }),
            Err(failure) => {
                // What the plugin reports while it is taken down again says less than why.
                let _ = plugin.dispose().await;
                Err(failure)
            }
        }
    }
}
