//! `dsh-host call`.

use super::session::{AGENT, Session, Where};
use super::{Outcome, Stop, read_stdin};
use clap::Args;
use dsh_host::{AbortController, AbortReason, CallRequest, LoadedComponent};
use std::io::Write;

/// Calls a tool.
#[derive(Args)]
#[command(after_help = "Examples:
  dsh-host call context_query '{\"text\":\"failed\"}' --session ID
  echo '{\"pattern\":\"panicked at\"}' | dsh-host call context_grep - --session ID
  dsh-host call workspace_symbol '{\"query\":\"Widget\"}' --profile symbols.yaml

Exits with 1 when the tool answers an error. Ctrl-C cancels the call, and the tool is waited for.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: Where,
    /// Deadline in milliseconds, in place of the tool's own
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=2_147_483_647))]
    timeout_ms: Option<u32>,
    /// Name of the tool
    tool: String,
    /// Its arguments as JSON, or - to read them from standard input
    arguments: String,
}

pub(crate) async fn run(arguments: Arguments) -> Outcome {
    let text = match arguments.arguments.as_str() {
        "-" => read_stdin("ARGUMENTS")?,
        text => text.to_owned(),
    };
    let profile = arguments.place.profile()?;
    let session = Session::open(&arguments.place, profile, LoadedComponent::provides_tools).await?;
    if !session
        .host
        .tools(Some(AGENT))
        .iter()
        .any(|tool| tool.name == arguments.tool)
    {
        let known: Vec<String> = session
            .host
            .tools(Some(AGENT))
            .iter()
            .map(|tool| tool.name.clone())
            .collect();
        let known = if known.is_empty() {
            "none".into()
        } else {
            known.join(", ")
        };
        return Err(Stop::usage(format!(
            "unknown tool \"{}\" (the mounted plugins have {known}; `dsh-host plugins` tells which are off, and --profile what to mount)",
            arguments.tool
        )));
    }
    let controller = AbortController::new();
    let request = CallRequest {
        call_id: "command-line".into(),
        agent: Some(AGENT.into()),
        signal: controller.signal(),
        timeout_ms: arguments.timeout_ms,
        ..CallRequest::new(&arguments.tool, &text)
    };
    let host = session.host.clone();
    let mut call = std::pin::pin!(host.call(request));
    let result = tokio::select! {
        result = &mut call => result,
        Ok(()) = tokio::signal::ctrl_c() => {
            controller.abort(AbortReason::unspecified());
            call.await
        }
    };
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", result.text())?;
    drop(out);
    if let Some(code) = result.code() {
        tracing::info!("error code {code}");
    }
    let failed = result.is_error();
    session.close().await?;
    if failed { Err(Stop::ToolError) } else { Ok(()) }
}
