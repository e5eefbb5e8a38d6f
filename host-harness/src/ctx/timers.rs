//! `dsh:ctx/timers`.

use crate::bindings::dsh::ctx::timers as wit;
use crate::store::PluginState;
use std::time::Duration;
use wasmtime::Result;
use wasmtime::component::{Accessor, HasSelf};

impl wit::Host for PluginState {}

impl wit::HostWithStore<PluginState> for HasSelf<PluginState> {
    async fn sleep(accessor: &Accessor<PluginState, Self>, milliseconds: u32) -> Result<()> {
        let _pending = accessor.with(|mut access| access.get().lanes.wait(0))?;
        tokio::time::sleep(Duration::from_millis(u64::from(milliseconds))).await;
        Ok(())
    }
}
