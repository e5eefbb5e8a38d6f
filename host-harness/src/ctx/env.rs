//! What surrounds one mounted plugin, across its instances.

use crate::abort::AbortController;
use crate::agents::AgentSpec;
use crate::ctx::logger::{Level, LogSink, Logger};
use crate::ctx::workspace::Directory;
use crate::grants::{self, ProgramRequest};
use crate::guards::MemoryGauge;
use crate::limits::Limits;
use crate::plugin::TrapRecord;
use crate::registry::ToolRegistry;
use crate::services::Services;
use dsh_services::fs::FileSystem;
use dsh_services::subprocess::{AuthorizedPaths, GrantedSubprocess, Subprocess};
use std::sync::{Arc, Mutex};

/// The environment of one mounted plugin.
pub(crate) struct PluginEnv {
    /// The identifier of its row.
    pub(crate) plugin: String,
    pub(crate) logger: Logger,
    pub(crate) registry: Arc<ToolRegistry>,
    pub(crate) services: Arc<Services>,
    pub(crate) limits: Limits,
    /// Of the instance that there is now.
    pub(crate) memory: MemoryGauge,
    pub(crate) traps: Mutex<TrapRecord>,
    /// Set when the plugin is being unloaded.
    pub(crate) disposing: AbortController,
    /// Files that running calls may have searched.
    pub(crate) authorized: AuthorizedPaths,
    programs: Vec<ProgramRequest>,
    granted: tokio::sync::Mutex<Option<Granted>>,
}

/// A service with the plugin's grants in front of it.
struct Granted {
    of: Arc<dyn Subprocess>,
    service: Arc<GrantedSubprocess>,
}

impl PluginEnv {
    pub(crate) fn new(
        plugin: &str,
        programs: Vec<ProgramRequest>,
        sink: Arc<dyn LogSink>,
        registry: Arc<ToolRegistry>,
        services: Arc<Services>,
        limits: Limits,
    ) -> Self {
        Self {
            plugin: plugin.into(),
            logger: Logger::new(plugin, sink),
            registry,
            services,
            limits,
            memory: MemoryGauge::default(),
            traps: Mutex::default(),
            disposing: AbortController::new(),
            authorized: AuthorizedPaths::default(),
            programs,
            granted: tokio::sync::Mutex::default(),
        }
    }

    /// The file service. It is confined to the directories of the agents.
    pub(crate) fn file_system(&self) -> Option<Arc<dyn FileSystem>> {
        self.services.file_system()
    }

    /// The subprocess service, limited to what the plugin was granted.
    pub(crate) async fn subprocess(&self) -> Option<Arc<GrantedSubprocess>> {
        let service = self.services.subprocess()?;
        let mut granted = self.granted.lock().await;
        if let Some(present) = &*granted
            && Arc::ptr_eq(&present.of, &service)
        {
            return Some(present.service.clone());
        }
        let roots = self.services.agent_roots();
        let grants = grants::resolve(&*service, &self.programs, &self.authorized, roots).await;
        let fresh = Arc::new(GrantedSubprocess::new(service.clone(), grants));
        let now = Granted {
            of: service,
            service: fresh.clone(),
        };
        if let Some(old) = granted.replace(now) {
            self.end(&old.service).await;
        }
        Some(fresh)
    }

    /// Ends what an instance left running, and waits for it.
    pub(crate) async fn end_processes(&self) {
        let granted = self.granted.lock().await.take();
        if let Some(granted) = granted {
            self.end(&granted.service).await;
        }
    }

    async fn end(&self, processes: &GrantedSubprocess) {
        if let Err(error) = processes.dispose().await {
            self.logger.log(Level::Warn, &error.to_string());
        }
    }

    /// The directory of an agent: that of its session, else that of the host process.
    pub(crate) fn directory_of(&self, agent: &AgentSpec) -> Directory {
        self.services.directory(agent.cwd.as_deref())
    }
}
