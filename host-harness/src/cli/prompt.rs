//! `dsh-host prompt`.

use super::session::{AGENT, Session, Where};
use super::{Outcome, Stop};
use clap::Args;
use dsh_host::registry::Scope;
use dsh_host::{
    AbortSignal, Host, LoadedComponent, Tool, ToolDefinition, ToolError, ToolInvocation, ToolOutput,
};
use futures::future::BoxFuture;
use serde_json::json;
use std::io::Write;
use std::sync::Arc;

/// Prints the prompt sections.
#[derive(Args)]
#[command(after_help = "Example:\n  dsh-host prompt --visible-tool read")]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: Where,
    /// Name of a tool that the agent is to have; may be repeated
    #[arg(long, value_name = "NAME")]
    visible_tool: Vec<String>,
}

pub(crate) async fn run(arguments: Arguments) -> Outcome {
    let profile = arguments.place.profile()?;
    let session =
        Session::open(&arguments.place, profile, LoadedComponent::provides_prompt).await?;
    let prompt = with_tools(&session.host, &arguments.visible_tool).await?;
    if !prompt.is_empty() {
        writeln!(anstream::stdout(), "{prompt}")?;
    }
    session.close().await
}

/// The prompt of an agent that has these tools.
pub(crate) async fn with_tools(host: &Host, names: &[String]) -> Result<String, Stop> {
    let mut registered = Vec::new();
    for name in names {
        let definition = ToolDefinition {
            name: name.clone(),
            description: "Stands for a tool of the agent.".into(),
            parameters: json!({"type": "object"}),
            output_schema: json!({"type": "null"}),
            timeout_ms: None,
            concurrency_safe: true,
        };
        let scope = Scope::Agent(AGENT.into());
        registered.push(
            host.register_tool(scope, definition, Arc::new(Absent))
                .map_err(Stop::usage)?,
        );
    }
    Ok(host.prompt(AGENT).await)
}

/// A tool that is there to be seen, not to be called.
struct Absent;

impl Tool for Absent {
    fn execute(
        &self,
        call: ToolInvocation,
        _: AbortSignal,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let message = format!(
                "tool \"{}\" belongs to DSH and is not part of this host",
                call.name
            );
            Err(ToolError::Failed(dsh_host::Failure {
                name: None,
                code: None,
                message,
            }))
        })
    }
}
