//! The cases of SPEC 8 about all three tools that need no real host.

use crate::support::rg_output::{hit, whole};
use crate::support::{FakeSession, Run, SPILL_PATH, World, citations, seqs};
use dsh_context_proxy::definitions::Tool;
use dsh_context_proxy::errors::CallError;
use futures::FutureExt;
use serde_json::json;

const QUERY: &str = "context_query";

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

#[test]
fn calls_from_outside_any_session_are_refused() {
    let mut world = World::default();
    world.caller.has_session = false;
    for (tool, arguments) in [
        (QUERY, json!({})),
        ("context_slice", json!({"seq": 8})),
        ("context_grep", json!({"pattern": "x"})),
        ("context_grep", json!({"pattern": "x", "path": "/spill/a"})),
    ] {
        world.assert_failure(
            tool,
            arguments,
            "CONTEXT_PROXY_NO_SESSION",
            "context tools require an agent-bound session",
        );
    }
    assert!(world.spill.asked.borrow().is_empty());
}

#[test]
fn a_pending_service_does_not_hold_an_aborted_call() {
    let mut session = FakeSession::fixture();
    session.hangs = true;
    let world = World::with_session(session);
    let mut call = Box::pin(world.call_async(QUERY, "{}"));
    assert_eq!((&mut call).now_or_never(), None);
    world.signal.abort();
    assert_eq!(call.now_or_never(), Some(Err(CallError::Aborted)));
}

#[test]
fn an_aborted_call_asks_nothing() {
    let world = World::default();
    world.signal.abort();
    assert_eq!(world.call(QUERY, json!({})), Err(CallError::Aborted));
    assert!(world.session.asked.borrow().is_empty());
}
#[test]
fn case_023_without_the_service_the_call_fails_at_once_and_the_next_one_finds_it() {
    let world = World::default();
    world.session.available.set(false);
    for (tool, arguments) in [
        (QUERY, json!({})),
        ("context_slice", json!({"seq": 8})),
        ("context_grep", json!({"pattern": "x"})),
    ] {
        world.assert_failure(
            tool,
            arguments,
            "CONTEXT_PROXY_BACKEND_UNAVAILABLE",
            "session query backend unavailable",
        );
    }
    world.session.available.set(true);
    assert_eq!(seqs(&world.answer(QUERY, json!({}))).len(), 7);
}

#[test]
fn case_024_arguments_as_a_whole() {
    let world = World::default();
    assert_eq!(
        seqs(&world.answer(QUERY, json!({"nonsense": [1]}))).len(),
        7
    );
    assert_eq!(seqs(&world.answer(QUERY, "")).len(), 7);
    for bad in ["{\"text\":", "\"text\"", "null", "[]", "5"] {
        world.assert_failure(
            QUERY,
            bad,
            "INVALID_ARGS",
            "invalid arguments: \"arguments\" must be an object",
        );
    }
}

#[test]
fn case_027_the_services_errors_keep_their_code_and_lose_their_detail() {
    let sentences = [
        (
            "SESSION_QUERY_CORRUPT_SESSION",
            "session event history is corrupt",
        ),
        (
            "SESSION_QUERY_INVALID_SURFACE",
            "session event history is invalid",
        ),
        (
            "SESSION_QUERY_PERSISTENCE_FAILED",
            "session history storage is unavailable",
        ),
        ("SESSION_QUERY_SESSION_NOT_FOUND", "session was not found"),
    ];
    for (code, sentence) in sentences {
        let world = World::with_session(FakeSession::failing(code));
        world.assert_failure(QUERY, json!({}), code, sentence);
        world.assert_failure("context_slice", json!({"seq": 8}), code, sentence);
        world.assert_failure("context_grep", json!({"pattern": "x"}), code, sentence);
    }
    let world = World::with_session(FakeSession::failing("SESSION_QUERY_SOURCE_CONFLICT"));
    world.assert_failure(
        QUERY,
        json!({}),
        "SESSION_QUERY_TOOL_FAILED",
        "session query operation failed",
    );
}
