//! The cases of SPEC 8 about `context_grep` that need no real ripgrep and no real host.

use crate::support::rg_output::{begin, end, hit, hit_in_bytes, summary, whole};
use crate::support::{FakeSession, FakeSubprocess, Run, SPILL_PATH, World, citations, event};
use dsh_context_proxy::errors::{CallError, Failure};
use dsh_context_proxy::services::{Access, Exit, Surface};
use serde_json::{Value, json};

const GREP: &str = "context_grep";

fn in_file(pattern: &str) -> Value {
    json!({"pattern": pattern, "path": SPILL_PATH})
}

fn cite(line: u64) -> String {
    format!("{SPILL_PATH}:{line}")
}

fn failure(message: &str) -> Failure {
    Failure {
        name: None,
        code: Some("SUBPROCESS_FAILED".to_owned()),
        message: message.to_owned(),
    }
}

#[test]
fn case_051_a_hit_is_a_line_and_its_citation() {
    let output = whole(&[
        hit(3, "a hit\r\n", "hit"),
        hit(4, "hit\n", "hit"),
        hit(9, "last hit", "hit"),
    ]);
    let world = World::with_runs([Run::printing(output, 0)]);
    assert_eq!(
        world.text(GREP, in_file("hit")),
        format!(
            r#"{{"source":"spill","matches":[{{"text":"a hit","citation":"{SPILL_PATH}:3"}},{{"text":"hit","citation":"{SPILL_PATH}:4"}},{{"text":"last hit","citation":"{SPILL_PATH}:9"}}],"truncated":false}}"#
        )
    );
    world.subprocess.assert_all_gone(1);
    let spec = world.subprocess.spawned.borrow()[0].clone();
    assert_eq!(
        (spec.cwd.as_str(), spec.grace_ms, spec.stderr_max_bytes),
        ("/work/app", 5_000, 65_536)
    );
}

#[test]
fn case_052_colons_in_path_and_text() {
    let path = "/tmp/dir:1:x/a.txt";
    let output = whole(&[hit(2, "b:12:hit\n", "hit")]).replace(SPILL_PATH, path);
    let mut world = World::with_runs([Run::printing(output, 0)]);
    world.spill.answer = Ok(Access::Granted(path.to_owned()));
    let answer = world.answer(GREP, json!({"pattern": "hit", "path": path}));
    assert_eq!(
        answer["matches"],
        json!([{"text": "b:12:hit", "citation": "/tmp/dir:1:x/a.txt:2"}])
    );
}

#[test]
fn case_053_no_hit_is_an_empty_answer() {
    let world = World::with_runs([Run::printing(summary(), 1)]);
    assert_eq!(
        world.text(GREP, in_file("zzz")),
        r#"{"source":"spill","matches":[],"truncated":false}"#
    );
}

#[test]
fn case_054_a_rejected_pattern_is_told_with_ripgreps_words() {
    for stderr in [
        "rg: regex parse error:\n    (?:()\n    ^\nerror: unclosed group\n",
        "rg: the literal \"\\n\" is not allowed in a regex\n",
        "rg: compiled regex exceeds size limit of 104857600\n",
    ] {
        let world = World::with_runs([Run::failing(2, stderr)]);
        world.assert_failure(
            GREP,
            in_file("("),
            "CONTEXT_PROXY_INVALID_PATTERN",
            &format!("pattern rejected by ripgrep: {}", stderr.trim_end()),
        );
        world.subprocess.assert_all_gone(1);
    }
}

#[test]
fn case_055_hostile_patterns_stay_one_argument() {
    for pattern in [
        "--files",
        "-e",
        "$(touch x)",
        "`id`",
        "\"'\\",
        "a b",
        "--",
        "é\n",
    ] {
        let world = World::with_runs([Run::printing(summary(), 1)]);
        world.answer(GREP, in_file(pattern));
        assert_eq!(
            world.subprocess.spawned.borrow()[0].argv,
            [
                "/opt/rg",
                "--no-config",
                "--json",
                "--text",
                &format!("--regexp={pattern}"),
                "--",
                SPILL_PATH
            ]
        );
    }
    let world = World::default();
    world.assert_failure(
        GREP,
        in_file("a\0b"),
        "CONTEXT_PROXY_INVALID_PATTERN",
        "pattern must not contain a NUL character",
    );
    world.assert_failure(
        GREP,
        in_file(&"x".repeat(65_537)),
        "CONTEXT_PROXY_INVALID_PATTERN",
        "pattern must be at most 65536 bytes long",
    );
    world.subprocess.assert_all_gone(0);
}

#[test]
fn case_056_empty_and_blank_patterns() {
    let world = World::with_runs([Run::printing(summary(), 1)]);
    for arguments in [in_file(""), json!({"pattern": ""})] {
        world.assert_failure(
            GREP,
            arguments,
            "CONTEXT_PROXY_INVALID_PATTERN",
            "pattern must be a non-empty string",
        );
    }
    world.answer(GREP, in_file("  "));
    world.assert_failure(
        GREP,
        json!({"pattern": "  "}),
        "SESSION_QUERY_INVALID_FILTER",
        "session text filter must contain non-whitespace text",
    );
}

#[test]
fn case_058_bytes_that_are_not_text() {
    // "bad \xff hit\r\n", and "nul\0 hit\n", which is valid text.
    let records = [
        hit_in_bytes(4, "YmFkIP8gaGl0DQo=", 6, 9),
        hit(5, "nul\0 hit\n", "hit"),
    ];
    let world = World::with_runs([Run::printing(whole(&records), 0)]);
    let answer = world.answer(GREP, in_file("hit"));
    assert_eq!(
        answer["matches"],
        json!([{"text": "bad \u{fffd} hit", "citation": cite(4)}, {"text": "nul\0 hit", "citation": cite(5)}])
    );
}

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
fn case_060_each_backend_is_needed_only_where_it_is_used() {
    let world = World::with_runs([Run::printing(summary(), 1)]);
    world.session.available.set(false);
    world.answer(GREP, in_file("x"));
    world.subprocess.available.set(false);
    world.assert_failure(
        GREP,
        in_file("x"),
        "CONTEXT_PROXY_BACKEND_UNAVAILABLE",
        "subprocess backend unavailable",
    );
    world.assert_failure(
        GREP,
        json!({"pattern": "x"}),
        "CONTEXT_PROXY_BACKEND_UNAVAILABLE",
        "session query backend unavailable",
    );
    world.session.available.set(true);
    assert_eq!(
        world.answer(GREP, json!({"pattern": "x"}))["source"],
        json!("session")
    );
}

#[test]
fn case_061_the_hosts_judgement_decides() {
    let mut world = World::default();
    world.spill.answer = Ok(Access::Denied);
    for path in ["/etc/passwd", "/spill/../etc/passwd"] {
        world.assert_failure(
            GREP,
            json!({"pattern": "x", "path": path}),
            "CONTEXT_PROXY_PATH_DENIED",
            "path is not a spill file of this session",
        );
    }
    assert_eq!(
        *world.spill.asked.borrow(),
        ["/etc/passwd", "/spill/../etc/passwd"]
    );

    world.spill.answer = Ok(Access::Vanished);
    assert_eq!(
        world.text(GREP, in_file("pruned")),
        r#"{"source":"session","matches":[{"text":"FAILED tests (pruned)","citation":"session:11"}],"truncated":false,"note":"spill path not available; literal session scan used"}"#
    );
    world.assert_failure(
        GREP,
        in_file(" "),
        "SESSION_QUERY_INVALID_FILTER",
        "session text filter must contain non-whitespace text",
    );
    world.session.available.set(false);
    world.assert_failure(
        GREP,
        in_file("x"),
        "CONTEXT_PROXY_BACKEND_UNAVAILABLE",
        "session query backend unavailable",
    );
    world.spill.answer = Err(failure("no spill root"));
    world.assert_failure(
        GREP,
        in_file("x"),
        "CONTEXT_PROXY_SEARCH_FAILED",
        "search could not start",
    );
    world.subprocess.assert_all_gone(0);
}

#[test]
fn case_061_what_cannot_be_a_spill_path_is_refused_before_the_host_is_asked() {
    let world = World::default();
    let long = format!("/{}", "x".repeat(4_096));
    for path in [
        "",
        "  ",
        "spill/a.txt",
        "./a",
        "~/.ssh/x",
        "/a\0b",
        "/a\nb",
        &long,
    ] {
        world.assert_failure(
            GREP,
            json!({"pattern": "x", "path": path}),
            "CONTEXT_PROXY_INVALID_PATH",
            "path must be an absolute spill path",
        );
    }
    assert!(world.spill.asked.borrow().is_empty());
}

#[test]
fn the_granted_path_is_searched_and_the_given_one_is_cited() {
    let mut world = World::with_runs([Run::printing(whole(&[hit(1, "hit\n", "hit")]), 0)]);
    world.spill.answer = Ok(Access::Granted("/private/spill/a".to_owned()));
    world.caller.cwd = None;
    let answer = world.answer(GREP, json!({"pattern": "hit", "path": "/spill/a"}));
    assert_eq!(citations(&answer), ["/spill/a:1"]);
    let spec = world.subprocess.spawned.borrow()[0].clone();
    assert_eq!(spec.argv.last().unwrap(), "/private/spill/a");
    assert_eq!(spec.cwd, "/");
}

#[test]
fn case_064_without_a_path_the_session_is_scanned_literally() {
    let world = World::default();
    let answer = world.answer(GREP, json!({"pattern": "FAILED tests"}));
    assert_eq!(citations(&answer), ["session:8", "session:11"]);
    assert_eq!(answer["source"], json!("session"));
    let answer = world.answer(GREP, json!({"pattern": "FAILED.*"}));
    assert_eq!(
        (&answer["matches"], &answer["source"]),
        (&json!([]), &json!("session"))
    );
    let answer = world.answer(GREP, json!({"pattern": "FAILED", "limit": 1}));
    assert_eq!(
        (&answer["truncated"], &answer["nextSeq"]),
        (&json!(true), &json!(11))
    );
    world.subprocess.assert_all_gone(0);
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

#[test]
fn case_065_an_abort_ends_ripgrep_and_waits_for_its_end() {
    let mut world = World::default();
    let slow = Run {
        hangs: Some(world.signal.clone()),
        ..Run::printing(format!("{}{}", begin(), hit(1, "hit\n", "hit")), 0)
    };
    world.subprocess = FakeSubprocess::with_runs([slow]);
    assert_eq!(world.call(GREP, in_file("hit")), Err(CallError::Aborted));
    world.subprocess.assert_all_gone(1);
    assert!(world.subprocess.fates.borrow()[0].terminated.get());

    let world = World::default();
    world.signal.abort();
    assert_eq!(world.call(GREP, in_file("hit")), Err(CallError::Aborted));
    world.subprocess.assert_all_gone(0);
}

#[test]
fn case_066_a_missing_ripgrep_fails_searches_of_files_alone() {
    let mut world = World::default();
    world.subprocess.rg = Err(failure("rg: not found"));
    let could_not_start = |world: &World| {
        world.assert_failure(
            GREP,
            in_file("x"),
            "CONTEXT_PROXY_SEARCH_FAILED",
            "search could not start",
        );
    };
    could_not_start(&world);
    world.answer("context_query", json!({}));
    world.answer("context_slice", json!({"seq": 8}));
    world.answer(GREP, json!({"pattern": "x"}));

    world = World::default();
    world.subprocess.refusal = Some(failure("denied"));
    could_not_start(&world);

    let broken = Run {
        broken: Some(failure("ENOENT")),
        ..Run::default()
    };
    let world = World::with_runs([broken]);
    could_not_start(&world);
    world.subprocess.assert_all_gone(1);
}

#[test]
fn failures_of_ripgrep_are_told() {
    let failed = |run: Run, message: &str| {
        let world = World::with_runs([run]);
        world.assert_failure(GREP, in_file("x"), "CONTEXT_PROXY_SEARCH_FAILED", message);
        world.subprocess.assert_all_gone(1);
    };
    failed(
        Run::failing(2, "rg: /x: Is a directory (os error 21)\n"),
        "search failed (exit 2): rg: /x: Is a directory (os error 21)",
    );
    failed(Run::failing(3, ""), "search failed (exit 3)");
    let killed = Run {
        exit: Exit {
            code: None,
            signal: Some("SIGKILL".to_owned()),
        },
        ..Run::printing(summary(), 0)
    };
    failed(killed, "search was killed by signal SIGKILL");
    // Some matches do not make a success of a run that failed.
    let half = Run {
        stderr: "rg: I/O error".to_owned(),
        ..Run::printing(whole(&[hit(1, "hit\n", "hit")]), 2)
    };
    failed(half, "search failed (exit 2): rg: I/O error");
}

#[test]
fn output_that_cannot_be_right_is_never_taken_for_an_answer() {
    let record = hit(1, "hit\n", "hit");
    let whole = whole(&[record.clone()]);
    let unreadable = "search failed (the output of ripgrep could not be read)";
    let cut_off = "search failed (the output of ripgrep stops in the middle)";
    let cases = [
        ("not json\n".to_owned(), 0, unreadable),
        (record.replace("line_number", "line"), 0, unreadable),
        (
            record.replace("\"line_number\":1", "\"line_number\":null"),
            0,
            unreadable,
        ),
        (record.replace("lines", "line"), 0, unreadable),
        (
            record.replace("\"text\":\"hit\\n\"", "\"bytes\":\"?\""),
            0,
            unreadable,
        ),
        (record.replace("submatches", "matches"), 0, unreadable),
        (record.replace("\"start\":0", "\"start\":-1"), 0, unreadable),
        ("{\"type\":\"match\"}\n".to_owned(), 0, unreadable),
        (format!("{}{record}", begin()), 0, cut_off),
        (format!("{}{}", begin(), &record[..20]), 1, cut_off),
        (
            summary(),
            0,
            "search failed (ripgrep reported a match and printed none)",
        ),
        (
            whole,
            1,
            "search failed (ripgrep printed a match and reported none)",
        ),
    ];
    for (output, code, message) in cases {
        let world = World::with_runs([Run::printing(output, code)]);
        world.assert_failure(GREP, in_file("x"), "CONTEXT_PROXY_SEARCH_FAILED", message);
        world.subprocess.assert_all_gone(1);
    }
}
