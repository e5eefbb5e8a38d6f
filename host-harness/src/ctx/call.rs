//! `dsh:ctx/call`: who is calling a tool.

use crate::bindings::dsh::ctx::call as wit;
use crate::store::PluginState;
use dsh_services::subprocess::AuthorizedPath;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use wasmtime::Result;
use wasmtime::component::Resource;

/// The caller of one tool call. Only the host makes one, and a handle that a guest kept
/// beyond the call gives access to nothing.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    /// The calling agent.
    pub agent: Option<String>,
    /// Its session.
    pub session: Option<String>,
    /// The working directory in the header of the session.
    pub cwd: Option<String>,
    /// Sequence number of the last `step/start` in the live log of the session.
    pub current_step: Option<u64>,
    ended: Arc<AtomicBool>,
    /// Files that the caller may have searched until the call ends.
    searched: Arc<Mutex<Vec<AuthorizedPath>>>,
}

impl Caller {
    /// A caller for one call.
    pub(crate) fn new(
        agent: Option<String>,
        session: Option<String>,
        cwd: Option<String>,
        current_step: Option<u64>,
    ) -> Self {
        Self {
            agent,
            session,
            cwd,
            current_step,
            ended: Arc::default(),
            searched: Arc::default(),
        }
    }

    /// The call is over: a handle that the guest kept is good for nothing from now on.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Release);
        self.searched
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    /// Keeps a file searchable until the call ends; a call that has ended keeps nothing.
    pub(crate) fn keep(&self, path: AuthorizedPath) {
        let mut searched = self.searched.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.ended.load(Ordering::Acquire) {
            searched.push(path);
        }
    }

    /// The session, as long as the call lasts.
    pub(crate) fn live_session(&self) -> Option<&str> {
        let live = !self.ended.load(Ordering::Acquire);
        self.session.as_deref().filter(|_| live)
    }
}

impl wit::Host for PluginState {}

impl wit::HostCaller for PluginState {
    fn agent(&mut self, caller: Resource<Caller>) -> Result<Option<String>> {
        Ok(self.table.get(&caller)?.agent.clone())
    }

    fn session(&mut self, caller: Resource<Caller>) -> Result<Option<String>> {
        Ok(self.table.get(&caller)?.session.clone())
    }

    fn cwd(&mut self, caller: Resource<Caller>) -> Result<Option<String>> {
        Ok(self.table.get(&caller)?.cwd.clone())
    }

    fn current_step(&mut self, caller: Resource<Caller>) -> Result<Option<u64>> {
        Ok(self.table.get(&caller)?.current_step)
    }

    fn drop(&mut self, caller: Resource<Caller>) -> Result<()> {
        self.table.delete(caller)?;
        Ok(())
    }
}
