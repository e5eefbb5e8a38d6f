//! A plugin that asks faster than the host can answer.

use dsh_host::{CallRequest, codes};
use dsh_tests::hostile::{Stage, assert_failure, failure, one_event_each, soon, value};
use dsh_tests::workspaces::Gated;
use serde_json::json;
use std::sync::Arc;

/// More listings than tokio has threads for blocking work, which all plugins share.
const CROWD: usize = 600;
/// Threads that one instance may keep busy.
const LANES: usize = 8;

#[tokio::test(flavor = "multi_thread")]
async fn slow_host_calls_of_one_plugin_leave_threads_for_the_others() {
    let gate = Gated::default();
    let stage = Stage::with_workspaces(Arc::new(gate.clone()));
    stage.agent("a").await;
    stage
        .host
        .services()
        .set_session_query(Some(one_event_each()));
    stage.mount_bystander().await;
    stage.mount("bad", json!({})).await.unwrap();

    gate.shut();
    let crowd = stage.begin("act", json!({"do": "crowd", "calls": CROWD, "bytes": 0}));
    gate.until_arrived(LANES).await;
    let mut query = CallRequest::new("bystander", r#"{"do": "keep-caller"}"#);
    query.agent = Some("a".into());
    assert_eq!(value(stage.request(query).await), json!({"events": 1}));
    assert_eq!(gate.arrived(), LANES);
    assert_eq!(
        stage.echo("act").await["calls"],
        2,
        "the plugin itself is served, too"
    );

    gate.open();
    assert_eq!(value(soon(crowd).await.unwrap()), json!({"did": "crowd"}));
    assert_eq!(gate.arrived(), CROWD, "every listing had its turn");
}

#[tokio::test(flavor = "multi_thread")]
async fn pending_host_calls_hold_a_bounded_amount_of_memory() {
    let gate = Gated::default();
    let stage = Stage::with_workspaces(Arc::new(gate.clone()));
    stage.agent("a").await;
    stage.mount("bad", json!({})).await.unwrap();
    gate.shut();
    // A hundred requests of 100 kB each, where a single message may have 1 MiB.
    let arguments = json!({"do": "crowd", "calls": 100, "bytes": 100_000});
    assert_failure(
        &failure(stage.call("act", arguments).await),
        codes::PLUGIN_TRAPPED,
        "plugin \"bad\" stopped: its pending host calls hold more than 4 MiB",
    );
    // The listings that the instance had begun are told to stop, without the gate being opened.
    gate.until_given_up(gate.arrived()).await;
    gate.open();
    let arguments = json!({"do": "crowd", "calls": 10, "bytes": 0});
    assert_eq!(
        value(stage.call("act", arguments).await),
        json!({"did": "crowd"})
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_moments_to_come_is_bounded_like_any_other_request() {
    let stage = Stage::new();
    stage.mount("bad", json!({})).await.unwrap();
    let few = json!({"do": "alarms", "alarms": 1_000});
    assert_eq!(
        value(stage.call("act", few).await),
        json!({"did": "alarms"})
    );
    assert_failure(
        &failure(
            stage
                .call("act", json!({"do": "alarms", "alarms": 10_000}))
                .await,
        ),
        codes::PLUGIN_TRAPPED,
        "plugin \"bad\" stopped: its pending host calls hold more than 4 MiB",
    );
    assert_eq!(stage.echo("act").await["calls"], 1, "a fresh instance");
}
