//! The history tools on a real `$DSH_HOME`, and what the demo shows of them.

use crate::history::{LOG, place};
use crate::support::{Place, Run};
use serde_json::json;

#[test]
fn the_tools_read_the_sessions_of_dsh_and_leave_them_alone() {
    let place = place();
    let log = place.path().join(".dsh/sessions").join(LOG);
    let before = (
        std::fs::read(&log).unwrap(),
        std::fs::metadata(&log).unwrap().modified().unwrap(),
    );
    let call = |tool: &str, arguments: &str| {
        place.run(&["call", tool, arguments, "--session", "session-1"])
    };
    let found = call(
        "context_query",
        r#"{"text":"flaky","surfaces":["shadowed"]}"#,
    )
    .success();
    let expected = "{\"matches\":[{\"seq\":8,\"type\":\"tool/result\",\"text\":\"FAILED tests/test_io.py::test_flaky (AssertionError)\",\"citation\":\"session:8\"}],\"truncated\":false}\n";
    assert_eq!(found, expected);
    let read = call("context_slice", r#"{"seq":8}"#).json();
    assert_eq!(read["items"][0]["citation"], "session:8");
    let scan = call("context_grep", r#"{"pattern":"failed TESTS"}"#).json();
    assert_eq!(scan["matches"].as_array().unwrap().len(), 2);
    let refused = call("context_slice", r#"{"seq":99}"#);
    let told = (refused.code, refused.stdout.as_str());
    assert_eq!(told, (Some(1), "Error: session event was not found\n"));
    let logged = "session \"session-1\" has no event at seq 99";
    assert!(refused.stderr.contains(logged), "{refused:?}");
    let absent = place.run(&["call", "context_query", "{}", "--session", "absent"]);
    assert_eq!(absent.stdout, "Error: session was not found\n");
    let nobody = place.run(&["call", "context_query", "{}"]);
    assert_eq!(
        nobody.stdout,
        "Error: context tools require an agent-bound session\n"
    );
    let after = (
        std::fs::read(&log).unwrap(),
        std::fs::metadata(&log).unwrap().modified().unwrap(),
    );
    assert_eq!(before, after);
}

/// A program that answers as ripgrep does for one hit in line 3, and the profile that names it.
fn scripted_ripgrep(place: &Place) -> String {
    let record = r#"{"type":"begin","data":{"path":{"text":"x"}}}
{"type":"match","data":{"path":{"text":"x"},"lines":{"text":"the hit\n"},"line_number":3,"absolute_offset":0,"submatches":[{"match":{"text":"hit"},"start":4,"end":7}]}}
{"type":"end","data":{"path":{"text":"x"},"binary_offset":null,"stats":{}}}"#;
    place.write(
        "rg",
        format!("#!/bin/sh\ncat <<'END'\n{record}\nEND\n").as_bytes(),
    );
    let path = place.path().join("rg");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&path, mode).unwrap();
    format!(
        "- {{ name: dsh-context-proxy, config: {{ rgPath: {} }} }}",
        path.display()
    )
}

#[test]
fn a_configured_ripgrep_searches_a_configured_spill_root() {
    let place = place();
    let profile = scripted_ripgrep(&place);
    // The hash of `session-1`, as `printf session-1 | sha256sum | head -c 12` prints it.
    let spill = place.path().join("spill/session-84097828fc31");
    std::fs::create_dir_all(&spill).unwrap();
    let file = spill.join("0123456789ab-bash.txt");
    std::fs::write(&file, "a\nb\nthe hit\n").unwrap();
    let arguments = json!({"pattern": "hit", "path": file.to_str().unwrap()}).to_string();
    let call = ["call", "context_grep", &arguments, "--session", "session-1"];
    let found = place.run_with_profile(&profile, &[&call[..], &["--spill-root", "spill"]].concat());
    let found = found.json();
    let citation = format!("{}:3", file.display());
    assert_eq!(
        found["matches"],
        json!([{"text": "the hit", "citation": citation}])
    );
    let denied = place.run_with_profile(&profile, &call);
    assert_eq!(
        denied.stdout,
        "Error: path is not a spill file of this session\n"
    );
    let plugins = place.run_with_profile(&profile, &["plugins"]).success();
    assert!(
        plugins.contains(&format!(
            "{}, to search one spill file",
            place.path().join("rg").display()
        )),
        "{plugins}"
    );
}

#[test]
fn a_ripgrep_that_is_missing_is_named_in_the_log() {
    let place = place();
    let spill = place.path().join("spill/session-84097828fc31");
    std::fs::create_dir_all(&spill).unwrap();
    std::fs::write(spill.join("a.txt"), "x\n").unwrap();
    let arguments =
        json!({"pattern": "x", "path": spill.join("a.txt").to_str().unwrap()}).to_string();
    let call = [
        "call",
        "context_grep",
        &arguments,
        "--session",
        "session-1",
        "--spill-root",
        "spill",
    ];
    let none = Run::of(
        place
            .command(&call)
            .env("PATH", "/nowhere")
            .output()
            .unwrap(),
    );
    assert_eq!(
        (none.code, none.stdout.as_str()),
        (Some(1), "Error: search could not start\n")
    );
    assert!(
        none.stderr
            .contains("executable \"rg\" was not found on PATH"),
        "{none:?}"
    );
    assert!(none.stderr.contains("rgPath"), "{none:?}");
    let profile = "- { name: dsh-context-proxy, config: { rgPath: /nowhere/rg } }";
    let wrong = place.run_with_profile(profile, &call);
    assert!(
        wrong
            .stderr
            .contains("\"/nowhere/rg\" is not an executable file"),
        "{wrong:?}"
    );
    let relative = place.run_with_profile(
        "- { name: dsh-context-proxy, config: { rgPath: rg } }",
        &call,
    );
    relative.refused("a relative path", &["rgPath must be an absolute path"]);
}

#[test]
fn the_demo_reads_history_back_and_says_what_it_lacks() {
    let place = Place::new();
    let output = place.command(&["demo"]).env("PATH", "").output().unwrap();
    let shown = Run::of(output).success();
    for expected in [
        "Reading back history",
        "context_query {\"limit\":3,\"text\":\"exit code\"}",
        "session:25  tool/result",
        "context_slice",
        "session:22  tool/call",
        "there is none: executable \"rg\" was not found on PATH",
        "context_grep {\"limit\":2,\"pattern\":\"NEEDLE-945\"}",
        "session:55",
    ] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    let files = "- { name: dsh-file-reference-local }";
    let both = format!("{files}\n{}", scripted_ripgrep(&place));
    let shown = place.run_with_profile(&both, &["demo"]).success();
    assert!(
        shown.contains("45c4336f91a0-bash.txt:3    the hit"),
        "{shown}"
    );
    let shown = place.run_with_profile(files, &["demo"]).success();
    assert!(shown.contains("The profile has no such row."), "{shown}");
}
