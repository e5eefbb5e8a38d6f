//! One misdeed each: the call fails with the reason, other plugins go on serving, and the next call gets a fresh instance.

use dsh_host::{CallRequest, Limits, codes};
use dsh_tests::hostile::{Stage, assert_failure, failure, impatient, limits, soon, value};
use serde_json::{Value, json};
use std::time::Duration;

/// Commits a misdeed while another plugin serves, and returns the reason that the host gives.
pub async fn reason(arguments: Value, limits: Limits) -> String {
    let stage = Stage::new();
    stage.mount_bystander().await;
    stage
        .mount_with("bad", json!({"greeting": "hello"}), limits)
        .await
        .unwrap();
    assert_eq!(stage.echo("act").await["calls"], 1);

    let misdeed = stage.begin("act", arguments);
    let mut served = 0;
    loop {
        stage.echo("bystander").await;
        served += 1;
        if misdeed.is_finished() {
            break;
        }
    }
    let failure = failure(soon(misdeed).await.unwrap());
    assert_eq!(failure.code.as_deref(), Some(codes::PLUGIN_TRAPPED));

    let fresh = stage.echo("act").await;
    assert_eq!(fresh["calls"], 1, "the next call runs in a fresh instance");
    assert_eq!(fresh["config"]["greeting"], "hello");
    assert_eq!(
        stage.echo("bystander").await["calls"],
        served + 1,
        "the other plugin kept its instance"
    );
    let reason = failure.message.strip_prefix("plugin \"bad\" stopped: ");
    let reason = reason.unwrap().to_owned();
    let logged = format!("the plugin's instance stopped: {reason}");
    assert_eq!(stage.log.count("bad", &logged), 1, "the log tells it once");
    reason
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_that_computes_for_ever_is_stopped() {
    assert_eq!(
        reason(json!({"do": "spin"}), impatient()).await,
        "it computed for more than 100 ms without giving way"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recursion_without_end_is_stopped() {
    assert_eq!(
        reason(json!({"do": "recurse"}), limits()).await,
        "it used up its stack"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_beyond_the_limit_is_refused() {
    assert_eq!(
        reason(json!({"do": "allocate"}), limits()).await,
        "it asked for more than its memory limit of 32 MiB"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_100_megabytes_is_beyond_the_memory_limit() {
    let arguments = json!({"do": "large", "bytes": 100_000_000});
    assert_eq!(
        reason(arguments, limits()).await,
        "it asked for more than its memory limit of 32 MiB"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_that_blocks_in_a_wasi_sleep_is_stopped() {
    assert_eq!(
        reason(json!({"do": "block"}), impatient()).await,
        "it blocked its instance for more than 200 ms in a host call"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_is_told_with_its_place() {
    let reason = reason(json!({"do": "panic"}), limits()).await;
    assert!(
        reason.starts_with("panicked at ") && reason.ends_with(": as it was told"),
        "{reason}"
    );
    assert!(reason.contains("misdeeds.rs:"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_that_exits_is_stopped() {
    assert_eq!(
        reason(json!({"do": "exit"}), limits()).await,
        "it asked its process to exit"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_ignores_its_signal_is_stopped_after_the_grace() {
    let stage = Stage::new();
    stage.mount_bystander().await;
    stage.mount("bad", json!({})).await.unwrap();
    let mut request = CallRequest::new("act", r#"{"do": "sleep"}"#);
    request.timeout_ms = Some(50);
    // The deadline is what the caller is told of; why the instance went is in the log.
    assert_failure(
        &failure(stage.request(request).await),
        codes::TOOL_TIMEOUT,
        "tool call timed out after 50ms",
    );
    let logged =
        "the plugin's instance stopped: a call ignored its abort signal for more than 200 ms";
    assert_eq!(stage.log.count("bad", logged), 1);
    assert_eq!(stage.echo("act").await["calls"], 1);
    assert_eq!(stage.echo("bystander").await["calls"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_that_lets_no_call_in_is_stopped_by_the_first_one() {
    let stage = Stage::new();
    stage.mount_bystander().await;
    let limits = Limits {
        apply: Duration::from_secs(1),
        ..limits()
    };
    stage.mount_with("bad", json!({}), limits).await.unwrap();
    let stopped = |reason: &str| {
        let logged = format!("the plugin's instance stopped: {reason}");
        stage.log.count("bad", &logged)
    };
    let barricade = async || value(stage.call("act", json!({"do": "barricade"})).await);
    // What the host asks for itself has no deadline and no caller who could give up.
    barricade().await;
    soon(stage.host.session_event(None, "tool/result")).await;
    assert_eq!(stopped("it did not answer the host within 1000 ms"), 1);
    barricade().await;
    stage.agent("a").await;
    assert_eq!(stopped("it did not answer the host within 1000 ms"), 2);

    barricade().await;
    let mut request = CallRequest::new("act", "{}");
    request.timeout_ms = Some(50);
    assert_failure(
        &failure(stage.request(request).await),
        codes::TOOL_TIMEOUT,
        "tool call timed out after 50ms",
    );
    let ignored = "a call ignored its abort signal for more than 200 ms";
    assert_eq!(stopped(ignored), 1);
    let fresh = stage.echo("act").await;
    assert_eq!(
        (&fresh["calls"], &fresh["agents"]),
        (&json!(1), &json!(["a"]))
    );
    assert_eq!(stage.echo("bystander").await["calls"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_message_cannot_be_larger_than_the_limit() {
    let expected = "it passed more than 1 MiB in one message";
    for arguments in [
        json!({"do": "large", "bytes": 5 << 20}),
        json!({"do": "log-large", "bytes": 5 << 20}),
    ] {
        assert_eq!(
            reason(arguments.clone(), limits()).await,
            expected,
            "{arguments}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_ten_million_items_reaches_no_host_function() {
    let stage = Stage::new();
    stage.agent("a").await;
    // Each item is 8 bytes in the guest: the list fits its memory, and is refused while it is read.
    let limits = Limits {
        memory: 256 << 20,
        ..limits()
    };
    stage.mount_with("bad", json!({}), limits).await.unwrap();
    let arguments = json!({"do": "many-paths", "paths": 10_000_000});
    assert_failure(
        &failure(stage.call("act", arguments).await),
        codes::PLUGIN_TRAPPED,
        "plugin \"bad\" stopped: it passed more than 1 MiB in one message",
    );
    let arguments = json!({"do": "many-paths", "paths": 3});
    assert_eq!(
        value(stage.call("act", arguments).await),
        json!({"outcomes": 3})
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_of_too_many_directories_is_a_trap() {
    let stage = Stage::new();
    stage.agent("a").await;
    let limits = Limits {
        message: 16 << 20,
        ..limits()
    };
    stage.mount_with("bad", json!({}), limits).await.unwrap();
    let arguments = json!({"do": "many-paths", "paths": 65_537});
    assert_failure(
        &failure(stage.call("act", arguments).await),
        codes::PLUGIN_TRAPPED,
        "plugin \"bad\" stopped: a batch of 65537 directories: at most 65536 are allowed",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn much_work_in_small_slices_is_no_misdeed() {
    let stage = Stage::new();
    stage
        .mount_with("busy", json!({}), impatient())
        .await
        .unwrap();
    // 400 ms of work, four times what the limit allows without a pause.
    let work = json!({"do": "slices", "slices": 80, "ms": 5});
    let work = stage.begin("act", work);
    stage.echo("act").await;
    assert_eq!(value(soon(work).await.unwrap()), json!({"did": "slices"}));
    assert_eq!(stage.echo("act").await["calls"], 3, "it is one instance");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_records_is_cut_and_what_was_dropped_is_counted() {
    let stage = Stage::new();
    stage.mount("loud", json!({})).await.unwrap();
    assert_eq!(
        value(stage.call("act", json!({"do": "flood"})).await),
        json!({"did": "flood"})
    );
    let records = stage.log.of("loud").len();
    // 10,000 records at 200 for each second that they took, which is far less than ten seconds.
    assert!((200..=2_000).contains(&records), "{records}");
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    stage
        .call("act", json!({"do": "log-large", "bytes": 20_000}))
        .await;
    let records = stage.log.of("loud");
    let note = &records[records.len() - 2];
    assert!(
        note.ends_with("log records were dropped: more than 200 in a second"),
        "{note}"
    );
    assert_eq!(
        records[records.len() - 1].len(),
        10_240,
        "a long record is cut"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_guest_mutters_to_standard_error_harms_nobody() {
    let stage = Stage::new();
    stage.mount("loud", json!({})).await.unwrap();
    for _ in 0..20 {
        stage.call("act", json!({"do": "mutter"})).await;
    }
    assert_eq!(stage.echo("act").await["calls"], 21);
}
