//! The cases of SPEC 8 about searches that fail or are aborted.

use crate::support::grep_calls::{GREP, failure, in_file};
use crate::support::rg_output::{begin, hit, summary, whole};
use crate::support::{FakeSubprocess, Run, World};
use dsh_context_proxy::errors::CallError;
use dsh_context_proxy::services::Exit;
use serde_json::json;

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
    let whole = whole(std::slice::from_ref(&record));
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
