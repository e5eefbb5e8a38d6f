//! The component: the exports of the world `workspace-intelligence`, over the imports in [`imports`]. No decision is made here.

#[allow(unsafe_code, missing_docs, clippy::all)]
mod bindings {
    wit_bindgen::generate!({
        world: "workspace-intelligence",
        path: "../../wit",
    });
    use super::Component;
    export!(Component);
}
mod imports;

use crate::arguments;
use crate::config;
use crate::driver::plugin::Plugin;
use crate::driver::stop::StopReason;
use crate::outcome::{CallEnd, CallError};
use crate::render::OUTPUT_SCHEMA;
use bindings::dsh::ctx::abort::{AbortReason, AbortSignal};
use bindings::dsh::ctx::types::Failure;
use bindings::exports::dsh::ctx::lifecycle::{self, Manifest};
use bindings::exports::dsh::ctx::tool_provider::{
    self, CallCard, ToolCall, ToolDefinition, ToolError, ToolOutput,
};
use dsh_guest_support::js_json;
use imports::Imports;
use serde_json::Value;
use std::cell::RefCell;
use std::rc::Rc;

struct Component;

thread_local! {
    static PLUGIN: RefCell<Option<Rc<Plugin<Imports>>>> = const { RefCell::new(None) };
}

fn mounted() -> Option<Rc<Plugin<Imports>>> {
    PLUGIN.with_borrow(Clone::clone)
}

impl lifecycle::Guest for Component {
    fn describe() -> Manifest {
        Manifest {
            name: env!("CARGO_PKG_NAME").to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            summary: env!("CARGO_PKG_DESCRIPTION").to_owned(),
            required: ["fs", "subprocess", "tools"].map(str::to_owned).to_vec(),
            optional: Vec::new(),
            config_schema: config::SCHEMA.to_owned(),
        }
    }

    async fn apply(config: String) -> Result<(), Failure> {
        let config = js_json::parse(config.as_bytes()).map_err(|error| {
            uncoded(format!(
                "{}config is not valid JSON: {error}",
                config::PREFIX
            ))
        })?;
        let plugin = Plugin::mount(Rc::new(Imports::new()), &config)
            .await
            .map_err(uncoded)?;
        PLUGIN.set(Some(Rc::new(plugin)));
        Ok(())
    }

    async fn dispose() -> Result<(), Failure> {
        // Kept in place while it ends, so that calls still running find it; afterwards there is nothing left to call.
        let Some(plugin) = mounted() else {
            return Ok(());
        };
        let outcome = plugin.dispose().await;
        PLUGIN.set(None);
        outcome.map_err(uncoded)
    }
}

impl tool_provider::Guest for Component {
    fn definitions() -> Vec<ToolDefinition> {
        let define = |plugin: Rc<Plugin<Imports>>| ToolDefinition {
            name: arguments::TOOL_NAME.to_owned(),
            description: arguments::DESCRIPTION.to_owned(),
            parameters: js_json::stringify(&arguments::parameters()),
            output_schema: OUTPUT_SCHEMA.to_owned(),
            timeout_ms: Some(plugin.config().timeout_ms),
            // A second call of one agent would only wait for the first, server by server.
            concurrency_safe: false,
        };
        mounted().map(define).into_iter().collect()
    }

    fn present_call(_name: String, arguments: String) -> Option<CallCard> {
        let arguments = js_json::parse(arguments.as_bytes()).ok()?;
        Some(CallCard {
            title: arguments::title(&arguments)?,
            kind: "search".to_owned(),
        })
    }

    async fn execute(call: ToolCall, signal: AbortSignal) -> Result<ToolOutput, ToolError> {
        let Some(plugin) = mounted() else {
            return Err(failed(&CallError::Disposed, usize::MAX));
        };
        // The host sends valid JSON; anything else fails the schema as `null` does.
        let arguments = js_json::parse(call.arguments.as_bytes()).unwrap_or(Value::Null);
        let cwd = call.caller.cwd();
        let stopped = async {
            match signal.wait().await {
                AbortReason::Disposed => StopReason::Disposed,
                AbortReason::CallerError(_)
                | AbortReason::CallerValue(_)
                | AbortReason::Timeout(_) => StopReason::Caller,
            }
        };
        match plugin.call(&arguments, cwd.as_deref(), stopped).await {
            Ok(rendered) => Ok(ToolOutput {
                value: rendered.value,
                content: rendered.content,
            }),
            Err(CallEnd::Aborted) => Err(ToolError::Aborted),
            Err(CallEnd::Failed(error)) => Err(failed(&error, plugin.config().max_result_chars)),
        }
    }
}

fn failed(error: &CallError, max_chars: usize) -> ToolError {
    ToolError::Failed(Failure {
        name: Some(error.name().to_owned()),
        code: Some(error.code().to_owned()),
        message: error.message(max_chars),
    })
}

fn uncoded(message: String) -> Failure {
    Failure {
        name: None,
        code: None,
        message,
    }
}
