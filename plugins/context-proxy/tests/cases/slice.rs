//! The cases of SPEC 8 about `context_slice` that need no real host.

use crate::support::{FakeSession, World, event, seqs};
use dsh_context_proxy::services::Surface;
use serde_json::{Value, json};

const SLICE: &str = "context_slice";

#[test]
fn case_029_the_target_alone() {
    let text = World::default().text(SLICE, json!({"seq": 8}));
    assert_eq!(
        text,
        r#"{"seq":8,"startSeq":8,"endSeq":8,"items":[{"seq":8,"type":"tool/result","text":"FAILED tests/test_io.py::test_flaky (AssertionError)","citation":"session:8"}]}"#
    );
}

#[test]
fn case_030_neighbours_are_raw_events() {
    let answer = World::default().answer(SLICE, json!({"seq": 8, "before": 1, "after": 1}));
    assert_eq!(seqs(&answer), [7, 8, 9]);
    assert_eq!(
        answer["items"][2],
        json!({"seq": 9, "type": "step/end", "text": "", "citation": "session:9"})
    );
}

#[test]
fn case_031_a_window_ends_where_the_log_ends() {
    let world = World::default();
    let answer = world.answer(SLICE, json!({"seq": 0, "before": 50}));
    assert_eq!(
        (&answer["startSeq"], &answer["endSeq"]),
        (&json!(0), &json!(0))
    );
    let answer = world.answer(SLICE, json!({"seq": 12, "after": 50}));
    assert_eq!(
        (&answer["startSeq"], &answer["endSeq"]),
        (&json!(12), &json!(12))
    );
}

#[test]
fn case_032_window_arguments() {
    let world = World::default();
    for name in ["before", "after"] {
        for bad in [51, 9_007_199_254_740_991_u64] {
            world.assert_failure(
                SLICE,
                json!({"seq": 8, name: bad}),
                "SESSION_QUERY_INVALID_WINDOW",
                &format!("{name} must be an integer between 0 and 50"),
            );
        }
        world.assert_failure(
            SLICE,
            json!({"seq": 8, name: -1}),
            "SESSION_QUERY_INVALID_FILTER",
            &format!("{name} must be a non-negative safe integer"),
        );
        world.assert_failure(
            SLICE,
            json!({"seq": 8, name: 0.5}),
            "INVALID_ARGS",
            &format!("invalid arguments: \"{name}\" must be an integer"),
        );
    }
    world.assert_failure(
        SLICE,
        json!({}),
        "INVALID_ARGS",
        "invalid arguments: missing required property \"seq\"",
    );
}

#[test]
fn case_033_seq() {
    let world = World::default();
    world.assert_failure(
        SLICE,
        json!({"seq": 13}),
        "SESSION_QUERY_EVENT_NOT_FOUND",
        "session event was not found",
    );
    for bad in [json!(-1), json!(9_007_199_254_740_992_u64)] {
        world.assert_failure(
            SLICE,
            json!({"seq": bad}),
            "SESSION_QUERY_INVALID_FILTER",
            "seq must be a non-negative safe integer",
        );
    }
    assert_eq!(seqs(&world.answer(SLICE, "{\"seq\":2.0}")), [2]);
}

#[test]
fn case_034_a_target_without_text_shows_its_data() {
    let mut session = FakeSession::fixture();
    session.events[4].data =
        "{ \"turn\": 1.0, \"chunk\": {\"text\": \"\\ud83d\", \"type\": \"text-delta\"} }"
            .to_owned();
    let world = World::with_session(session);
    assert_eq!(
        world.answer(SLICE, json!({"seq": 4, "before": 1}))["items"],
        json!([
            {"seq": 3, "type": "assistant/chunk", "text": "", "citation": "session:3"},
            {"seq": 4, "type": "assistant/chunk", "text": "", "citation": "session:4",
             "data": {"turn": 1, "chunk": {"text": "\u{fffd}", "type": "text-delta"}}}
        ])
    );
}

#[test]
fn the_models_own_request_is_not_shown_as_data() {
    let log = vec![event("request/header", Surface::LogOnly, "")];
    let world = World::with_session(FakeSession::new(log));
    let answer = world.answer(SLICE, json!({"seq": 0}));
    assert_eq!(
        answer["items"],
        json!([{"seq": 0, "type": "request/header", "text": "", "citation": "session:0"}])
    );
}

#[test]
fn case_035_the_configured_window_stands_in_for_missing_arguments() {
    let mut world = World::default();
    world.config.read_window_default = 2;
    assert_eq!(
        seqs(&world.answer(SLICE, json!({"seq": 8}))),
        [6, 7, 8, 9, 10]
    );
    let answer = world.answer(SLICE, json!({"seq": 8, "before": 0}));
    assert_eq!(seqs(&answer), [8, 9, 10]);
}

#[test]
fn case_036_the_target_is_whole_and_neighbours_are_cut() {
    let log = vec![
        event("user/message", Surface::Current, "é".repeat(3_000)),
        event("tool/result", Surface::Shadowed, "x".repeat(80_000)),
        event("tool/result", Surface::Current, "short"),
    ];
    let world = World::with_session(FakeSession::new(log));
    let answer = world.answer(SLICE, json!({"seq": 1, "before": 1, "after": 1}));
    let items = answer["items"].as_array().unwrap();
    assert_eq!(items[0]["text"], json!("é".repeat(1_000)));
    assert_eq!(items[0]["truncated"], json!(true));
    assert_eq!(items[1]["text"], json!("x".repeat(80_000)));
    assert_eq!(items[1].get("truncated"), None);
    assert_eq!(items[2].get("truncated"), None);
}

#[test]
fn case_037_an_inherited_event_is_read_under_the_childs_own_number() {
    // The component sees one log and no seed: the number goes to the service as it is.
    let world = World::default();
    world.answer(SLICE, json!({"seq": 2, "before": 1, "after": 3}));
    assert_eq!(*world.session.read.borrow(), [(2, 1, 3)]);
}

#[test]
fn many_long_neighbours_share_the_size_of_the_answer() {
    for (neighbour, target) in [
        ("n".repeat(5_000), 10),
        ("\u{1}".repeat(5_000), 10),
        ("n".repeat(5_000), 30_000),
        ("\u{1}".repeat(5_000), 200_000),
    ] {
        let odd_type = "\u{1}".repeat(4_000);
        let mut log = vec![event(&odd_type, Surface::Current, neighbour); 101];
        log[50] = event("tool/result", Surface::Current, "t".repeat(target));
        let world = World::with_session(FakeSession::new(log));
        let text = world.text(SLICE, json!({"seq": 50, "before": 50, "after": 50}));
        assert!(text.len() <= 48_000.max(target + 24_300), "{}", text.len());
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(seqs(&answer), (0..=100).collect::<Vec<u64>>());
        let items = answer["items"].as_array().unwrap();
        assert_eq!(items[50]["text"], json!("t".repeat(target)));
        let cut = items[0]["text"].as_str().unwrap().len();
        for item in items.iter().filter(|item| item["seq"] != json!(50)) {
            assert_eq!(item["text"].as_str().unwrap().len(), cut);
            assert_eq!(item["truncated"], json!(true));
        }
        // Nothing is wasted: with one more character of each text the answer would be too long.
        assert!(cut > 0 && text.len() + 100 * 6 + 128 > 48_000.max(target + 24_000));
    }
}
