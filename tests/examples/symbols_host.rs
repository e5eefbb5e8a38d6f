//! A host to be killed: mounts the plugin for workspace symbols with one scripted server, makes one call, and waits.
//!
//! `symbols_host WORKSPACE SCRIPT`
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of tests fails loudly"
)]

use dsh_services::fs::LocalFileSystem;
use dsh_services::subprocess::LocalSubprocess;
use dsh_tests::hosts::{SYMBOLS, agent, host, mount};
use dsh_tests::symbols::{AGENT, TOOL, scripted_server};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let workspace = PathBuf::from(arguments.next().expect("a workspace"));
    let script = arguments.next().expect("a script");
    let server = scripted_server();
    let host = host();
    let services = host.services();
    services.set_local_file_system(LocalFileSystem::new(workspace.clone()).unwrap());
    services.set_subprocess(Some(Arc::new(LocalSubprocess::new(Some(server.clone())))));
    agent(&host, AGENT, &workspace).await;
    let servers =
        json!({"servers": {"server": {"command": server, "args": [script], "warmupMs": 0}}});
    mount(&host, SYMBOLS, servers).await.unwrap();
    let request = dsh_host::CallRequest {
        agent: Some(AGENT.into()),
        ..dsh_host::CallRequest::new(TOOL, "{\"query\":\"Gear\"}")
    };
    println!("{}", host.call(request).await.text());
    std::future::pending::<()>().await;
}
