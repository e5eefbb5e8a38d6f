//! `dsh:ctx/timers`.

use crate::bindings::dsh::ctx::timers as wit;
use crate::store::PluginState;
use std::time::Duration;
use wasmtime::Result;
use wasmtime::component::{Accessor, HasSelf};

impl wit::Host for PluginState {}

impl wit::HostWithStore<PluginState> for HasSelf<PluginState> {
    async fn sleep(_: &Accessor<PluginState, Self>, milliseconds: u32) -> Result<()> {
        tokio::time::sleep(Duration::from_millis(u64::from(milliseconds))).await;
        Ok(())
    }
}
