//! The cases of SPEC 8 about `context_query` that need no real host. What they leave to it: how texts are compared.

use crate::support::{FakeSession, World, citations, event, seqs};
use dsh_context_proxy::services::{Filter, Surface};
use serde_json::json;

const QUERY: &str = "context_query";

/// What the service was asked for these arguments.
fn filters(arguments: serde_json::Value) -> Vec<Filter> {
    let world = World::default();
    world.answer(QUERY, arguments);
    world.session.asked.take().remove(0).0
}

#[test]
fn case_001_no_filter_lists_every_event_with_text() {
    let answer = World::default().answer(QUERY, json!({}));
    assert_eq!(seqs(&answer), [2, 6, 7, 8, 10, 11, 12]);
    assert_eq!(
        answer["matches"][3],
        json!({"seq": 8, "type": "tool/result", "citation": "session:8",
               "text": "FAILED tests/test_io.py::test_flaky (AssertionError)"})
    );
    assert_eq!(answer["truncated"], json!(false));
    assert_eq!(answer.get("nextSeq"), None);
}

#[test]
fn case_002_to_005_texts_reach_the_service_as_they_are() {
    for text in [
        "flaky test",
        "FLAKY   TEST",
        "looking now bash",
        "secret plan",
        ".*",
        "(AssertionError)",
        "[",
        "\\",
        " padded ",
    ] {
        assert_eq!(
            filters(json!({"text": text})),
            [Filter::Text(text.to_owned())]
        );
    }
}

#[test]
fn case_006_surfaces_are_one_clause() {
    let ask = |names: &[&str]| filters(json!({"surfaces": names}));
    assert_eq!(
        ask(&["shadowed"]),
        [Filter::Surfaces(vec![Surface::Shadowed])]
    );
    assert_eq!(
        ask(&["current", "shadowed"]),
        [Filter::Surfaces(vec![Surface::Current, Surface::Shadowed])]
    );
    let answer = World::default().answer(QUERY, json!({"surfaces": ["log-only"]}));
    assert_eq!(seqs(&answer), [7, 10, 12]);
}

#[test]
fn case_007_types_without_text_match_nothing_and_are_no_error() {
    for event_type in ["assistant/chunk", "nope/x"] {
        let text = World::default().text(QUERY, json!({"types": [event_type]}));
        assert_eq!(text, r#"{"matches":[],"truncated":false}"#);
    }
}

#[test]
fn case_008_lists_are_checked() {
    let world = World::default();
    for name in ["types", "surfaces"] {
        world.assert_failure(
            QUERY,
            json!({ name: [] }),
            "SESSION_QUERY_INVALID_FILTER",
            &format!("{name} must contain at least one value when supplied"),
        );
    }
    world.assert_failure(
        QUERY,
        json!({"surfaces": ["bogus"]}),
        "INVALID_ARGS",
        r#"invalid arguments: "surfaces[0]" must be one of ["current","shadowed","log-only"]"#,
    );
    assert!(world.session.asked.borrow().is_empty());
}

#[test]
fn case_009_ranges_are_inclusive_and_must_not_be_reversed() {
    let world = World::default();
    let range = |from, to| json!({"seq_from": from, "seq_to": to});
    assert_eq!(seqs(&world.answer(QUERY, range(6, 8))), [6, 7, 8]);
    assert_eq!(seqs(&world.answer(QUERY, range(8, 8))), [8]);
    assert!(seqs(&world.answer(QUERY, range(13, 20))).is_empty());
    assert_eq!(
        filters(json!({"seq_to": 3})),
        [Filter::Seq {
            from: None,
            to: Some(3)
        }]
    );
    world.assert_failure(
        QUERY,
        range(8, 6),
        "SESSION_QUERY_INVALID_FILTER",
        "session seq filter from must be less than or equal to to",
    );
}

#[test]
fn case_010_bounds_must_be_safe_integers() {
    let world = World::default();
    for name in ["seq_from", "seq_to"] {
        for bad in [json!(-1), json!(9_007_199_254_740_992_u64), json!(1e300)] {
            world.assert_failure(
                QUERY,
                json!({ name: bad }),
                "SESSION_QUERY_INVALID_FILTER",
                &format!("{name} must be a non-negative safe integer"),
            );
        }
        for bad in [json!(1.5), json!("3"), json!(null)] {
            world.assert_failure(
                QUERY,
                json!({ name: bad }),
                "INVALID_ARGS",
                &format!("invalid arguments: \"{name}\" must be an integer"),
            );
        }
    }
}

#[test]
fn case_011_blank_texts_are_refused_as_javascript_sees_blank() {
    let world = World::default();
    for blank in ["", "   ", "\u{feff}"] {
        world.assert_failure(
            QUERY,
            json!({"text": blank}),
            "SESSION_QUERY_INVALID_FILTER",
            "session text filter must contain non-whitespace text",
        );
    }
    assert_eq!(
        filters(json!({"text": "\u{85}"})),
        [Filter::Text("\u{85}".to_owned())]
    );
}

#[test]
fn case_017_the_calling_step_is_left_out() {
    let mut session = FakeSession::fixture();
    session.events.extend([
        event("step/start", Surface::LogOnly, ""),
        event(
            "assistant/message",
            Surface::Current,
            "context_query\n{\"text\":\"FAILED\"}",
        ),
        event(
            "tool/call",
            Surface::LogOnly,
            "context_query\n{\"text\":\"FAILED\"}",
        ),
    ]);
    let mut world = World::with_session(session);
    world.caller.current_step = Some(13);
    let answer = world.answer(QUERY, json!({"text": "FAILED"}));
    assert_eq!(seqs(&answer), [8, 11]);
    assert_eq!(answer["truncated"], json!(false));
}

#[test]
fn case_018_without_a_step_nothing_is_left_out() {
    let mut world = World::default();
    world.caller.current_step = None;
    assert_eq!(seqs(&world.answer(QUERY, json!({"text": "timeout"}))), [12]);
    assert_eq!(world.session.asked.borrow()[0].1.before_seq, None);
}

#[test]
fn case_019_a_range_inside_the_calling_step_is_empty() {
    let mut world = World::default();
    world.caller.current_step = Some(11);
    let text = world.text(QUERY, json!({"seq_from": 11, "seq_to": 12}));
    assert_eq!(text, r#"{"matches":[],"truncated":false}"#);
}

#[test]
fn case_020_limit() {
    let world = World::default();
    let answer = world.answer(QUERY, json!({"limit": 1}));
    assert_eq!(seqs(&answer), [2]);
    assert_eq!(
        (&answer["truncated"], &answer["nextSeq"]),
        (&json!(true), &json!(6))
    );
    let answer = world.answer(QUERY, json!({"limit": 7}));
    assert_eq!(answer["truncated"], json!(false));
    world.answer(QUERY, json!({"limit": 200.0}));
    for bad in [json!(0), json!(-1), json!(201), json!(1e300)] {
        world.assert_failure(
            QUERY,
            json!({"limit": bad}),
            "CONTEXT_PROXY_INVALID_LIMIT",
            "limit must be an integer between 1 and 200",
        );
    }
    for bad in [json!(1.5), json!("3"), json!(null)] {
        world.assert_failure(
            QUERY,
            json!({"limit": bad}),
            "INVALID_ARGS",
            "invalid arguments: \"limit\" must be an integer",
        );
    }
}

#[test]
fn case_021_following_next_seq_shows_every_match_once() {
    // Every third event has no text, so that the numbers have gaps.
    let events = (0..450).map(|k| {
        let text = if k % 3 == 0 {
            String::new()
        } else {
            format!("entry {k}")
        };
        event("user/message", Surface::Current, text)
    });
    let world = World::with_session(FakeSession::new(events.collect()));
    let (mut seen, mut pages, mut from) = (Vec::new(), 0, Some(0));
    while let Some(seq) = from {
        let answer = world.answer(QUERY, json!({"seq_from": seq}));
        assert!(seqs(&answer).len() <= 50);
        seen.extend(seqs(&answer));
        pages += 1;
        from = answer["nextSeq"].as_u64();
        assert_eq!(answer["truncated"], json!(from.is_some()));
    }
    assert_eq!(seen, (0..450).filter(|k| k % 3 != 0).collect::<Vec<u64>>());
    assert_eq!(pages, 6);
}

#[test]
fn case_022_long_texts_are_cut_and_the_answer_stays_bounded() {
    // The byte 2,000 falls inside a character of four bytes.
    let long = format!("x{}", "😀".repeat(25_000));
    let world = World::with_session(FakeSession::new(vec![event(
        "tool/result",
        Surface::Current,
        long,
    )]));
    let answer = world.answer(QUERY, json!({}));
    let found = &answer["matches"][0];
    assert_eq!(found["text"], json!(format!("x{}", "😀".repeat(499))));
    assert_eq!(found["truncated"], json!(true));
    assert_eq!(answer["truncated"], json!(false));

    // A control character takes six bytes in JSON: few matches fit, and none is lost.
    let events = vec![
        event(
            &"\u{1}".repeat(5_000),
            Surface::Current,
            "\u{1}".repeat(9_000)
        );
        60
    ];
    let world = World::with_session(FakeSession::new(events));
    let (mut seen, mut from) = (Vec::new(), Some(0));
    while let Some(seq) = from {
        let text = world.text(QUERY, json!({"seq_from": seq, "limit": 200}));
        assert!(text.len() <= 48_000);
        let answer: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(!seqs(&answer).is_empty());
        seen.extend(seqs(&answer));
        from = answer["nextSeq"].as_u64();
    }
    assert_eq!(seen, (0..60).collect::<Vec<u64>>());
}

#[test]
fn case_025_an_empty_session_has_no_matches() {
    let world = World::with_session(FakeSession::new(Vec::new()));
    assert_eq!(world.text(QUERY, ""), r#"{"matches":[],"truncated":false}"#);
}

#[test]
fn case_026_conditions_are_combined() {
    let world = World::default();
    let arguments = json!({"text": "failed", "surfaces": ["current"]});
    assert_eq!(citations(&world.answer(QUERY, arguments)), ["session:11"]);
    let all = json!({"text": "t", "types": ["a", "b"], "surfaces": ["current"], "seq_from": 1, "seq_to": 2});
    assert_eq!(filters(all).len(), 4);
}
