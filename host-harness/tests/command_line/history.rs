//! The commands over recorded sessions.

use crate::support::{Place, Run};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A place whose `$DSH_HOME` holds the example session of the history plugin's specification.
pub fn place() -> Place {
    let place = Place::new();
    put_log(&place, ".dsh/sessions", |_| {});
    place
}

pub const LOG: &str = "--work-app--/session-1/session.jsonl";

fn put_log(place: &Place, root: &str, change: impl Fn(&mut Vec<u8>)) -> PathBuf {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/sessions");
    let mut log = std::fs::read(golden.join("v0/example-4-4/sessions").join(LOG)).unwrap();
    change(&mut log);
    let path = place.path().join(root).join(LOG);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, log).unwrap();
    path
}

/// The error object of a run under `--json`, which exits with 1 and writes nothing elsewhere.
fn error(run: Run) -> (String, String) {
    assert_eq!((run.code, run.stderr.as_str()), (Some(1), ""), "{run:?}");
    let value: Value = serde_json::from_str(&run.stdout).unwrap();
    let keys: Vec<_> = value.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["error"]);
    let text = |key: &str| value["error"][key].as_str().unwrap().to_owned();
    (text("code"), text("message"))
}

#[test]
fn sessions_are_listed_as_the_service_lists_them() {
    let place = place();
    let listed = place.run(&["sessions", "--json"]).json();
    let header = json!({"version": 0, "id": "session-1", "createdAt": 1_767_225_600_000_u64, "cwd": "/work/app", "delegationDepth": 0});
    assert_eq!(
        listed,
        json!([{"header": header, "live": false, "persisted": true}])
    );
    let shown = place.run(&["sessions"]).success();
    assert_eq!(shown, "session-1  2026-01-01 00:00:00.000Z  /work/app\n");
    put_log(&place, "elsewhere", |_| {});
    for root in ["elsewhere", "./elsewhere/../elsewhere"] {
        let listed = place
            .run(&["sessions", "--json", "--sessions", root])
            .json();
        assert_eq!(listed.as_array().unwrap().len(), 1, "{root}");
    }
    std::fs::create_dir(place.path().join("empty")).unwrap();
    let empty = place.run(&["sessions", "--sessions", "empty"]);
    assert_eq!((empty.code, empty.stdout.as_str()), (Some(0), ""));
    let told = format!(
        "no session lies in {}\n",
        place.path().join("empty").display()
    );
    assert_eq!(empty.stderr, told);
    let absent = place.run(&["sessions", "--json", "--sessions", "absent"]);
    absent.refused("--sessions", &["--sessions", "absent"]);
    let (code, message) = error(place.run(&["sessions", "--json", "--sessions", "README.md"]));
    assert_eq!(code, "SESSION_QUERY_PERSISTENCE_FAILED");
    assert!(message.contains("README.md"), "{message}");
}

#[test]
fn the_home_of_dsh_is_found_as_dsh_finds_it() {
    let place = place();
    let count = |home: Option<&str>, dsh: Option<&str>| {
        let mut command = place.command(&["sessions", "--json"]);
        command.env_remove("DSH_HOME").env_remove("HOME");
        command.envs(home.map(|home| ("HOME", place.path().join(home))));
        command.envs(dsh.map(|dsh| ("DSH_HOME", dsh)));
        let listed = Run::of(command.output().unwrap()).json();
        listed.as_array().unwrap().len()
    };
    assert_eq!(count(Some("."), None), 1, "$HOME/.dsh");
    assert_eq!(count(Some("."), Some("")), 1, "empty");
    assert_eq!(count(Some("."), Some("  ")), 1, "blank");
    assert_eq!(count(Some("docs"), Some(".dsh")), 1, "relative");
    assert_eq!(count(Some("."), Some("docs")), 0, "another");
    assert_eq!(count(Some("docs"), None), 0);
}

#[test]
fn queries_answer_what_filter_events_answers() {
    let place = place();
    let query = |filters: &str| place.run(&["query", "--json", "session-1", filters]);
    let seqs = |filters: &str| -> Vec<u64> {
        let found = query(filters).json();
        let found = found.as_array().unwrap().iter();
        found.map(|event| event["seq"].as_u64().unwrap()).collect()
    };
    assert_eq!(seqs("[]"), [2, 6, 7, 8, 10, 11, 12]);
    assert_eq!(seqs(r#"[{"kind":"text","text":"FLAKY test"}]"#), [2]);
    assert_eq!(seqs(r#"[{"kind":"surface","values":["shadowed"]}]"#), [8]);
    assert_eq!(
        seqs(r#"[{"kind":"seq","from":6.5,"to":8},{"kind":"type","values":["tool/result"]}]"#),
        [8]
    );
    assert_eq!(seqs(r#"[{"kind":"text","text":"\ud83d"}]"#), [0; 0]);
    let one = query(r#"[{"kind":"text","text":"pruned"}]"#).json();
    let expected = json!([{"sessionId": "session-1", "seq": 11, "type": "tool/result", "time": 1_767_225_602_003_u64,
        "surface": "current", "text": "FAILED tests (pruned)"}]);
    assert_eq!(one, expected);
    let shown = place.run(&["query", "session-1", r#"[{"kind":"text","text":"pruned"}]"#]);
    let expected =
        "session:11  tool/result  2026-01-01 00:00:02.003Z  current\n    FAILED tests (pruned)\n";
    assert_eq!(shown.success(), expected);
    let none = place.run(&["query", "session-1", r#"[{"kind":"type","values":[]}]"#]);
    assert_eq!(none.success(), "");
}

#[test]
fn filters_are_read_from_standard_input() {
    let place = place();
    place.write("filters.json", br#"[{"kind":"seq","to":2}]"#);
    let filters = std::fs::File::open(place.path().join("filters.json")).unwrap();
    let mut command = place.command(&["query", "--json", "--", "session-1", "-"]);
    let found = Run::of(command.stdin(filters).output().unwrap()).json();
    assert_eq!(found.as_array().unwrap().len(), 1);
}

#[test]
fn events_are_read_with_their_neighbours() {
    let place = place();
    let window = place
        .run(&[
            "read-event",
            "--before",
            "1",
            "--after=1",
            "--json",
            "--",
            "session-1",
            "8",
        ])
        .json();
    assert_eq!(
        (&window["startSeq"], &window["endSeq"]),
        (&json!(7), &json!(9))
    );
    assert_eq!(window["target"]["seq"], 8);
    assert_eq!(window["session"]["id"], "session-1");
    assert_eq!(window["events"].as_array().unwrap().len(), 3);
    assert_eq!(window["events"][1], window["target"]);
    let chunk = place
        .run(&["read-event", "--json", "session-1", "4"])
        .json();
    assert_eq!(chunk["target"]["time"], 1_767_225_601_212_u64);
    let shown = place
        .run(&["read-event", "--before", "1", "session-1", "8"])
        .success();
    let expected = "session:7  tool/call  2026-01-01 00:00:01.301Z\n    bash\n    {\"command\":\"pytest -q\"}\n\
        session:8  tool/result  2026-01-01 00:00:02.000Z  (asked for)\n    FAILED tests/test_io.py::test_flaky (AssertionError)\n";
    assert_eq!(shown, expected);
    let data = place.run(&["read-event", "session-1", "9"]).success();
    assert!(data.contains(r#"    {"turn":1,"step":1}"#), "{data}");
}

#[test]
fn the_service_judges_what_it_is_given_and_its_errors_are_json() {
    let place = place();
    let of = |arguments: &[&str]| error(place.run(&[arguments, &["--json"]].concat()));
    let window = "SESSION_QUERY_INVALID_WINDOW";
    for (option, text) in [
        ("--before=-1", "before must be an integer between 0 and 50"),
        ("--before=51", "before must be an integer between 0 and 50"),
        ("--before=0.5", "before must be an integer between 0 and 50"),
        (
            "--before=many",
            "before must be an integer between 0 and 50",
        ),
        ("--before=", "before must be an integer between 0 and 50"),
        ("--after=1e9", "after must be an integer between 0 and 50"),
        ("--after=NaN", "after must be an integer between 0 and 50"),
        (
            "--after=-Infinity",
            "after must be an integer between 0 and 50",
        ),
    ] {
        let found = of(&["read-event", option, "session-1", "8"]);
        assert_eq!(found, (window.to_owned(), text.to_owned()), "{option}");
    }
    for (seq, shown) in [
        ("13", "13"),
        ("-1", "-1"),
        ("1.5", "1.5"),
        ("1e400", "Infinity"),
    ] {
        let found = of(&["read-event", "session-1", seq]);
        let text = format!("session \"session-1\" has no event at seq {shown}");
        assert_eq!(found, ("SESSION_QUERY_EVENT_NOT_FOUND".into(), text));
    }
    // A separate value may be negative too.
    let found = of(&["read-event", "--before", "-3", "session-1", "8"]);
    assert_eq!(found.0, window);
    for session in ["", "absent", "../session-1", "SESSION-1"] {
        for arguments in [&["read-event", session, "0"], &["query", session, "[]"]] {
            let text = format!("session \"{session}\" not found");
            let found = of(arguments);
            assert_eq!(found, ("SESSION_QUERY_SESSION_NOT_FOUND".into(), text));
        }
    }
    for (filters, text) in [
        ("{}", "session filters must be an array"),
        ("null", "session filters must be an array"),
        ("[{}]", "session unknown filter kind \"(missing)\""),
        (r#"[{"kind":"zzz"}]"#, "session unknown filter kind \"zzz\""),
        (
            r#"[{"kind":"text","text":" "}]"#,
            "session text filter must contain non-whitespace text",
        ),
        (
            r#"[{"kind":"seq","from":2,"to":1}]"#,
            "session seq filter from must be less than or equal to to",
        ),
        (
            r#"[{"kind":"seq","from":1e999}]"#,
            "session seq filter from must be finite",
        ),
    ] {
        let found = of(&["query", "session-1", filters]);
        assert_eq!(found.0, "SESSION_QUERY_INVALID_FILTER", "{filters}");
        let text = text.replace("\"(missing)\"", "(missing)");
        assert_eq!(found.1, text, "{filters}");
    }
}

#[test]
fn errors_are_readable_without_json() {
    let place = place();
    for arguments in [&["query", "absent", "[]"], &["read-event", "absent", "0"]] {
        let run = place.run(arguments);
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
        let expected = "error: session \"absent\" not found (SESSION_QUERY_SESSION_NOT_FOUND)\n";
        assert_eq!(run.stderr, expected);
    }
}

#[test]
fn wrong_usage_is_told_apart_from_errors_of_the_service() {
    let place = place();
    for (arguments, named) in [
        (&["query", "session-1", "{"][..], &["FILTERS", "JSON"][..]),
        (&["query", "session-1", ""], &["FILTERS", "JSON"]),
        (&["read-event", "session-1", "eight"], &["SEQ", "eight"]),
        (&["read-event", "session-1", "NaN"], &["SEQ", "NaN"]),
        (&["read-event", "session-1", ""], &["SEQ", "\"\""]),
    ] {
        place
            .run(arguments)
            .refused(&format!("{arguments:?}"), named);
    }
    for arguments in [
        &["query", "session-1"][..],
        &["query"],
        &["read-event", "session-1"],
        &["read-event", "session-1", "8", "9"],
        &["query", "--compression", "gzip", "session-1", "[]"],
        &["sessions", "extra"],
        &["sessions", "--jsn"],
    ] {
        let run = place.run(arguments);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run:?}");
    }
}

#[test]
fn the_way_of_storing_can_be_insisted_on() {
    let place = place();
    let run = |how: &str| place.run(&["query", "--json", "--compression", how, "session-1", "[]"]);
    assert_eq!(run("none").json().as_array().unwrap().len(), 7);
    let (code, message) = error(run("zstd"));
    assert_eq!(code, "SESSION_QUERY_PERSISTENCE_FAILED");
    assert!(
        message.starts_with("session persistence listing failed: "),
        "{message}"
    );
    let listed = place.run(&["sessions", "--json", "--compression", "zstd"]);
    assert_eq!(error(listed).0, code);
}

#[test]
fn nothing_of_a_log_reaches_the_terminal_unseen() {
    let place = Place::new();
    put_log(&place, ".dsh/sessions", |log| {
        let text = String::from_utf8(std::mem::take(log)).unwrap();
        *log = text
            .replace("Looking now", r"\u001b[31mred\u0007\u202e\r")
            .into_bytes();
    });
    for arguments in [
        &["query", "session-1", "[]"],
        &["read-event", "session-1", "6"],
    ] {
        let shown = place.run(arguments).success();
        assert!(
            !shown.contains(['\u{1b}', '\u{7}', '\u{202e}', '\r']),
            "{shown:?}"
        );
        assert!(shown.contains(r"\u{1b}[31mred\u{7}\u{202e}"), "{shown:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn readers_who_leave_are_no_error_and_a_full_disk_is_one() {
    let place = place();
    for arguments in [
        &["sessions"][..],
        &["sessions", "--json"],
        &["query", "session-1", "[]"],
        &["query", "--json", "session-1", "[]"],
        &["read-event", "session-1", "8"],
        &["read-event", "--json", "session-1", "8"],
    ] {
        let mut command = place.command(arguments);
        command.stdout(std::process::Stdio::piped());
        let mut child = command
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let run = Run::of(child.wait_with_output().unwrap());
        let told = (run.code, run.stderr.as_str());
        assert_eq!(told, (Some(0), ""), "{arguments:?}");
        let full = std::fs::File::options()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let output = place.command(arguments).stdout(full).output().unwrap();
        let named = ["No space left on device"];
        Run::of(output).refused(&format!("{arguments:?}"), &named);
    }
}
