//! `dsh:ctx/tools`: which tools an agent has.

use crate::bindings::dsh::ctx::tools as wit;
use crate::store::PluginState;
use wasmtime::Result;

impl wit::Host for PluginState {
    fn visible(&mut self, name: String, agent: String) -> Result<bool> {
        Ok(self.env.registry.is_visible(&name, Some(&agent)))
    }
}
