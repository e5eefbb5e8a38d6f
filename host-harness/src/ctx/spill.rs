//! `dsh:ctx/spill`: who may search which spill file.

use crate::bindings::dsh::ctx::spill as wit;
use crate::bindings::dsh::ctx::types;
use crate::ctx::call::Caller;
use crate::store::PluginState;
use dsh_services::session_query::Cancel;
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
        let (caller, env) = accessor.with(|mut access| {
            let state = access.get();
            wasmtime::error::Ok((state.table.get(&caller)?.clone(), state.env.clone()))
        })?;
        let (Some(guard), Some(session)) = (
            env.services.spill_guard(),
            caller.live_session().map(String::from),
        ) else {
            return Ok(Ok(wit::Access::Denied));
        };
        let judged =
            tokio::task::spawn_blocking(move || guard.authorize(&session, &path, &Cancel::new()))
                .await?;
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
            Err(error) => Err(types::Failure {
                name: Some("SessionQueryError".into()),
                code: error.code().map(String::from),
                message: error.to_string(),
            }),
        })
    }
}
