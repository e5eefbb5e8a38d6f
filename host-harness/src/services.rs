//! The services of one host. They may come and go while plugins are mounted.

use crate::ctx::workspace::Directory;
use dsh_services::fs::{FileSystem, LocalFileSystem};
use dsh_services::session_query::SessionQuery;
use dsh_services::spill::SpillGuard;
use dsh_services::subprocess::{SharedRoots, Subprocess};
use dsh_services::workspace::LocalDirectory;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

/// Names of services as DSH and plugin manifests know them.
pub mod names {
    /// `ctx.tools`. The host has it itself.
    pub const TOOLS: &str = "tools";
    /// `ctx.systemPrompt`. The host has it itself.
    pub const SYSTEM_PROMPT: &str = "systemPrompt";
    /// `ctx.fs`.
    pub const FS: &str = "fs";
    /// `ctx.subprocess`.
    pub const SUBPROCESS: &str = "subprocess";
    /// `ctx.sessionQuery`.
    pub const SESSION_QUERY: &str = "sessionQuery";
}

/// Makes the capability for an agent's directory.
pub trait Workspaces: Send + Sync {
    /// The directory at this absolute path, which need not exist.
    fn directory(&self, path: &str) -> Directory;
}

/// The workspaces of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalWorkspaces;

impl Workspaces for LocalWorkspaces {
    fn directory(&self, path: &str) -> Directory {
        Arc::new(LocalDirectory::new(path))
    }
}

#[derive(Default)]
struct Present {
    fs: Option<Arc<dyn FileSystem>>,
    subprocess: Option<Arc<dyn Subprocess>>,
    session_query: Option<Arc<dyn SessionQuery>>,
    spill: Option<Arc<SpillGuard>>,
    /// The local file service again, to grant it the directories of agents.
    confined: Option<LocalFileSystem>,
    /// How often each of the first three was set.
    versions: [u64; 3],
}

/// Which services there are now.
pub struct Services {
    present: RwLock<Present>,
    workspaces: Arc<dyn Workspaces>,
    /// Directories of the agents that there are.
    roots: SharedRoots,
}

impl Services {
    /// No service at all besides the workspaces.
    pub fn new(workspaces: Arc<dyn Workspaces>) -> Self {
        Self {
            present: RwLock::default(),
            workspaces,
            roots: SharedRoots::default(),
        }
    }

    /// Provides `ctx.fs`, or withdraws it.
    pub fn set_file_system(&self, service: Option<Arc<dyn FileSystem>>) {
        self.change(|present| {
            present.fs = service;
            present.confined = None;
            present.versions[0] += 1;
        });
    }

    /// Provides `ctx.fs` from this machine. It is granted the directory of every agent, for as long as
    /// there is an agent that works there.
    pub fn set_local_file_system(&self, service: LocalFileSystem) {
        for root in self.roots.now() {
            grant(&service, &root);
        }
        self.change(|present| {
            present.fs = Some(Arc::new(service.clone()));
            present.confined = Some(service);
            present.versions[0] += 1;
        });
    }

    /// Provides `ctx.subprocess`, or withdraws it.
    pub fn set_subprocess(&self, service: Option<Arc<dyn Subprocess>>) {
        self.change(|present| {
            present.subprocess = service;
            present.versions[1] += 1;
        });
    }

    /// Provides `ctx.sessionQuery`, or withdraws it.
    pub fn set_session_query(&self, service: Option<Arc<dyn SessionQuery>>) {
        self.change(|present| {
            present.session_query = service;
            present.versions[2] += 1;
        });
    }

    /// Provides the judgement of spill files, or withdraws it. Without it no spill file may be searched.
    pub fn set_spill_guard(&self, guard: Option<Arc<SpillGuard>>) {
        self.change(|present| present.spill = guard);
    }

    /// The file service, if there is one.
    pub fn file_system(&self) -> Option<Arc<dyn FileSystem>> {
        self.read(|present| present.fs.clone())
    }

    /// The subprocess service, if there is one.
    pub fn subprocess(&self) -> Option<Arc<dyn Subprocess>> {
        self.read(|present| present.subprocess.clone())
    }

    /// The session query service, if there is one.
    pub fn session_query(&self) -> Option<Arc<dyn SessionQuery>> {
        self.read(|present| present.session_query.clone())
    }

    pub(crate) fn spill_guard(&self) -> Option<Arc<SpillGuard>> {
        self.read(|present| present.spill.clone())
    }

    pub(crate) fn agent_roots(&self) -> &SharedRoots {
        &self.roots
    }

    /// An agent has come: what is confined to the agents' directories may now use its own too.
    pub(crate) fn add_root(&self, directory: &Path) {
        self.roots.add(directory.to_owned());
        if let Some(service) = self.read(|present| present.confined.clone()) {
            grant(&service, directory);
        }
    }

    /// An agent has gone: its directory is out of reach, unless another agent works there.
    pub(crate) fn remove_root(&self, directory: &Path) {
        self.roots.remove(directory);
        if self.roots.now().iter().any(|root| root == directory) {
            return;
        }
        if let Some(service) = self.read(|present| present.confined.clone()) {
            service.revoke(directory);
        }
    }

    /// Which of these services are missing.
    pub fn missing(&self, required: &[String]) -> Vec<String> {
        let has = |name: &String| match name.as_str() {
            names::TOOLS | names::SYSTEM_PROMPT => true,
            names::FS => self.file_system().is_some(),
            names::SUBPROCESS => self.subprocess().is_some(),
            names::SESSION_QUERY => self.session_query().is_some(),
            _ => false,
        };
        required.iter().filter(|name| !has(name)).cloned().collect()
    }

    /// Numbers that change when one of these services is replaced, withdrawn or provided.
    pub(crate) fn versions(&self, required: &[String]) -> Vec<u64> {
        let version = |name: &String| match name.as_str() {
            names::FS => self.read(|present| present.versions[0]),
            names::SUBPROCESS => self.read(|present| present.versions[1]),
            names::SESSION_QUERY => self.read(|present| present.versions[2]),
            _ => 0,
        };
        required.iter().map(version).collect()
    }

    pub(crate) fn directory(&self, cwd: Option<&str>) -> Directory {
        match cwd {
            Some(cwd) => self.workspaces.directory(cwd),
            None => {
                let own = std::env::current_dir().map(|path| path.to_string_lossy().into_owned());
                // A host whose directory was deleted under it lists nothing.
                self.workspaces
                    .directory(own.as_deref().unwrap_or("/nonexistent"))
            }
        }
    }

    fn change(&self, work: impl FnOnce(&mut Present)) {
        work(&mut self.present.write().unwrap_or_else(PoisonError::into_inner));
    }

    fn read<R>(&self, work: impl FnOnce(&Present) -> R) -> R {
        work(&self.present.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A directory that is missing cannot be granted; whoever asks for it is told that it is outside.
fn grant(service: &LocalFileSystem, directory: &Path) {
    if let Err(error) = service.grant(directory) {
        tracing::debug!("{}: {error}", directory.display());
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "this is how a test fails")]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_directory_is_granted_for_as_long_as_an_agent_works_there() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::write(root.join("file"), "text").unwrap();
        let services = Services::new(Arc::new(LocalWorkspaces));
        services.add_root(&root);
        services.set_local_file_system(LocalFileSystem::new(root.clone()).unwrap());
        services.add_root(&root);
        let files = services.file_system().unwrap();
        let reachable = async || files.resolve("file", None).await.is_ok();
        services.remove_root(&root);
        assert!(reachable().await, "a second agent is there");
        services.remove_root(&root);
        assert!(!reachable().await);
        services.add_root(&root);
        assert!(reachable().await);
    }
}
