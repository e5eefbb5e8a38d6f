//! What a plugin says of itself.

use crate::component::LoadedComponent;
use crate::ctx::PluginEnv;
use crate::engine::Engine;
use crate::failure::{Failure, codes};
use crate::instance::Instance;
use crate::limits::Limits;
use dsh_services::json;
use serde_json::Value;
use std::sync::Arc;

/// What a plugin says of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// The name as DSH knows it.
    pub name: String,
    /// Semantic version.
    pub version: String,
    /// One sentence.
    pub summary: String,
    /// Services without which it is not mounted.
    pub required: Vec<String>,
    /// Services that it uses when they are there.
    pub optional: Vec<String>,
    /// JSON Schema of its configuration.
    pub config_schema: Value,
}

/// Asks a component what it is, in an instance of its own that is dropped at once.
pub(crate) async fn describe(
    engine: &Engine,
    component: &LoadedComponent,
    limits: &Limits,
    env: Arc<PluginEnv>,
) -> Result<Manifest, Failure> {
    let plugin = env.plugin.clone();
    let instance = Instance::start(engine, component, limits, env).await?;
    let asking = instance.run(|access, exports| Box::pin(exports.lifecycle.call_describe(access)));
    let manifest = match tokio::time::timeout(limits.apply, asking).await {
        Ok(Ok(manifest)) => manifest,
        Ok(Err(end)) => return Err(end.failure(&plugin)),
        Err(_) => {
            let message = format!(
                "plugin \"{plugin}\" did not describe itself within {} ms",
                limits.apply.as_millis()
            );
            return Err(Failure::host(codes::PLUGIN_UNRESPONSIVE, message));
        }
    };
    let config_schema = json::parse(&manifest.config_schema).map_err(|error| Failure {
        name: None,
        code: None,
        message: format!(
            "plugin \"{plugin}\": the schema of its configuration is no JSON: {error}"
        ),
    })?;
    Ok(Manifest {
        name: manifest.name,
        version: manifest.version,
        summary: manifest.summary,
        required: manifest.required,
        optional: manifest.optional,
        config_schema,
    })
}
