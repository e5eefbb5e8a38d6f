//! `dsh:ctx/spill`: who may search which spill file.

use crate::bindings::dsh::ctx::spill as wit;
use crate::bindings::dsh::ctx::types;
use crate::ctx::call::Caller;
use crate::ctx::history::on_a_thread;
use crate::store::PluginState;
use dsh_services::spill::Access;
use wasmtime::Result;
use wasmtime::component::{Accessor, HasSelf, Resource};

impl wit::Host for PluginState {}

impl wit::HostWithStore<PluginState> for HasSelf<PluginState> {
    async fn authorize(
        accessor: &Accessor<PluginState, Self>,
        caller: Resource<Caller>,
        path: String,
    ) -> Result<Result<wit::Access, types::Failure>> {
        let (caller, env, lanes) = accessor.with(|mut access| {
            let state = access.get();
            let caller = state.table.get(&caller)?.clone();
            wasmtime::error::Ok((caller, state.env.clone(), state.lanes.clone()))
        })?;
        let (Some(guard), Some(session)) = (
            env.services.spill_guard(),
            caller.live_session().map(String::from),
        ) else {
            return Ok(Ok(wit::Access::Denied));
        };
        let judged = on_a_thread(&lanes, path.len(), move |cancel| {
            guard.authorize(&session, &path, cancel)
        });
        let judged = judged.await?;
        Ok(match judged {
            Ok(Access::Granted(path)) => match path.into_os_string().into_string() {
                Ok(path) => {
                    caller.keep(env.authorized.authorize(path.clone()));
                    Ok(wit::Access::Granted(path))
                }
                Err(_) => Ok(wit::Access::Denied),
            },
            Ok(Access::Vanished) => Ok(wit::Access::Vanished),
            Ok(Access::Denied) => Ok(wit::Access::Denied),
            Err(failure) => Err(failure),
        })
    }
}
