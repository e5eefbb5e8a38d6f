//! Which calls overlap.

use dsh_host::CallRequest;
use dsh_tests::hostile::{Stage, soon, value};
use serde_json::{Value, json};

fn request(tool: &str, agent: Option<&str>, arguments: Value) -> CallRequest {
    let mut request = CallRequest::new(tool, &arguments.to_string());
    request.agent = agent.map(String::from);
    request
}

async fn staged() -> Stage {
    let stage = Stage::new();
    stage.agent("a").await;
    stage.agent("b").await;
    let alone = json!({"name": "alone", "concurrencySafe": false});
    stage
        .mount("row", json!({"tools": [{"name": "act"}, alone]}))
        .await
        .unwrap();
    stage
}

/// Whether these calls are all at work at one time: each waits for all the others.
async fn meet(stage: &Stage, calls: &[(&str, Option<&str>)]) {
    let party = calls.len();
    let begun: Vec<_> = calls
        .iter()
        .map(|(tool, agent)| request(tool, *agent, json!({"do": "meet", "party": party})))
        .map(|request| stage.begin_request(request))
        .collect();
    for call in begun {
        value(soon(call).await.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_interleave_in_one_instance() {
    let stage = staged().await;
    meet(&stage, &[("act", None); 20]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn safe_calls_of_one_agent_overlap() {
    let stage = staged().await;
    meet(
        &stage,
        &[("act", Some("a")), ("act", Some("a")), ("act", Some("a"))],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unsafe_calls_of_different_agents_overlap() {
    let stage = staged().await;
    meet(&stage, &[("alone", Some("a")), ("alone", Some("b"))]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unsafe_calls_of_one_agent_are_made_one_after_another() {
    let stage = staged().await;
    let calls: Vec<_> = (0..8)
        .map(|_| request("alone", Some("a"), json!({"do": "gauge", "ms": 3})))
        .map(|request| stage.begin_request(request))
        .collect();
    for call in calls {
        assert_eq!(value(soon(call).await.unwrap()), json!({"mostActive": 1}));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pending_call_stalls_no_other() {
    let stage = staged().await;
    let pending = stage.begin("act", json!({"do": "meet", "party": 2}));
    stage.until_begun("act", 1).await;
    for _ in 0..100 {
        stage.echo("act").await;
    }
    assert!(!pending.is_finished());
    stage.call("act", json!({"do": "meet", "party": 2})).await;
    value(soon(pending).await.unwrap());
}
