//! Handles that a guest made up, or uses for what they are not.

use crate::limits::reason;
use dsh_host::{AbortController, AbortReason, CallRequest, ToolResult, codes};
use dsh_tests::hostile::{Stage, failure, limits, soon};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn a_made_up_caller_is_a_trap() {
    for handle in [0, 4_096, (1 << 28) - 1, u32::MAX] {
        let reason = reason(json!({"do": "forge-caller", "handle": handle}), limits()).await;
        assert!(reason.contains("handle"), "{handle}: {reason}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handle_of_another_kind_is_a_trap() {
    let reason = reason(json!({"do": "signal-as-caller"}), limits()).await;
    assert!(reason.contains("type"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handle_that_is_dropped_twice_is_a_trap() {
    let reason = reason(json!({"do": "drop-twice"}), limits()).await;
    assert!(reason.contains("handle"), "{reason}");
}

/// Handles that a small table may hold.
const FIRST_HANDLES: u32 = 16;

#[tokio::test(flavor = "multi_thread")]
async fn the_caller_of_another_plugin_cannot_be_guessed() {
    let stage = Stage::new();
    stage.agent("a").await;
    stage.mount_bystander().await;
    stage.mount("bad", json!({})).await.unwrap();
    // A call with a session is in flight in the other plugin, while this one tries every handle.
    let controller = AbortController::new();
    let mut with_session = CallRequest::new("bystander", r#"{"do": "wait"}"#);
    with_session.agent = Some("a".into());
    with_session.signal = controller.signal();
    let waiting = stage.begin_request(with_session);
    stage.until_begun("bystander", 1).await;
    for handle in 1..=FIRST_HANDLES {
        let forged = json!({"do": "forge-caller", "handle": handle});
        match stage.call("act", forged).await {
            // Its own, which has no session because the call has no agent.
            ToolResult::Success(output) => {
                assert_eq!(output.value.value(), json!({"session": null}))
            }
            other => assert!(failure(other).is(codes::PLUGIN_TRAPPED), "{handle}"),
        }
        // Loaded anew, so that the traps do not add up.
        soon(stage.host.reload("bad", json!({}))).await.unwrap();
    }
    controller.abort(AbortReason::unspecified());
    assert!(matches!(
        soon(waiting).await.unwrap(),
        ToolResult::Cancelled(_)
    ));
}
