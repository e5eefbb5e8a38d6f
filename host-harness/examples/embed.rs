//! Embedding the library: mounts a component, lets an agent complete an `@path`, and calls a tool.
//!
//! `cargo run --example embed -- DIRECTORY QUERY`

use dsh_host::{AbortSignal, AgentSpec, CallRequest, Host, HostOptions, PluginRow, bundled};
use std::error::Error;
use std::path::Path;

/// Mounts the plugins for one directory, and returns the paths for a query and what a tool said.
pub async fn run(directory: &str, query: &str) -> Result<(Vec<String>, String), Box<dyn Error>> {
    let host = Host::new(HostOptions::default())?;
    for name in ["dsh-file-reference-local", "dsh-context-proxy"] {
        let component = bundled::load(host.engine(), name, Path::new(""))?;
        host.mount(PluginRow::new(name, component)).await?;
    }
    host.create_agent(AgentSpec::new("agent-1", directory))
        .await?;

    let found = host
        .list_file_references("agent-1", query, &AbortSignal::never())
        .await
        .map_err(|error| error.into_failure())?;
    let paths = found.into_iter().map(|candidate| candidate.path).collect();

    // Without a session query service the tool refuses, in the words that a model would read.
    let request = CallRequest {
        agent: Some("agent-1".into()),
        ..CallRequest::new("context_query", r#"{"text":"failed"}"#)
    };
    let said = host.call(request).await.text();
    host.shutdown().await;
    Ok((paths, said))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = std::path::absolute(arguments.next().unwrap_or_else(|| ".".into()))?;
    let query = arguments.next().unwrap_or_default();
    let (paths, said) = run(directory.to_str().ok_or("not UTF-8")?, &query).await?;
    println!("{}\n{said}", paths.join("\n"));
    Ok(())
}
