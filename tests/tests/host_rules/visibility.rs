//! Who sees which tools and sections, and what two plugins may not share.

use dsh_host::registry::Restriction;
use dsh_host::{CallRequest, RowState, codes};
use dsh_tests::hostile::{Stage, failure, soon, value};
use serde_json::json;

fn names(stage: &Stage, agent: Option<&str>) -> Vec<String> {
    let tools = stage.host.tools(agent);
    tools.iter().map(|tool| tool.name.clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_plugins_cannot_offer_one_tool() {
    let stage = Stage::new();
    let first = json!({"greeting": "first", "tools": [{"name": "shared"}]});
    let second = json!({"greeting": "second", "tools": [{"name": "other"}, {"name": "shared"}]});
    stage.mount("first", first).await.unwrap();
    let refused = stage.mount("second", second.clone()).await.unwrap_err();
    assert_eq!(refused.message, "tool \"shared\" is already registered");
    assert_eq!(names(&stage, None), ["shared"]);
    assert_eq!(stage.log.of("second"), ["applied", "disposing", "disposed"]);
    assert_eq!(stage.echo("shared").await["config"]["greeting"], "first");

    soon(stage.host.unmount("first")).await.unwrap();
    assert_eq!(stage.mount("second", second).await, Ok(RowState::Active));
    assert_eq!(names(&stage, None), ["other", "shared"]);
    assert_eq!(stage.echo("shared").await["config"]["greeting"], "second");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_row_identifier_is_for_one_plugin() {
    let stage = Stage::new();
    stage.mount("row", json!({})).await.unwrap();
    let refused = stage
        .mount("row", json!({"tools": [{"name": "x"}]}))
        .await
        .unwrap_err();
    assert!(refused.is("ROW_DUPLICATE"), "{refused}");
    assert_eq!(names(&stage, None), ["act"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restricted_agent_neither_sees_nor_calls_and_plugins_know_it() {
    let stage = Stage::new();
    stage.agent("free").await;
    stage.agent("bound").await;
    stage
        .mount("row", json!({"tools": [{"name": "one"}, {"name": "two"}]}))
        .await
        .unwrap();
    stage.host.restrict_tools(
        "bound",
        Restriction {
            allow: None,
            deny: vec!["two".into()],
        },
    );
    assert_eq!(names(&stage, Some("free")), ["one", "two"]);
    assert_eq!(names(&stage, Some("bound")), ["one"]);
    for (agent, tool, visible) in [
        ("free", "two", true),
        ("bound", "two", false),
        ("bound", "one", true),
        ("free", "three", false),
    ] {
        let asked = json!({"do": "visible", "agent": agent, "tool": tool});
        let answer = value(stage.call("one", asked).await);
        assert_eq!(answer, json!({"visible": visible}), "{agent} {tool}");
    }
    let mut request = CallRequest::new("two", r#"{"do": "echo"}"#);
    request.agent = Some("bound".into());
    assert!(failure(stage.request(request.clone()).await).is(codes::UNKNOWN_TOOL));
    request.agent = Some("free".into());
    let echo = value(stage.request(request.clone()).await);
    assert_eq!(echo["caller"]["agent"], "free");
    request.agent = Some("nobody".into());
    assert!(failure(stage.request(request).await).is(codes::AGENT_UNKNOWN));
}

#[tokio::test(flavor = "multi_thread")]
async fn sections_are_ordered_by_number_and_then_by_name_across_plugins() {
    let stage = Stage::new();
    let section = |name: &str, order: i32| json!({"name": name, "order": order, "text": format!("{name} for {{agent}}")});
    let first = json!({"tools": [], "sections": [section("z", 5), section("b", 1), {"name": "empty", "order": 0, "text": ""}]});
    let second = json!({"tools": [], "sections": [section("a", 1), section("y", -3)]});
    stage.mount("first", first).await.unwrap();
    stage.mount("second", second).await.unwrap();
    assert_eq!(
        soon(stage.host.prompt("me")).await,
        "y for me\n\na for me\n\nb for me\n\nz for me"
    );
}
