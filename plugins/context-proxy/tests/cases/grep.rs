//! The cases of SPEC 8 about `context_grep` that need no real ripgrep and no real host.

use crate::support::grep_calls::{GREP, cite, failure, in_file};
use crate::support::rg_output::{hit, hit_in_bytes, summary, whole};
use crate::support::{Run, SPILL_PATH, World, citations};
use dsh_context_proxy::services::Access;
use serde_json::json;

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
