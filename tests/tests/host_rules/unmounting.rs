//! Unloading: first nobody finds the tools any more, then the calls in flight end, then the plugin is gone, whatever it does.

use dsh_host::{Limits, RowState, codes};
use dsh_tests::hostile::{
    PATIENCE, Stage, assert_failure, failure, impatient, limits, soon, value,
};
use serde_json::{Value, json};
use std::time::Duration;

async fn staged(config: Value, limits: Limits) -> Stage {
    let stage = Stage::new();
    stage.mount_bystander().await;
    stage.mount_with("row", config, limits).await.unwrap();
    stage
}

async fn assert_gone(stage: &Stage) {
    assert_eq!(stage.tools(), ["bystander"]);
    assert_eq!(stage.host.row("row").await, None);
    let again = soon(stage.host.unmount("row")).await.unwrap_err();
    assert_failure(&again, "ROW_UNKNOWN", "there is no row \"row\"");
    stage.echo("bystander").await;
    assert_eq!(stage.mount("row", json!({})).await, Ok(RowState::Active));
    assert_eq!(stage.echo("act").await["calls"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_are_removed_before_the_plugin_is_told() {
    let limits = Limits {
        dispose: Duration::from_millis(600),
        ..limits()
    };
    let stage = staged(json!({"dispose": "sleep"}), limits).await;
    let unmounting = {
        let host = stage.host.clone();
        tokio::spawn(async move { host.unmount("row").await })
    };
    stage.log.wait_for("row", "disposing").await;
    assert_eq!(stage.tools(), ["bystander"]);
    let unknown = failure(stage.call("act", json!({"do": "echo"})).await);
    assert_failure(&unknown, codes::UNKNOWN_TOOL, "unknown tool \"act\"");
    assert_eq!(unknown.name.as_deref(), Some("UnknownToolError"));
    stage.echo("bystander").await;
    let failure = soon(unmounting).await.unwrap().unwrap_err();
    assert_failure(
        &failure,
        codes::PLUGIN_UNRESPONSIVE,
        "plugin \"row\" did not unload within 600 ms",
    );
    assert_gone(&stage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_in_flight_end_with_the_plugin() {
    let limits = Limits {
        abort_grace: PATIENCE,
        ..limits()
    };
    let stage = staged(json!({}), limits).await;
    let verbs = ["wait", "reason", "wait-then-succeed"];
    let calls = verbs.map(|verb| stage.begin("act", json!({"do": verb, "ms": 50})));
    let own = stage.begin("act", json!({"do": "wait-then-fail"}));
    stage.until_begun("act", 4).await;
    soon(stage.host.unmount("row")).await.unwrap();
    for (verb, call) in verbs.iter().zip(calls) {
        let failure = failure(soon(call).await.unwrap());
        assert!(failure.is(codes::PLUGIN_DISPOSED), "{verb}: {failure}");
    }
    let own = failure(soon(own).await.unwrap());
    assert_failure(&own, "OWN_FAILURE", "a failure of its own");
    assert_eq!(stage.log.count("row", "reason: disposed"), 1);
    assert_gone(&stage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_ignore_the_unloading_end_with_the_instance() {
    let stage = staged(json!({}), limits()).await;
    let verbs = ["sleep", "hang"];
    let calls = verbs.map(|verb| stage.begin("act", json!({"do": verb})));
    stage.until_begun("act", 2).await;
    soon(stage.host.unmount("row")).await.unwrap();
    for call in calls {
        assert_failure(
            &failure(soon(call).await.unwrap()),
            codes::PLUGIN_DISPOSED,
            "plugin \"row\" was unloaded",
        );
    }
    assert_gone(&stage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_plugin_is_told_once_and_in_order() {
    let stage = staged(json!({}), limits()).await;
    soon(stage.host.unmount("row")).await.unwrap();
    assert_eq!(stage.log.of("row"), ["applied", "disposing", "disposed"]);
    assert_gone(&stage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn misdeeds_in_dispose_are_reported_and_the_plugin_goes() {
    for (misdeed, code, reason) in [
        ("refuse", "CONFIG_REFUSED", "refused as it was told"),
        (
            "spin",
            codes::PLUGIN_TRAPPED,
            "plugin \"row\" stopped: it computed for more than 100 ms without giving way",
        ),
        (
            "block",
            codes::PLUGIN_TRAPPED,
            "plugin \"row\" stopped: it blocked its instance for more than 200 ms in a host call",
        ),
        (
            "recurse",
            codes::PLUGIN_TRAPPED,
            "plugin \"row\" stopped: it used up its stack",
        ),
    ] {
        let stage = staged(json!({"dispose": misdeed}), impatient()).await;
        let failure = soon(stage.host.unmount("row")).await.unwrap_err();
        assert_failure(&failure, code, reason);
        assert_gone(&stage).await;
    }
    let stage = staged(json!({"dispose": "panic"}), limits()).await;
    let failure = soon(stage.host.unmount("row")).await.unwrap_err();
    assert!(failure.is(codes::PLUGIN_TRAPPED), "{failure}");
    assert!(failure.message.ends_with(": as it was told"), "{failure}");
    assert_gone(&stage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_outlives_dispose_ends_with_the_instance() {
    let stage = staged(json!({"dispose": "linger"}), limits()).await;
    soon(stage.host.unmount("row")).await.unwrap();
    let records = stage.log.of("row").len();
    assert!(stage.log.count("row", "lingering") > 0);
    // Ten times the pause between two records of the task.
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(stage.log.of("row").len(), records);
    assert_gone(&stage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_that_has_trapped_is_not_asked_to_dispose() {
    let stage = staged(json!({}), limits()).await;
    stage.call("act", json!({"do": "panic"})).await;
    soon(stage.host.unmount("row")).await.unwrap();
    assert_eq!(stage.log.count("row", "disposing"), 0);
    assert_gone(&stage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_swaps_the_instance_under_the_same_tools() {
    let stage = staged(json!({"greeting": "old"}), limits()).await;
    let waiting = stage.begin("act", json!({"do": "wait"}));
    stage.until_begun("act", 1).await;
    let state = soon(stage.host.reload("row", json!({"greeting": "new"}))).await;
    assert_eq!(state, Ok(RowState::Active));
    assert!(failure(soon(waiting).await.unwrap()).is(codes::PLUGIN_DISPOSED));
    let echo = stage.echo("act").await;
    assert_eq!(
        (&echo["config"]["greeting"], &echo["calls"]),
        (&json!("new"), &json!(1))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn shutdown_unloads_every_row() {
    let stage = staged(json!({"dispose": "panic"}), limits()).await;
    soon(stage.host.shutdown()).await;
    assert_eq!(stage.tools(), Vec::<String>::new());
    assert_eq!(stage.log.count("bystander", "disposed"), 1);
    let warned = stage.log.of("row");
    assert!(
        warned
            .iter()
            .any(|line| line.starts_with("unloading reported: plugin \"row\" stopped: ")),
        "{warned:?}"
    );
    stage.mount_bystander().await;
    value(stage.call("bystander", json!({"do": "echo"})).await);
}
