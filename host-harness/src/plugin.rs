//! A mounted plugin: its instance, and what happens when that instance traps.

mod describe;
mod traps;

pub use describe::Manifest;
pub(crate) use describe::describe;
pub(crate) use traps::TrapRecord;
pub use traps::{TRAP_LIMIT, TRAP_PERIOD};

use crate::abort::{AbortReason, AbortSignal};
use crate::agents::Agent;
use crate::component::{Exports, LoadedComponent};
use crate::ctx::PluginEnv;
use crate::engine::Engine;
use crate::failure::{Failure, codes};
use crate::instance::{Access, End, Instance};
use crate::limits::Limits;
use futures::future::BoxFuture;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Instant;
use thiserror::Error;
use tokio::sync::{Mutex, Semaphore};

/// A plugin that has been applied, until it is disposed.
pub(crate) struct Plugin {
    engine: Engine,
    component: LoadedComponent,
    limits: Limits,
    env: Arc<PluginEnv>,
    config: Value,
    slot: Mutex<Slot>,
    calls: Arc<Semaphore>,
    /// The agents that the plugin was told of, to tell a fresh instance again.
    agents: std::sync::Mutex<BTreeMap<String, Arc<Agent>>>,
}

enum Slot {
    Running(Arc<Instance>),
    /// The last instance trapped; the next call starts another.
    Stopped,
    /// Trapped too often, or could not be started again; the text says which.
    Failed(String),
    Disposed,
}

/// Why a call into a plugin has no answer.
#[derive(Debug, Error)]
pub(crate) enum CallError {
    /// The signal was set before the instance had a place for the call: the plugin knows nothing of it.
    #[error("the call was aborted")]
    Aborted(AbortReason),
    /// Anything else.
    #[error(transparent)]
    Failed(#[from] Failure),
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Aborted(reason) => reason.into_failure(),
            CallError::Failed(failure) => failure,
        }
    }
}

impl Plugin {
    /// Instantiates the component and applies the configuration.
    pub(crate) async fn mount(
        engine: &Engine,
        component: &LoadedComponent,
        limits: Limits,
        env: Arc<PluginEnv>,
        config: Value,
    ) -> Result<Self, Failure> {
        let instance = start(engine, component, &limits, &env, &config).await?;
        Ok(Self {
            engine: engine.clone(),
            component: component.clone(),
            calls: Arc::new(Semaphore::new(limits.concurrent_calls)),
            limits,
            env,
            config,
            slot: Mutex::new(Slot::Running(Arc::new(instance))),
            agents: Default::default(),
        })
    }

    /// The identifier of its row.
    pub(crate) fn id(&self) -> &str {
        &self.env.plugin
    }

    /// Its limits.
    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Linear memory of its instance, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.env.memory.bytes()
    }

    /// Resolves when the plugin is being unloaded.
    pub(crate) async fn disposing(&self) -> AbortReason {
        self.env.disposing.signal().wait().await
    }

    /// The component behind it.
    pub(crate) fn component(&self) -> &LoadedComponent {
        &self.component
    }

    /// Runs `work` in the instance, or in a fresh one when the last one trapped. A call that begins after a trap and finds the new instance
    /// trapping too is not repeated. Without a signal it is a question of the host's own, which has to be answered within [`Limits::apply`].
    ///
    /// # Errors
    /// The signal was set before there was a place for the call, or the instance did not live to answer.
    pub(crate) async fn call<R, F>(
        &self,
        signal: Option<&AbortSignal>,
        work: F,
    ) -> Result<R, CallError>
    where
        R: Send + 'static,
        F: for<'a> FnOnce(&'a Access, &'a Exports) -> BoxFuture<'a, wasmtime::Result<R>>
            + Send
            + 'static,
    {
        let aborted = async || match signal {
            Some(signal) => signal.wait().await,
            None => std::future::pending().await,
        };
        let place = async {
            let permit = self.calls.acquire().await;
            let permit = permit.map_err(|_| End::Closed.failure(&self.env.plugin))?;
            Ok::<_, Failure>((permit, self.instance().await?))
        };
        let (_permit, instance) = tokio::select! {
            biased;
            place = place => place?,
            reason = aborted() => return Err(CallError::Aborted(reason)),
        };
        let overdue = async {
            if signal.is_none() {
                tokio::time::sleep(self.limits.apply).await;
                return unanswered(&self.limits);
            }
            let reason = aborted().await;
            tokio::time::sleep(self.limits.abort_grace).await;
            if reason == AbortReason::Disposed {
                // The unloading has bounds of its own, and must not be cut short by a call that it ends anyway.
                std::future::pending::<()>().await;
            }
            let grace = self.limits.abort_grace.as_millis();
            End::Trapped(format!(
                "a call ignored its abort signal for more than {grace} ms"
            ))
        };
        let end = tokio::select! {
            biased;
            result = instance.run(work) => match result {
                Ok(result) => return Ok(result),
                Err(end) => end,
            },
            end = overdue => {
                instance.kill(end);
                instance.ended().await
            }
        };
        self.note_end(&instance, &end).await;
        Err(end.failure(&self.env.plugin).into())
    }

    /// The running instance, started anew if need be.
    async fn instance(&self) -> Result<Arc<Instance>, Failure> {
        let mut slot = self.slot.lock().await;
        if let Slot::Running(instance) = &*slot {
            match instance.settled().await {
                None => return Ok(instance.clone()),
                Some(End::Closed) => *slot = Slot::Disposed,
                Some(End::Trapped(_)) => self.after_trap(&mut slot),
            }
        }
        match &*slot {
            Slot::Running(instance) => return Ok(instance.clone()),
            Slot::Disposed => return Err(End::Closed.failure(&self.env.plugin)),
            Slot::Failed(reason) => {
                return Err(Failure::host(codes::PLUGIN_FAILED, reason.clone()));
            }
            Slot::Stopped => {}
        }
        match self.restart().await {
            Ok(instance) => {
                let instance = Arc::new(instance);
                *slot = Slot::Running(instance.clone());
                Ok(instance)
            }
            Err(failure) => {
                self.after_trap(&mut slot);
                Err(failure)
            }
        }
    }

    async fn restart(&self) -> Result<Instance, Failure> {
        let instance = start(
            &self.engine,
            &self.component,
            &self.limits,
            &self.env,
            &self.config,
        )
        .await?;
        let agents: Vec<_> = {
            let known = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
            known.values().cloned().collect()
        };
        for agent in agents {
            announce(&instance, &self.env, &self.limits, &agent)
                .await
                .map_err(|end| end.failure(&self.env.plugin))?;
        }
        Ok(instance)
    }

    async fn note_end(&self, instance: &Arc<Instance>, end: &End) {
        let mut slot = self.slot.lock().await;
        // Several calls see the same end; it counts once, for the instance that is in the slot.
        let current = matches!(&*slot, Slot::Running(running) if Arc::ptr_eq(running, instance));
        if current && matches!(end, End::Trapped(_)) {
            self.after_trap(&mut slot);
        }
    }

    fn after_trap(&self, slot: &mut Slot) {
        let mut traps = self
            .env
            .traps
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *slot = if traps.note(Instant::now()) {
            Slot::Failed(format!(
                "plugin \"{}\" is switched off: it stopped {TRAP_LIMIT} times within {} s",
                self.env.plugin,
                TRAP_PERIOD.as_secs()
            ))
        } else {
            Slot::Stopped
        };
    }

    /// Tells the plugin of an agent, if it wants to know. Returns when the plugin has taken note, so that a following query sees the agent.
    pub(crate) async fn agent_created(&self, agent: &Arc<Agent>) -> Result<(), Failure> {
        if !self.component.follows_agents() {
            return Ok(());
        }
        let instance = self.instance().await?;
        let added = {
            let mut known = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(agent.spec.id.clone(), agent.clone())
        };
        if added.is_some_and(|old| Arc::ptr_eq(&old, agent)) {
            return Ok(());
        }
        if let Err(end) = announce(&instance, &self.env, &self.limits, agent).await {
            self.note_end(&instance, &end).await;
            return Err(end.failure(&self.env.plugin));
        }
        Ok(())
    }

    /// The agents that the plugin was told of.
    pub(crate) fn known_agents(&self) -> Vec<String> {
        let known = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        known.keys().cloned().collect()
    }

    /// Tells the plugin that an agent is gone.
    pub(crate) async fn agent_disposed(&self, agent: &str) -> Result<(), Failure> {
        let known = self
            .agents
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(agent)
            .is_some();
        if !known {
            return Ok(());
        }
        let agent = agent.to_owned();
        self.call(None, move |access, exports| {
            Box::pin(async move {
                match &exports.agents {
                    Some(agents) => agents.call_agent_disposed(access, agent).await,
                    None => Ok(()),
                }
            })
        })
        .await?;
        Ok(())
    }

    /// Tells the plugin of an event in a session.
    pub(crate) async fn session_event(
        &self,
        agent: Option<&str>,
        event_type: &str,
    ) -> Result<(), Failure> {
        if !self.component.follows_agents() {
            return Ok(());
        }
        let (agent, event_type) = (agent.map(String::from), event_type.to_owned());
        self.call(None, move |access, exports| {
            Box::pin(async move {
                match &exports.agents {
                    Some(agents) => agents.call_session_event(access, agent, event_type).await,
                    None => Ok(()),
                }
            })
        })
        .await?;
        Ok(())
    }

    /// Unmounts the plugin and returns when nothing of it is left: calls ended, instance dropped, processes gone.
    pub(crate) async fn dispose(&self) -> Result<(), Failure> {
        let slot = std::mem::replace(&mut *self.slot.lock().await, Slot::Disposed);
        self.calls.close();
        self.env.disposing.abort(AbortReason::Disposed);
        let Slot::Running(instance) = slot else {
            return Ok(());
        };
        if instance.settled().await.is_some() {
            return Ok(());
        }
        let disposing =
            instance.run(|access, exports| Box::pin(exports.lifecycle.call_dispose(access)));
        let outcome = match tokio::time::timeout(self.limits.dispose, disposing).await {
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(Ok(Err(failure))) => Err(failure.into()),
            Ok(Err(end)) => Err(end.failure(&self.env.plugin)),
            Err(_) => Err(Failure::host(
                codes::PLUGIN_UNRESPONSIVE,
                format!(
                    "plugin \"{}\" did not unload within {} ms",
                    self.env.plugin,
                    self.limits.dispose.as_millis()
                ),
            )),
        };
        // The calls in flight have been told; those that heed it get to clean up.
        tokio::select! {
            () = instance.idle() => {}
            _ = instance.ended() => {}
            () = tokio::time::sleep(self.limits.abort_grace) => {}
        }
        instance.kill(End::Closed);
        instance.ended().await;
        outcome
    }
}

/// A fresh instance with the configuration applied.
async fn start(
    engine: &Engine,
    component: &LoadedComponent,
    limits: &Limits,
    env: &Arc<PluginEnv>,
    config: &Value,
) -> Result<Instance, Failure> {
    let instance = Instance::start(engine, component, limits, env.clone()).await?;
    let config = config.to_string();
    let applying =
        instance.run(move |access, exports| Box::pin(exports.lifecycle.call_apply(access, config)));
    let outcome = match tokio::time::timeout(limits.apply, applying).await {
        Ok(Ok(Ok(()))) => return Ok(instance),
        Ok(Ok(Err(failure))) => failure.into(),
        Ok(Err(end)) => end.failure(&env.plugin),
        Err(_) => Failure::host(
            codes::PLUGIN_UNRESPONSIVE,
            format!(
                "plugin \"{}\" did not load within {} ms",
                env.plugin,
                limits.apply.as_millis()
            ),
        ),
    };
    instance.kill(End::Closed);
    instance.ended().await;
    Err(outcome)
}

async fn announce(
    instance: &Instance,
    env: &PluginEnv,
    limits: &Limits,
    agent: &Agent,
) -> Result<(), End> {
    let (id, directory) = (agent.spec.id.clone(), env.directory_of(&agent.spec));
    let telling = instance.run(move |access, exports| {
        Box::pin(async move {
            match &exports.agents {
                Some(agents) => {
                    let directory =
                        access.with(|mut access| access.data_mut().table.push(directory))?;
                    agents.call_agent_created(access, id, directory).await
                }
                None => Ok(()),
            }
        })
    });
    match tokio::time::timeout(limits.apply, telling).await {
        Ok(told) => told,
        Err(_) => {
            instance.kill(unanswered(limits));
            Err(instance.ended().await)
        }
    }
}

/// The end of an instance that leaves a question of the host's own without an answer.
fn unanswered(limits: &Limits) -> End {
    let patience = limits.apply.as_millis();
    End::Trapped(format!("it did not answer the host within {patience} ms"))
}
