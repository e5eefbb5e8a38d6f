//! What a call must look like, what a plugin is told of its caller, and what its answer must look like.

use dsh_host::{AgentSpec, CallRequest, Limits, ToolOutput, ToolResult, codes};
use dsh_tests::hostile::{Stage, assert_failure, failure, limits, one_event_each, soon, value};
use serde_json::{Value, json};

async fn staged(tool: Value) -> Stage {
    let stage = Stage::new();
    let config = json!({"tools": [tool, {"name": "free"}]});
    stage.mount("row", config).await.unwrap();
    stage
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_that_do_not_fit_never_reach_the_plugin() {
    let parameters = json!({
        "type": "object",
        "properties": {"do": {"type": "string"}, "count": {"type": "integer"}},
        "required": ["do"],
        "additionalProperties": false,
    });
    let stage = staged(json!({"name": "strict", "parameters": parameters})).await;
    for (arguments, violation) in [
        ("", "missing required property \"do\""),
        ("{}", "missing required property \"do\""),
        ("not json", "\"arguments\" must be an object"),
        ("[1]", "\"arguments\" must be an object"),
        (r#"{"do": 1}"#, "\"do\" must be a string"),
        (
            r#"{"do": "echo", "count": 1.5}"#,
            "\"count\" must be an integer",
        ),
        (
            r#"{"do": "echo", "more": 1}"#,
            "\"more\" is not a declared property (additionalProperties: false)",
        ),
    ] {
        let result = stage.request(CallRequest::new("strict", arguments)).await;
        assert_eq!(
            result.text(),
            format!("Error: invalid arguments: {violation}")
        );
        let failure = failure(result);
        assert!(failure.is(codes::INVALID_ARGS), "{arguments}");
        assert_eq!(failure.name.as_deref(), Some("ToolArgsError"));
    }
    assert_eq!(
        stage.echo("free").await["calls"],
        1,
        "none of them was a call"
    );
    let fits = value(
        stage
            .call("strict", json!({"do": "echo", "count": 2}))
            .await,
    );
    assert_eq!(fits["arguments"], json!({"do": "echo", "count": 2}));
    assert_eq!(fits["tool"], "strict");
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_tools_and_agents() {
    let stage = staged(json!({"name": "known"})).await;
    assert_failure(
        &failure(stage.call("other", json!({})).await),
        codes::UNKNOWN_TOOL,
        "unknown tool \"other\"",
    );
    let mut request = CallRequest::new("known", "{}");
    request.agent = Some("nobody".into());
    assert_failure(
        &failure(stage.request(request).await),
        codes::AGENT_UNKNOWN,
        "there is no agent \"nobody\"",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_output_that_breaks_its_own_schema_is_no_success() {
    let output = json!({
        "type": "object",
        "properties": {"answer": {"type": "integer"}},
        "required": ["answer"],
    });
    let stage = staged(json!({"name": "act", "output": output})).await;
    let call = async |value: Value| {
        stage
            .call("act", json!({"do": "value", "value": value}))
            .await
    };
    let fitting = json!({"answer": 42});
    let expected = ToolOutput {
        value: fitting.clone().into(),
        content: fitting.to_string(),
    };
    assert_eq!(call(fitting).await, ToolResult::Success(expected));
    for (unfit, violation) in [
        (json!([]), "\"value\" must be an object"),
        (json!({}), "missing required property \"answer\""),
        (json!({"answer": "42"}), "\"answer\" must be an integer"),
    ] {
        let failure = failure(call(unfit).await);
        assert_failure(
            &failure,
            codes::INVALID_TOOL_OUTPUT,
            &format!("tool \"act\" returned invalid output: {violation}"),
        );
        assert_eq!(failure.name.as_deref(), Some("ToolOutputError"));
    }
    let no_json = failure(stage.call("act", json!({"do": "no-json"})).await);
    assert!(no_json.is(codes::INVALID_TOOL_OUTPUT));
    let text = "tool \"act\" returned invalid output: the value is no JSON: ";
    assert!(no_json.message.starts_with(text), "{no_json}");
    assert_eq!(
        stage.echo("free").await["calls"],
        6,
        "none of this is a trap"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_of_the_tools_own_is_passed_on_whole() {
    let stage = staged(json!({"name": "act"})).await;
    let result = stage.call("act", json!({"do": "fail"})).await;
    assert_eq!(result.text(), "Error: a failure of its own");
    let failure = failure(result);
    assert_failure(&failure, "OWN_FAILURE", "a failure of its own");
    assert_eq!(failure.name.as_deref(), Some("OwnError"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_over_the_limit_is_refused_and_harms_no_other_call() {
    let stage = Stage::new();
    let limits = Limits {
        message: 1 << 20,
        ..limits()
    };
    stage.mount_with("row", json!({}), limits).await.unwrap();
    let most = 1 << 20;
    let fits = stage
        .call("act", json!({"do": "large", "bytes": most}))
        .await;
    assert_eq!(fits.text().len(), most);
    assert_failure(
        &failure(
            stage
                .call("act", json!({"do": "large", "bytes": most + 1}))
                .await,
        ),
        codes::PLUGIN_OUTPUT_TOO_LARGE,
        "tool \"act\" answered with 1048577 bytes; at most 1048576 are allowed",
    );
    assert_eq!(stage.echo("act").await["calls"], 3, "the instance lives on");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_knows_its_caller() {
    let stage = staged(json!({"name": "act"})).await;
    let spec = AgentSpec {
        id: "agent-1".into(),
        cwd: Some("/some/where".into()),
        session: Some("session-1".into()),
    };
    soon(stage.host.create_agent(spec)).await.unwrap();
    stage.host.set_current_step("agent-1", Some(7));
    let mut request = CallRequest::new("act", r#"{"do": "echo"}"#);
    request.agent = Some("agent-1".into());
    request.call_id = "call-1".into();
    let echo = value(stage.request(request).await);
    let caller =
        json!({"agent": "agent-1", "session": "session-1", "cwd": "/some/where", "currentStep": 7});
    assert_eq!(
        (&echo["caller"], &echo["callId"]),
        (&caller, &json!("call-1"))
    );
    let nobody = json!({"agent": null, "session": null, "cwd": null, "currentStep": null});
    assert_eq!(stage.echo("act").await["caller"], nobody);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_was_kept_opens_no_history_after_its_call() {
    let stage = staged(json!({"name": "act"})).await;
    stage.agent("a").await;
    stage
        .host
        .services()
        .set_session_query(Some(one_event_each()));
    let mut request = CallRequest::new("act", r#"{"do": "keep-caller"}"#);
    request.agent = Some("a".into());
    assert_eq!(
        value(stage.request(request.clone()).await),
        json!({"events": 1})
    );
    // Even a call of the same agent cannot use the handle of another call.
    request.arguments = r#"{"do": "use-kept"}"#.into();
    assert_failure(
        &failure(stage.request(request).await),
        "SESSION_QUERY_SESSION_NOT_FOUND",
        "the call has no session, or has ended",
    );
}
