//! The cases of SPEC 8 about how much of a search is read and shown.

use crate::support::grep_calls::{GREP, cite, in_file};
use crate::support::rg_output::{begin, end, hit, summary, whole};
use crate::support::{FakeSession, Run, SPILL_PATH, World, citations, event};
use dsh_context_proxy::services::Surface;
use serde_json::json;

#[test]
fn case_059_output_at_the_cap_is_whole_and_one_byte_more_is_not() {
    let records: Vec<String> = (1..=5).map(|line| hit(line, "a hit\n", "hit")).collect();
    let counted = format!("{}{}{}", begin(), records.concat(), end());
    let run = |cap: usize, chunk: usize| {
        let output = format!("{counted}{}", summary());
        let mut world = World::with_runs([Run::printing(output, 0).in_chunks_of(chunk)]);
        world.config.grep_max_bytes = cap as u64;
        let answer = world.answer(GREP, in_file("hit"));
        world.subprocess.assert_all_gone(1);
        let ended = world.subprocess.fates.borrow()[0].ended.get();
        (
            citations(&answer).len(),
            answer["truncated"] == json!(true),
            ended,
        )
    };
    for chunk in [1, 7, 100, 100_000] {
        // What follows the end of the file is not counted.
        assert_eq!(run(counted.len(), chunk), (5, false, true));
        assert_eq!(run(counted.len() - 1, chunk), (5, true, false));
        let upto_third = begin().len() + records[..3].concat().len();
        assert_eq!(run(upto_third, chunk), (3, true, false));
        assert_eq!(run(upto_third - 2, chunk), (2, true, false));
    }
}

#[test]
fn case_059_the_limit_ends_ripgrep_and_exactly_the_limit_is_whole() {
    let records: Vec<String> = (1..=4).map(|line| hit(line, "a hit\n", "hit")).collect();
    for (limit, truncated) in [(3, true), (4, false)] {
        let world = World::with_runs([Run::printing(whole(&records), 0).in_chunks_of(50)]);
        let answer = world.answer(
            GREP,
            json!({"pattern": "hit", "path": SPILL_PATH, "limit": limit}),
        );
        assert_eq!(citations(&answer).len(), limit);
        assert_eq!(answer["truncated"], json!(truncated));
        assert_eq!(answer.get("nextSeq"), None);
        world.subprocess.assert_all_gone(1);
        assert_eq!(world.subprocess.fates.borrow()[0].ended.get(), !truncated);
    }
    // A huge output is left after its first chunks.
    let chunk = (1..=1_000)
        .map(|line| hit(line, "a hit\n", "hit"))
        .collect::<String>();
    let run = Run {
        chunks: vec![format!("{}{chunk}", begin()).into_bytes(); 1_000],
        ..Run::default()
    };
    let world = World::with_runs([run]);
    world.answer(
        GREP,
        json!({"pattern": "hit", "path": SPILL_PATH, "limit": 1}),
    );
    assert_eq!(world.subprocess.fates.borrow()[0].chunks_read.get(), 1);
    assert!(world.subprocess.fates.borrow()[0].terminated.get());
}

#[test]
fn case_059_the_answers_own_size_ends_ripgrep_too() {
    let records: Vec<String> = (1..=60)
        .map(|line| hit(line, &format!("hit{}\n", "\u{1}".repeat(1_990)), "hit"))
        .collect();
    let world = World::with_runs([Run::printing(whole(&records), 0)]);
    let text = world.text(GREP, in_file("hit"));
    assert!(text.len() <= 48_000 && text.len() > 34_000);
    assert!(text.ends_with(r#"],"truncated":true}"#));
    world.subprocess.assert_all_gone(1);
}

#[test]
fn a_long_line_is_shown_around_its_first_hit() {
    let line = format!("{}hit{}hit\n", "é".repeat(2_000), "x".repeat(3_000));
    let world = World::with_runs([Run::printing(whole(&[hit(1, &line, "hit")]), 0)]);
    let answer = world.answer(GREP, in_file("hit"));
    let found = &answer["matches"][0];
    let text = found["text"].as_str().unwrap();
    assert!(text.len() <= 2_000 && text.len() > 1_990);
    let at = text.find("hit").unwrap();
    assert!((990..=1_000).contains(&at));
    assert_eq!(found["truncated"], json!(true));
    assert_eq!(answer["truncated"], json!(false));
}

#[test]
fn a_record_beyond_the_cap_is_cited_by_a_second_run() {
    let long = whole(&[hit(2, &format!("{}hit\n", "x".repeat(9_000)), "hit")]);
    let parts = "2:hit\n2:hit\n3:hit\n";
    for chunk in [1, 64, 100_000] {
        let runs = [
            Run::printing(long.clone(), 0).in_chunks_of(chunk),
            Run::printing(parts, 0).in_chunks_of(chunk),
        ];
        let mut world = World::with_runs(runs);
        world.config.grep_max_bytes = 4_000;
        let answer = world.answer(GREP, in_file("h.t"));
        assert_eq!(
            answer,
            json!({"source": "spill", "truncated": true, "matches": [
                {"text": "hit", "citation": cite(2), "truncated": true},
                {"text": "hit", "citation": cite(3), "truncated": true}
            ]})
        );
        world.subprocess.assert_all_gone(2);
        assert_eq!(
            world.subprocess.spawned.borrow()[1].argv,
            [
                "/opt/rg",
                "--no-config",
                "--only-matching",
                "--line-number",
                "--no-heading",
                "--no-filename",
                "--color=never",
                "--text",
                "--regexp=h.t",
                "--",
                SPILL_PATH
            ]
        );
    }
}

#[test]
fn a_match_beyond_the_cap_is_shown_by_its_beginning() {
    let long = whole(&[hit(7, &"x".repeat(9_000), "x")]);
    let part = format!("7:{}\n", "x".repeat(9_000));
    let mut world = World::with_runs([Run::printing(long, 0), Run::printing(part, 0)]);
    world.config.grep_max_bytes = 5_000;
    let answer = world.answer(GREP, in_file("x+"));
    assert_eq!(
        answer["matches"],
        json!([{"text": "x".repeat(2_000), "citation": cite(7), "truncated": true}])
    );
    assert_eq!(answer["truncated"], json!(true));
    world.subprocess.assert_all_gone(2);
}

#[test]
fn a_cap_below_ripgreps_statistics_still_tells_not_found_from_found() {
    let small = |second| {
        let mut world = World::with_runs([Run::printing(summary(), 1), second]);
        world.config.grep_max_bytes = 3;
        world
    };
    let answer = small(Run::printing("", 1)).answer(GREP, in_file("x"));
    assert_eq!(
        (&answer["matches"], &answer["truncated"]),
        (&json!([]), &json!(false))
    );
    let answer = small(Run::printing("7:hit\n", 0)).answer(GREP, in_file("x"));
    assert_eq!(
        answer["matches"],
        json!([{"text": "h", "citation": cite(7), "truncated": true}])
    );
    small(Run::printing("1234:hit\n", 0)).assert_failure(
        GREP,
        in_file("x"),
        "CONTEXT_PROXY_SEARCH_FAILED",
        "search failed (grepMaxBytes 3 is too small for one match)",
    );
}

#[test]
fn a_long_event_is_shown_around_the_hit_of_a_session_scan() {
    let text = format!("{}needle{}", "a".repeat(5_000), "b".repeat(5_000));
    let log = vec![event("tool/result", Surface::Current, text)];
    let mut world = World::with_session(FakeSession::new(log));
    world.caller.current_step = Some(40);
    let answer = world.answer(GREP, json!({"pattern": "needle"}));
    let found = &answer["matches"][0];
    assert_eq!(
        found["text"],
        json!(format!("{}needle{}", "a".repeat(997), "b".repeat(997)))
    );
    assert_eq!(found["truncated"], json!(true));
    assert_eq!(world.session.asked.borrow()[0].1.before_seq, Some(40));
}
