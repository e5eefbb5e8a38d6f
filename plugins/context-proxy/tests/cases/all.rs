//! The cases of SPEC 8 about all three tools that need no real host.

use crate::support::rg_output::{hit, whole};
use crate::support::{Run, SPILL_PATH, World, citations};
use dsh_context_proxy::definitions::Tool;
use futures::FutureExt;
use serde_json::json;

#[test]
fn case_067_calls_in_parallel_do_not_meet() {
    let world = World::with_runs([
        Run::printing(whole(&[hit(1, "first\n", "first")]), 0),
        Run::printing(whole(&[hit(2, "second\n", "second")]), 0),
    ]);
    let grep = json!({"pattern": "x", "path": SPILL_PATH}).to_string();
    let calls = futures::future::join3(
        world.call_async("context_grep", &grep),
        world.call_async("context_query", "{\"seq_to\":2}"),
        world.call_async("context_grep", &grep),
    );
    let (first, query, second) = calls.now_or_never().unwrap();
    assert!(first.unwrap().contains("\"first\""));
    assert!(query.unwrap().contains("session:2"));
    assert!(second.unwrap().contains("\"second\""));
    world.subprocess.assert_all_gone(2);
}

#[test]
fn case_068_tools_are_listed_by_name() {
    let names = Tool::ALL.map(Tool::name);
    assert_eq!(names, ["context_grep", "context_query", "context_slice"]);
    assert!(
        Tool::ALL
            .into_iter()
            .all(|tool| Tool::from_name(tool.name()) == Some(tool))
    );
    assert_eq!(Tool::ALL.map(Tool::timeout_ms), [Some(30_000), None, None]);
}

#[test]
fn case_069_every_citation_opens_with_the_same_text() {
    let world = World::default();
    let mut opened = 0;
    for (tool, arguments) in [
        ("context_query", json!({})),
        ("context_grep", json!({"pattern": "e"})),
    ] {
        let answer = world.answer(tool, arguments);
        for (citation, found) in citations(&answer)
            .iter()
            .zip(answer["matches"].as_array().unwrap())
        {
            let seq: u64 = citation.strip_prefix("session:").unwrap().parse().unwrap();
            let slice = world.answer("context_slice", json!({"seq": seq}));
            assert_eq!(slice["items"][0]["text"], found["text"]);
            assert_eq!(slice["items"][0]["citation"], json!(citation));
            opened += 1;
        }
    }
    assert!(opened > 10);
}

#[test]
fn answers_satisfy_their_schemas() {
    use dsh_context_proxy::definitions::output_schema;
    use dsh_guest_support::args::check;
    let world = World::with_runs([Run::printing(whole(&[hit(1, "x\n", "x")]), 0)]);
    for (tool, arguments) in [
        (Tool::Query, json!({"limit": 1})),
        (Tool::Slice, json!({"seq": 4, "before": 2})),
        (Tool::Grep, json!({"pattern": "e", "limit": 1})),
        (Tool::Grep, json!({"pattern": "x", "path": SPILL_PATH})),
    ] {
        let schema = serde_json::from_str(output_schema(tool)).unwrap();
        assert_eq!(
            check(&schema, &world.answer(tool.name(), arguments)),
            Ok(())
        );
    }
}

#[test]
fn an_unknown_tool_is_refused() {
    World::default().assert_failure(
        "context_find",
        "{}",
        "UNKNOWN_TOOL",
        "unknown tool \"context_find\"",
    );
}
