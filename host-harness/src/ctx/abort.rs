//! `dsh:ctx/abort`: the guest's view of an abort signal.

use crate::abort::{AbortReason, AbortSignal};
use crate::bindings::dsh::ctx::abort as wit;
use crate::store::PluginState;
use wasmtime::Result;
use wasmtime::component::{Accessor, HasSelf, Resource};

impl From<AbortReason> for wit::AbortReason {
    fn from(reason: AbortReason) -> Self {
        match reason {
            AbortReason::CallerError(failure) => Self::CallerError(failure.into()),
            AbortReason::CallerValue(value) => Self::CallerValue(value.to_string()),
            AbortReason::Timeout(milliseconds) => Self::Timeout(milliseconds),
            AbortReason::Disposed => Self::Disposed,
        }
    }
}

impl wit::Host for PluginState {}

impl wit::HostAbortSignal for PluginState {
    fn aborted(&mut self, signal: Resource<AbortSignal>) -> Result<Option<wit::AbortReason>> {
        Ok(self.table.get(&signal)?.reason().map(Into::into))
    }

    fn drop(&mut self, signal: Resource<AbortSignal>) -> Result<()> {
        self.table.delete(signal)?;
        Ok(())
    }
}

impl wit::HostAbortSignalWithStore<PluginState> for HasSelf<PluginState> {
    async fn wait(
        accessor: &Accessor<PluginState, Self>,
        signal: Resource<AbortSignal>,
    ) -> Result<wit::AbortReason> {
        let (signal, _pending) = accessor.with(|mut access| {
            let state = access.get();
            wasmtime::error::Ok((state.table.get(&signal)?.clone(), state.lanes.wait(0)?))
        })?;
        Ok(signal.wait().await.into())
    }
}
