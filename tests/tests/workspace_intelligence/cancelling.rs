//! Calls that end before their time, with real processes.

use dsh_host::{AbortReason, Failure, ToolResult};
use dsh_tests::hostile::{failure, soon};
use dsh_tests::hosts::{SYMBOLS, tool_names};
use dsh_tests::symbols::{AGENT, Desk, answering, eventually, exists, names};
use serde_json::{Value, json};

/// Never answers a query; `$/cancelRequest` is heeded when `heeds`.
fn silent(heeds: bool) -> Value {
    let cancelled = json!({"cancelled": {"code": -32800, "message": "cancelled"}});
    let actions = if heeds { json!([cancelled]) } else { json!([]) };
    json!({"workspace/symbol": [], "$/cancelRequest": actions})
}

#[tokio::test]
async fn case_105_a_reason_that_is_no_error_is_told_as_an_abort_and_handed_back() {
    let desk = Desk::new().await;
    desk.mount_scripted(json!([silent(true)])).await;
    for (round, reason) in [
        AbortReason::CallerValue(json!("stop")),
        AbortReason::CallerValue(Value::Null),
        AbortReason::CallerValue(json!({"code": 5})),
        AbortReason::CallerError(Failure {
            name: None,
            code: None,
            message: "enough".into(),
        }),
    ]
    .into_iter()
    .enumerate()
    {
        let call = desk.begin("Gear");
        desk.journal("server")
            .until_got("workspace/symbol", round + 1)
            .await;
        call.abort(reason.clone());
        let result = call.result().await;
        assert_eq!(result.text(), "Error: tool call aborted");
        assert_eq!(result.code(), Some("ABORTED"));
        assert_eq!(result, ToolResult::Cancelled(reason));
    }
    desk.unmount().await.unwrap();
}

#[tokio::test]
async fn cases_099_101_a_server_that_heeds_a_cancel_is_kept_and_another_replaced() {
    for (heeds, processes) in [(true, 1), (false, 2)] {
        let desk = Desk::new().await;
        desk.mount_scripted(json!([silent(heeds), answering(&["Gear"])]))
            .await;
        let journal = desk.journal("server");
        let call = desk.begin("Gear");
        journal.until_got("workspace/symbol", 1).await;
        call.abort(AbortReason::unspecified());
        assert!(matches!(call.result().await, ToolResult::Cancelled(_)));
        // The call is over only when its own cleaning up is.
        assert_eq!(exists(journal.pids()[0]), heeds);
        let next = desk.begin("Gear");
        if heeds {
            journal.until_got("workspace/symbol", 2).await;
            next.abort(AbortReason::unspecified());
            next.result().await;
        } else {
            assert_eq!(names(next.result().await), ["Gear"]);
        }
        assert_eq!(journal.pids().len(), processes);
        desk.unmount().await.unwrap();
        assert!(!journal.pids().into_iter().any(exists));
    }
}

#[tokio::test]
async fn case_103_the_first_of_deadline_and_caller_counts() {
    // The deadline comes first, and the caller while the call still cleans up.
    let desk = Desk::new().await;
    let mut server = desk.server("server", json!([silent(false)]));
    server["killGraceMs"] = json!(2_000);
    desk.mount(&[("server", server)]).await.unwrap();
    let journal = desk.journal("server");
    let call = desk.begin_as(AGENT, "Gear", Some(300));
    journal.until_got("$/cancelRequest", 1).await;
    call.abort(AbortReason::unspecified());
    let failure = failure(call.result().await);
    assert!(failure.is("TOOL_TIMEOUT"), "{failure:?}");
    assert_eq!(failure.message, "tool call timed out after 300ms");

    // The caller comes first, and the deadline passes before the call has cleaned up.
    let call = desk.begin_as(AGENT, "Gear", Some(1_500));
    journal.until_got("workspace/symbol", 2).await;
    call.abort(AbortReason::unspecified());
    let result = call.result().await;
    assert_eq!(result, ToolResult::Cancelled(AbortReason::unspecified()));
    desk.unmount().await.unwrap();
    assert!(!journal.pids().into_iter().any(exists));
}

#[tokio::test]
async fn case_097_a_call_that_was_aborted_before_it_began_starts_nothing() {
    let desk = Desk::new().await;
    desk.mount_scripted(json!([answering(&["Gear"])])).await;
    let call = desk.begin("Gear");
    call.abort(AbortReason::unspecified());
    call.result().await;
    let controller = dsh_host::AbortController::new();
    controller.abort(AbortReason::unspecified());
    let request = dsh_host::CallRequest {
        agent: Some(AGENT.into()),
        signal: controller.signal(),
        ..dsh_host::CallRequest::new("workspace_symbol", "{\"query\":\"x\"}")
    };
    let before = desk.journal("server").entries().len();
    let result = soon(desk.host.call(request)).await;
    assert_eq!(result.code(), Some("ABORTED_BEFORE_DISPATCH"));
    assert_eq!(desk.journal("server").entries().len(), before);
    desk.unmount().await.unwrap();
}

#[tokio::test]
async fn case_120_unmounting_removes_the_tool_first_and_ends_running_and_queued_calls() {
    let desk = Desk::new().await;
    let gate = desk.gate("shutdown");
    let mut run = silent(false);
    run["shutdown"] = json!([{"await": gate.path()}, {"reply": null}]);
    desk.mount_scripted(json!([run])).await;
    desk.agent("second", "ws").await;
    let journal = desk.journal("server");
    let running = desk.begin("Gear");
    journal.until_got("workspace/symbol", 1).await;
    let queued = desk.begin_as("second", "Gear", None);
    let unmounting = tokio::spawn({
        let host = desk.host.clone();
        async move { host.unmount(SYMBOLS).await }
    });
    journal.until_got("shutdown", 1).await;
    assert_eq!(tool_names(&desk.host), Vec::<String>::new());
    assert!(!unmounting.is_finished());
    assert!(!running.is_over(), "a call ends after its cleaning up");
    eventually(|| "the queued call leaves".into(), || queued.is_over()).await;
    gate.open();
    for call in [running, queued] {
        let failure = failure(call.result().await);
        assert!(failure.is("WORKSPACE_SYMBOL_DISPOSED"), "{failure:?}");
    }
    soon(unmounting).await.unwrap().unwrap();
    let methods = journal.methods();
    assert_eq!(
        methods
            .iter()
            .filter(|method| *method == "workspace/symbol")
            .count(),
        1
    );
    assert!(
        !methods.contains(&"$/cancelRequest".to_owned()),
        "{methods:?}"
    );
    assert!(!exists(journal.pids()[0]));
}
