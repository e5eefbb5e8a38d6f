//! Rows that wait for services, and follow them as they come and go.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "this is how a test fails"
)]

use dsh_host::{Host, RowState};
use dsh_services::fs::LocalFileSystem;
use dsh_services::subprocess::LocalSubprocess;
use dsh_tests::hosts::{SYMBOLS, host, host_and_log, mount, tool_names};
use serde_json::{Value, json};
use std::sync::Arc;

async fn state(host: &Host) -> RowState {
    host.row(SYMBOLS).await.expect("the row").1
}

/// A configuration with a program that every machine of ours has. It is looked up, not started.
fn servers() -> Value {
    json!({"servers": {"shell": {"command": "/bin/sh"}}})
}

fn provide_files(host: &Host, present: bool) {
    let service = || Arc::new(LocalFileSystem::new("/".into()).unwrap());
    host.services()
        .set_file_system(present.then(|| service() as Arc<_>));
}

fn provide_programs(host: &Host, present: bool) {
    let service = || Arc::new(LocalSubprocess::new(None));
    host.services()
        .set_subprocess(present.then(|| service() as Arc<_>));
}

#[tokio::test]
async fn a_plugin_waits_for_its_services_and_leaves_with_them() {
    let (host, log) = host_and_log();
    let pending = |names: &[&str]| RowState::Pending(names.iter().map(|n| (*n).into()).collect());
    let mounted = mount(&host, SYMBOLS, servers()).await;
    assert_eq!(mounted, Ok(pending(&["fs", "subprocess"])));
    assert_eq!(tool_names(&host), Vec::<String>::new());
    let waits = log.lines();
    assert!(
        waits
            .iter()
            .any(|line| line.ends_with("waiting for fs, subprocess")),
        "{waits:?}"
    );

    provide_files(&host, true);
    host.settle().await;
    assert_eq!(state(&host).await, pending(&["subprocess"]));
    provide_programs(&host, true);
    assert_eq!(
        state(&host).await,
        pending(&["subprocess"]),
        "rows follow when they are told to"
    );
    host.settle().await;
    assert_eq!(state(&host).await, RowState::Active);
    assert_eq!(tool_names(&host), ["workspace_symbol"]);
    host.settle().await;
    assert_eq!(state(&host).await, RowState::Active, "settled");

    provide_files(&host, false);
    host.settle().await;
    assert_eq!(state(&host).await, pending(&["fs"]));
    assert_eq!(tool_names(&host), Vec::<String>::new());
    provide_files(&host, true);
    host.settle().await;
    assert_eq!(tool_names(&host), ["workspace_symbol"]);
    host.unmount(SYMBOLS).await.unwrap();
    assert!(host.row(SYMBOLS).await.is_none());
}

#[tokio::test]
async fn a_pending_row_can_be_reloaded_and_unmounted() {
    let host = host();
    mount(&host, SYMBOLS, servers()).await.unwrap();
    let reloaded = host.reload(SYMBOLS, servers()).await.unwrap();
    assert!(matches!(reloaded, RowState::Pending(_)), "{reloaded:?}");
    host.unmount(SYMBOLS).await.unwrap();
    assert!(host.row(SYMBOLS).await.is_none());
}

#[tokio::test]
async fn a_configuration_that_is_refused_when_the_services_come_is_shown_as_failed() {
    let host = host();
    mount(&host, SYMBOLS, json!({"servers": {}})).await.unwrap();
    provide_files(&host, true);
    provide_programs(&host, true);
    host.settle().await;
    match state(&host).await {
        RowState::Failed(failure) => assert!(failure.message.contains("servers"), "{failure}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(tool_names(&host), Vec::<String>::new());
    let reloaded = host.reload(SYMBOLS, servers()).await;
    assert_eq!(reloaded, Ok(RowState::Active));
    assert_eq!(tool_names(&host), ["workspace_symbol"]);
}
