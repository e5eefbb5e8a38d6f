//! `dsh-host tools`.

use super::session::{AGENT, Session, Where};
use super::{Outcome, style};
use clap::Args;
use dsh_host::{LoadedComponent, ToolDefinition};
use serde_json::{Value, json};
use std::io::Write;

/// Lists the tools.
#[derive(Args)]
#[command(after_help = "Example:\n  dsh-host tools --json | jq '.[].name'")]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: Where,
    /// Print the definitions as the model is given them, with their schemas
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(arguments: Arguments) -> Outcome {
    let profile = arguments.place.profile()?;
    let session = Session::open(&arguments.place, profile, LoadedComponent::provides_tools).await?;
    let tools = session.host.tools(Some(AGENT));
    let mut out = anstream::stdout().lock();
    if arguments.json {
        let definitions: Vec<Value> = tools.iter().map(|tool| to_json(tool)).collect();
        writeln!(out, "{:#}", Value::Array(definitions))?;
    } else {
        for tool in tools {
            writeln!(out, "{}{}{}", style::NAME, tool.name, style::RESET)?;
            writeln!(out, "  {}", tool.description)?;
            let required: Vec<&str> = names(&tool.parameters["required"]);
            for (name, schema) in tool.parameters["properties"]
                .as_object()
                .into_iter()
                .flatten()
            {
                let kind = schema["type"].as_str().unwrap_or("any");
                let need = if required.contains(&name.as_str()) {
                    ", required"
                } else {
                    ""
                };
                writeln!(
                    out,
                    "  {}{name}{} ({kind}{need}) {}",
                    style::FAINT,
                    style::RESET,
                    schema["description"].as_str().unwrap_or_default()
                )?;
            }
        }
    }
    drop(out);
    session.close().await
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// The three members that reach the model.
fn to_json(tool: &ToolDefinition) -> Value {
    json!({ "name": tool.name, "description": tool.description, "parameters": tool.parameters })
}
