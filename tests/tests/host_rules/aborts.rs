//! How a call ends before its time.

use dsh_host::{
    AbortController, AbortReason, CallRequest, Failure, Limits, SearchError, ToolResult, codes,
};
use dsh_tests::hostile::{Stage, assert_failure, failure, limits, soon};
use serde_json::{Value, json};
use std::time::Duration;

fn some_error() -> AbortReason {
    AbortReason::CallerError(Failure {
        name: Some("UserError".into()),
        code: Some("CHANGED_MIND".into()),
        message: "changed my mind".into(),
    })
}

fn request(arguments: Value) -> (CallRequest, AbortController) {
    let controller = AbortController::new();
    let mut request = CallRequest::new("act", &arguments.to_string());
    request.signal = controller.signal();
    (request, controller)
}

/// Begins a call, aborts it once it is in the plugin, and returns what it came to.
async fn aborted(stage: &Stage, arguments: Value, reason: AbortReason) -> ToolResult {
    let before = stage.echo("act").await["calls"].as_u64().unwrap();
    let (request, controller) = request(arguments);
    let call = stage.begin_request(request);
    stage.until_begun("act", before + 1).await;
    controller.abort(reason);
    soon(call).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_callers_reason_comes_back_as_it_was_given() {
    let stage = Stage::new();
    stage.mount("row", json!({})).await.unwrap();
    let value = AbortReason::CallerValue(json!({"why": ["because"]}));
    for (reason, seen) in [
        (some_error(), "reason: error changed my mind"),
        (value, r#"reason: value {"why":["because"]}"#),
        (
            AbortReason::unspecified(),
            "reason: error This operation was aborted",
        ),
    ] {
        let result = aborted(&stage, json!({"do": "reason"}), reason.clone()).await;
        assert_eq!(result, ToolResult::Cancelled(reason));
        assert_eq!(result.text(), "Error: tool call aborted");
        assert_eq!(stage.log.count("row", seen), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_abort_replaces_a_success_and_keeps_a_failure() {
    let stage = Stage::new();
    stage.mount("row", json!({})).await.unwrap();
    let late_success = aborted(&stage, json!({"do": "wait-then-succeed"}), some_error()).await;
    assert_eq!(late_success, ToolResult::Cancelled(some_error()));
    let own = failure(aborted(&stage, json!({"do": "wait-then-fail"}), some_error()).await);
    assert_failure(&own, "OWN_FAILURE", "a failure of its own");
    let trapped = failure(aborted(&stage, json!({"do": "wait-then-panic"}), some_error()).await);
    assert!(trapped.is(codes::PLUGIN_TRAPPED), "{trapped}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_ignores_the_caller_ends_with_its_instance() {
    let stage = Stage::new();
    stage.mount("row", json!({})).await.unwrap();
    for verb in ["sleep", "hang"] {
        assert_failure(
            &failure(aborted(&stage, json!({"do": verb}), some_error()).await),
            codes::PLUGIN_TRAPPED,
            "plugin \"row\" stopped: a call ignored its abort signal for more than 200 ms",
        );
        assert_eq!(stage.echo("act").await["calls"], 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_replaces_every_outcome() {
    let stage = Stage::new();
    stage.mount("row", json!({})).await.unwrap();
    for verb in [
        "wait",
        "wait-then-succeed",
        "wait-then-fail",
        "wait-then-panic",
        "sleep",
    ] {
        let (mut request, _controller) = request(json!({"do": verb}));
        request.timeout_ms = Some(30);
        let result = stage.request(request).await;
        assert_eq!(
            result.text(),
            "Error: tool call timed out after 30ms",
            "{verb}"
        );
        let failure = failure(result);
        assert!(failure.is(codes::TOOL_TIMEOUT), "{verb}");
        assert_eq!(failure.name.as_deref(), Some("ToolTimeoutError"), "{verb}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tools_own_deadline_holds_until_a_call_brings_another() {
    let stage = Stage::new();
    let config = json!({"tools": [{"name": "act", "timeoutMs": 40}]});
    stage.mount("row", config).await.unwrap();
    let (mut request, _controller) = request(json!({"do": "wait"}));
    let text = stage.request(request.clone()).await.text();
    assert_eq!(text, "Error: tool call timed out after 40ms");
    request.timeout_ms = Some(20);
    let text = stage.request(request).await.text();
    assert_eq!(text, "Error: tool call timed out after 20ms");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_caller_and_deadline_the_first_one_counts() {
    let stage = Stage::new();
    let limits = Limits {
        abort_grace: Duration::from_secs(20),
        ..limits()
    };
    stage.mount_with("row", json!({}), limits).await.unwrap();

    let (mut timed, controller) = request(json!({"do": "reason", "ms": 100}));
    timed.timeout_ms = Some(20);
    let call = stage.begin_request(timed);
    stage.log.wait_for("row", "reason: timeout 20").await;
    controller.abort(some_error());
    assert!(failure(soon(call).await.unwrap()).is(codes::TOOL_TIMEOUT));

    let (mut cancelled, controller) = request(json!({"do": "reason", "ms": 2_500}));
    cancelled.timeout_ms = Some(2_000);
    let call = stage.begin_request(cancelled);
    stage.until_begun("act", 2).await;
    controller.abort(some_error());
    assert_eq!(
        soon(call).await.unwrap(),
        ToolResult::Cancelled(some_error())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_aborted_before_its_turn_never_reaches_the_plugin() {
    let stage = Stage::new();
    stage.agent("a").await;
    let config = json!({"tools": [{"name": "act"}, {"name": "alone", "concurrencySafe": false}]});
    stage.mount("row", config).await.unwrap();
    let before_dispatch = |result: ToolResult| {
        let failure = failure(result);
        assert_failure(
            &failure,
            codes::ABORTED_BEFORE_DISPATCH,
            "tool call aborted before dispatch",
        );
        assert_eq!(failure.name.as_deref(), Some("ToolAbortedError"));
    };

    let (early, controller) = request(json!({"do": "echo"}));
    controller.abort(some_error());
    before_dispatch(stage.request(early).await);

    let mut first = CallRequest::new("alone", r#"{"do": "meet", "party": 2}"#);
    first.agent = Some("a".into());
    let first = stage.begin_request(first);
    stage.until_begun("act", 1).await;
    let (mut queued, controller) = request(json!({"do": "panic"}));
    queued.name = "alone".into();
    queued.agent = Some("a".into());
    let queued = stage.begin_request(queued);
    controller.abort(some_error());
    before_dispatch(soon(queued).await.unwrap());

    stage.call("act", json!({"do": "meet", "party": 2})).await;
    assert!(!soon(first).await.unwrap().is_error());
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_believes_in_an_abort_that_nobody_asked_for() {
    let stage = Stage::new();
    stage.mount("row", json!({})).await.unwrap();
    assert_failure(
        &failure(stage.call("act", json!({"do": "aborted"})).await),
        codes::INVALID_TOOL_OUTPUT,
        "tool \"act\" reports an abort, but nobody aborted it",
    );
    let signal = AbortController::new().signal();
    match soon(stage.host.list_file_references("a", "aborted", &signal)).await {
        Err(SearchError::Failed(failure)) => assert_failure(
            &failure,
            codes::INVALID_TOOL_OUTPUT,
            "the search reports an abort, but nobody aborted it",
        ),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_ends_with_the_callers_reason() {
    let stage = Stage::new();
    stage.mount("row", json!({})).await.unwrap();
    let controller = AbortController::new();
    let signal = controller.signal();
    let (host, given) = (stage.host.clone(), signal.clone());
    let search = tokio::spawn(async move { host.list_file_references("a", "wait", &given).await });
    stage.echo("act").await;
    controller.abort(some_error());
    let answer = soon(search).await.unwrap();
    assert_eq!(answer.unwrap_err(), SearchError::Aborted(some_error()));
    match soon(stage.host.list_file_references("a", "sleep", &signal)).await {
        Err(SearchError::Failed(failure)) => assert_failure(
            &failure,
            codes::PLUGIN_TRAPPED,
            "plugin \"row\" stopped: a call ignored its abort signal for more than 200 ms",
        ),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waits_for_a_place_in_the_instance_can_be_aborted() {
    let stage = Stage::new();
    let limits = Limits {
        concurrent_calls: 1,
        ..limits()
    };
    stage.mount_with("row", json!({}), limits).await.unwrap();
    let (first, first_controller) = request(json!({"do": "reason"}));
    let first = stage.begin_request(first);
    // The only place is taken once a short call finds none.
    soon(async {
        loop {
            let (mut probe, _controller) = request(json!({"do": "echo"}));
            probe.timeout_ms = Some(20);
            if let ToolResult::Failure(failure) = stage.host.call(probe).await {
                assert_failure(
                    &failure,
                    codes::TOOL_TIMEOUT,
                    "tool call timed out after 20ms",
                );
                break;
            }
        }
    })
    .await;
    let (waiting, controller) = request(json!({"do": "panic"}));
    let waiting = stage.begin_request(waiting);
    tokio::task::yield_now().await;
    controller.abort(some_error());
    match soon(waiting).await.unwrap() {
        ToolResult::Cancelled(reason) => assert_eq!(reason, some_error()),
        result => assert_eq!(result.code(), Some(codes::ABORTED_BEFORE_DISPATCH)),
    }
    assert!(!first.is_finished(), "the call that has the place goes on");
    first_controller.abort(some_error());
    assert_eq!(
        soon(first).await.unwrap(),
        ToolResult::Cancelled(some_error())
    );
}
