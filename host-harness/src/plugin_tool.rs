//! Tools that a plugin exports.

use crate::abort::{AbortController, AbortReason, AbortSignal};
use crate::bindings::exports::dsh::ctx::tool_provider as wit;
use crate::canonical_value::CanonicalValue;
use crate::failure::{Failure, codes};
use crate::host::lacks;
use crate::plugin::{CallError, Plugin};
use crate::tool::{CallCard, Tool, ToolDefinition, ToolError, ToolInvocation, ToolOutput};
use dsh_services::json;
use futures::future::BoxFuture;
use serde_json::Value;
use std::sync::Arc;

/// Tools that one plugin may have.
const MAX_TOOLS: usize = 256;

/// Asks a mounted plugin for its tools.
pub(crate) async fn tools(
    plugin: &Arc<Plugin>,
) -> Result<Vec<(ToolDefinition, Arc<dyn Tool>)>, Failure> {
    let id = plugin.id().to_owned();
    let definitions = plugin
        .call(None, |access, exports| {
            Box::pin(async move {
                match &exports.tools {
                    Some(tools) => tools.call_definitions(access).await.map(Some),
                    None => Ok(None),
                }
            })
        })
        .await?
        .ok_or_else(|| lacks(&id, "tools"))?;
    if definitions.len() > MAX_TOOLS {
        let message = format!(
            "plugin \"{id}\" has {} tools; at most {MAX_TOOLS} are allowed",
            definitions.len()
        );
        return Err(Failure::host("PLUGIN_TOO_MANY_TOOLS", message));
    }
    let tool: Arc<dyn Tool> = Arc::new(PluginTool(plugin.clone()));
    definitions
        .into_iter()
        .map(|definition| Ok((convert_definition(&id, definition)?, tool.clone())))
        .collect()
}

fn convert_definition(
    plugin: &str,
    definition: wit::ToolDefinition,
) -> Result<ToolDefinition, Failure> {
    let parse = |what: &str, text: &str| {
        json::parse(text).map_err(|error| Failure {
            name: None,
            code: None,
            message: format!(
                "plugin \"{plugin}\": {what} of tool \"{}\" is no JSON: {error}",
                definition.name
            ),
        })
    };
    Ok(ToolDefinition {
        parameters: parse("the schema of the parameters", &definition.parameters)?,
        output_schema: parse("the schema of the output", &definition.output_schema)?,
        name: definition.name,
        description: definition.description,
        timeout_ms: definition.timeout_ms,
        concurrency_safe: definition.concurrency_safe,
    })
}

/// All tools of one plugin: the call names the tool.
struct PluginTool(Arc<Plugin>);

impl Tool for PluginTool {
    fn execute(
        &self,
        call: ToolInvocation,
        signal: AbortSignal,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let controller = AbortController::new();
            let fused = controller.signal();
            let reason = async {
                tokio::select! {
                    reason = signal.wait() => reason,
                    reason = self.0.disposing() => reason,
                }
            };
            let outcome = controller.relay(reason, self.run(call, fused)).await;
            // The caller's own signal is not set when it was the unloading that ended the call. A success that comes after it is a partial one.
            match (outcome, controller.signal().reason()) {
                (Ok(_) | Err(ToolError::Aborted), Some(AbortReason::Disposed))
                    if signal.reason().is_none() =>
                {
                    Err(ToolError::Failed(AbortReason::Disposed.into_failure()))
                }
                (outcome, _) => outcome,
            }
        })
    }

    fn present_call<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a Value,
    ) -> BoxFuture<'a, Option<CallCard>> {
        let (name, arguments) = (name.to_owned(), arguments.to_string());
        Box::pin(async move {
            let card = self.0.call(None, move |access, exports| {
                Box::pin(async move {
                    match &exports.tools {
                        Some(tools) => tools.call_present_call(access, name, arguments).await,
                        None => Ok(None),
                    }
                })
            });
            card.await.ok().flatten().map(|card| CallCard {
                title: card.title,
                kind: card.kind,
            })
        })
    }
}

impl PluginTool {
    async fn run(
        &self,
        call: ToolInvocation,
        signal: AbortSignal,
    ) -> Result<ToolOutput, ToolError> {
        let (plugin, name) = (self.0.id().to_owned(), call.name.clone());
        let given = signal.clone();
        let outcome = self
            .0
            .call(Some(&signal), move |access, exports| {
                Box::pin(async move {
                    let Some(tools) = &exports.tools else {
                        return Ok(None);
                    };
                    let (caller, signal) = access.with(|mut access| {
                        let table = &mut access.data_mut().table;
                        wasmtime::error::Ok((table.push(call.caller)?, table.push(given)?))
                    })?;
                    let call = wit::ToolCall {
                        call_id: call.call_id,
                        name: call.name,
                        arguments: call.arguments.to_string(),
                        caller,
                    };
                    tools.call_execute(access, call, signal).await.map(Some)
                })
            })
            .await;
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(CallError::Aborted(_)) => return Err(ToolError::Aborted),
            Err(CallError::Failed(failure)) => return Err(failure.into()),
        };
        match outcome {
            Some(Ok(output)) => self.convert_output(&name, output),
            Some(Err(wit::ToolError::Failed(failure))) => Err(ToolError::Failed(failure.into())),
            Some(Err(wit::ToolError::Aborted)) => Err(ToolError::Aborted),
            None => Err(lacks(&plugin, "tools").into()),
        }
    }

    fn convert_output(&self, name: &str, output: wit::ToolOutput) -> Result<ToolOutput, ToolError> {
        let (size, most) = (
            output.content.len().max(output.value.len()),
            self.0.limits().message,
        );
        if size > most {
            let message =
                format!("tool \"{name}\" answered with {size} bytes; at most {most} are allowed");
            return Err(Failure::host(codes::PLUGIN_OUTPUT_TOO_LARGE, message).into());
        }
        Ok(ToolOutput {
            value: CanonicalValue::unjudged(output.value),
            content: output.content,
        })
    }
}
