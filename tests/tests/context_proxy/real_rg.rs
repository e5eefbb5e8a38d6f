//! Searches of files with a real ripgrep, through the component and the host: what it prints is what the model reads.

use dsh_tests::history::{Answer, Place};
use dsh_tests::hosts::{HISTORY, row};
use dsh_tests::real_tools::ripgrep;
use dsh_tests::rows::user;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

async fn place_with(mut config: Value) -> Place {
    config["rgPath"] = ripgrep().to_str().unwrap().into();
    Place::with(config).await
}

async fn place() -> Place {
    place_with(json!({})).await
}

/// A file that only a path with colons leads to.
fn file(place: &Place, content: impl AsRef<[u8]>) -> PathBuf {
    place.spill("s", "dir:1:x/a.txt", content)
}

async fn grep(place: &Place, path: &Path, mut arguments: Value) -> Answer {
    arguments["path"] = path.to_str().unwrap().into();
    place.call("s", "context_grep", arguments).await
}

/// The lines found, each with its number, and whether the answer is truncated.
async fn found(
    place: &Place,
    content: impl AsRef<[u8]>,
    arguments: Value,
) -> (Vec<(u64, String)>, bool) {
    let path = file(place, content);
    lines(grep(place, &path, arguments).await, &path)
}

fn lines(answer: Answer, path: &Path) -> (Vec<(u64, String)>, bool) {
    let answer = answer.value();
    assert_eq!(answer["source"], "spill");
    let line = |found: &Value| {
        let citation = found["citation"].as_str().unwrap();
        let (cited, number) = citation.rsplit_once(':').unwrap();
        assert_eq!(cited, path.to_str().unwrap());
        (
            number.parse().unwrap(),
            found["text"].as_str().unwrap().to_owned(),
        )
    };
    let matches = answer["matches"].as_array().unwrap();
    let truncated = answer["truncated"].as_bool().unwrap();
    (matches.iter().map(line).collect(), truncated)
}

const CONTENT: &[u8] = b"alpha\nhit: 12:here\r\nnul\0 hit\nbad \xff hit\nlast hit";

#[tokio::test]
#[cfg_attr(not(has_rg), ignore = "needs a real ripgrep")]
async fn cases_051_052_058_lines_are_found_as_they_stand_in_the_file() {
    let expected = [
        (2, "hit: 12:here"),
        (3, "nul\0 hit"),
        (4, "bad \u{fffd} hit"),
        (5, "last hit"),
    ];
    let expected = expected.map(|(line, text)| (line, text.to_owned()));
    let found = found(&place().await, CONTENT, json!({"pattern": "h.t"})).await;
    assert_eq!(found, (expected.to_vec(), false));
}

#[tokio::test]
#[cfg_attr(not(has_rg), ignore = "needs a real ripgrep")]
async fn case_053_no_hit_and_an_empty_file_give_an_empty_answer() {
    let place = place().await;
    assert_eq!(
        found(&place, CONTENT, json!({"pattern": "zzz"})).await,
        (vec![], false)
    );
    assert_eq!(
        found(&place, "", json!({"pattern": "x"})).await,
        (vec![], false)
    );
}

#[tokio::test]
#[cfg_attr(not(has_rg), ignore = "needs a real ripgrep")]
async fn case_054_bad_patterns_are_rejected_with_a_reason() {
    let place = place().await;
    let path = file(&place, CONTENT);
    for pattern in [
        "(",
        "a(?=b)",
        "a\nb",
        "x{5000000}",
        "[",
        "\\",
        "*",
        "(?P<a>x)(?P<a>y)",
        "\\p{Nope}",
    ] {
        let (code, text) = grep(&place, &path, json!({ "pattern": pattern }))
            .await
            .error();
        assert_eq!(code, "CONTEXT_PROXY_INVALID_PATTERN", "{pattern}: {text}");
        assert!(
            text.starts_with("Error: pattern rejected by ripgrep: rg: "),
            "{text}"
        );
    }
}

#[tokio::test]
#[cfg_attr(not(has_rg), ignore = "needs a real ripgrep")]
async fn case_055_hostile_patterns_are_searched_as_text() {
    let place = place().await;
    for (text, pattern) in [
        ("--files", "--files"),
        ("-e", "-e"),
        ("--pre=/bin/sh", "--pre=/bin/sh"),
        ("-f /etc/passwd", "-f /etc/passwd"),
        ("--", "--"),
        ("a $(touch x)", r"\$\(touch x\)"),
        ("`id`", "`id`"),
        ("; rm -rf .", "; rm -rf ."),
        ("\"'", "\"'"),
        ("  ", "  "),
    ] {
        let found = found(&place, format!("{text}\n"), json!({"pattern": pattern})).await;
        assert_eq!(found, (vec![(1, text.to_owned())], false));
    }
    let path = file(&place, CONTENT);
    let nul = grep(&place, &path, json!({"pattern": "a\0b"}))
        .await
        .error();
    assert_eq!(nul.0, "CONTEXT_PROXY_INVALID_PATTERN");
}

#[tokio::test]
#[cfg_attr(not(has_rg), ignore = "needs a real ripgrep")]
async fn case_056_a_blank_pattern_is_fine_for_a_file() {
    let place = place().await;
    let found = found(&place, "a b\na  b\n", json!({"pattern": "  "})).await;
    assert_eq!(found, (vec![(2, "a  b".to_owned())], false));
    let path = file(&place, CONTENT);
    let empty = grep(&place, &path, json!({"pattern": ""})).await.error();
    assert_eq!(empty.0, "CONTEXT_PROXY_INVALID_PATTERN");
    let scan = place
        .call("s", "context_grep", json!({"pattern": "  "}))
        .await
        .error();
    assert_eq!(scan.0, "SESSION_QUERY_INVALID_FILTER");
}

#[tokio::test]
#[cfg_attr(not(has_rg), ignore = "needs a real ripgrep")]
async fn case_057_a_configuration_file_of_ripgrep_is_not_read() {
    let notes = tempfile::tempdir().unwrap();
    let proof = notes.path().join("it-ran");
    let script = notes.path().join("pre");
    std::fs::write(
        &script,
        format!("#!/bin/sh\ntouch '{}'\ncat \"$1\"\n", proof.display()),
    )
    .unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).unwrap();
    let config = notes.path().join("ripgreprc");
    std::fs::write(&config, format!("--pre={}\n", script.display())).unwrap();
    let variable: (OsString, OsString) = ("RIPGREP_CONFIG_PATH".into(), config.clone().into());
    let rg = ripgrep();
    let plugin = json!({"rgPath": rg.to_str().unwrap()});
    let env = vec![variable.clone(), ("PATH".into(), "/usr/bin:/bin".into())];
    let place = Place::mounted(|host| row(host, HISTORY, plugin), Some(env)).await;
    let path = file(&place, "a hit\n");
    assert_eq!(lines(place.grep("s", &path, "hit").await, &path).0.len(), 1);
    assert!(!proof.exists(), "the program that the file names was run");
    // It would have been: the trap works.
    let mut direct = std::process::Command::new(rg);
    let direct = direct
        .args(["hit", path.to_str().unwrap()])
        .env(variable.0, variable.1);
    assert!(direct.output().unwrap().status.success());
    assert!(proof.exists());
}

#[tokio::test]
#[cfg_attr(not(has_rg), ignore = "needs a real ripgrep")]
async fn case_059_output_of_exactly_the_cap_is_whole_and_one_byte_more_is_not() {
    let content = "one more hit\n".repeat(40);
    let measure = place().await;
    let path = file(&measure, &content);
    let output = std::process::Command::new(ripgrep())
        .args(["--no-config", "--json", "--text", "--regexp=hit", "--"])
        .arg(&path)
        .output()
        .unwrap();
    // The statistics that follow the end of the file are not counted.
    let text = String::from_utf8(output.stdout).unwrap();
    let counted: usize = text
        .lines()
        .filter(|line| !line.contains("\"type\":\"summary\"") && !line.contains("\"type\":\"end\""))
        .map(|line| line.len() + 1)
        .sum();
    for (cap, shown, truncated) in [
        (1 << 20, 40, false),
        (counted, 40, true),
        (counted - 1, 39, true),
    ] {
        let place = place_with(json!({"grepMaxBytes": cap})).await;
        // A path of the same length, since it is part of each record.
        let path = file(&place, &content);
        assert_eq!(
            path.as_os_str().len(),
            measure.path("").as_os_str().len()
                + path.strip_prefix(place.path("")).unwrap().as_os_str().len()
        );
        let found = lines(grep(&place, &path, json!({"pattern": "hit"})).await, &path);
        assert_eq!((found.0.len(), found.1), (shown, truncated), "{cap}");
    }
}

#[tokio::test]
#[cfg_attr(not(has_rg), ignore = "needs a real ripgrep")]
async fn case_059_a_file_of_200_mb_is_left_early() {
    let place = place().await;
    let path = file(
        &place,
        "one more hit, and some text behind it for the length\n".repeat(4_000_000),
    );
    let one = grep(&place, &path, json!({"pattern": "hit", "limit": 1})).await;
    let text = "one more hit, and some text behind it for the length";
    assert_eq!(lines(one, &path), (vec![(1, text.to_owned())], true));
    let (shown, truncated) = lines(grep(&place, &path, json!({"pattern": "."})).await, &path);
    assert_eq!((shown.len(), truncated), (50, true));
    let (shown, truncated) = lines(
        grep(&place, &path, json!({"pattern": "absent"})).await,
        &path,
    );
    assert_eq!((shown.len(), truncated), (0, false));
}

#[tokio::test]
#[cfg_attr(not(has_rg), ignore = "needs a real ripgrep")]
async fn lines_beyond_the_cap_are_cited_with_the_matching_part() {
    let place = place().await;
    let long = "x".repeat(3_000_000);
    let content = format!("small\n{long}hit{long}hit\nhat line\n");
    let part = |line, text: &str| (line, text.to_owned());
    let all = found(&place, &content, json!({"pattern": "h[ia]t"})).await;
    assert_eq!(all, (vec![part(2, "hit"), part(3, "hat")], true));
    // A match of nothing at all is one too.
    let nothing = found(&place, &content[6..], json!({"pattern": "^"})).await;
    assert_eq!(nothing, (vec![part(1, ""), part(2, "")], true));
    let nothing = found(&place, &content[6..], json!({"pattern": "q*"})).await;
    assert_eq!(nothing, (vec![part(1, "")], true));
    let much = found(&place, &content, json!({"pattern": "x+"})).await;
    assert_eq!(much, (vec![part(2, &"x".repeat(2_000))], true));
}

#[tokio::test]
#[cfg_attr(not(has_rg), ignore = "needs a real ripgrep")]
async fn cases_062_063_granted_files_are_searched() {
    use dsh_tests::rows::{header, tool_result};
    let place = place().await;
    place.write("parent", &[user(0, "x")]);
    let mut fork = header("fork");
    fork["parentSession"] = "parent".into();
    place.write_at("_no-cwd", &fork, &[user(0, "x")]);
    let parents = place.spill("parent", "a.txt", "of the parent\n");
    assert_eq!(
        lines(place.grep("fork", &parents, "parent").await, &parents)
            .0
            .len(),
        1
    );
    let output = place.write_file("tmp/dsh-subprocess-abc/out-stdout.log", "of a command\n");
    let said = format!("[output truncated; full output: {}]", output.display());
    place.write("s", &[tool_result(0, "c", &said)]);
    assert_eq!(
        lines(place.grep("s", &output, "command").await, &output)
            .0
            .len(),
        1
    );
}

#[tokio::test]
#[cfg_attr(not(has_rg), ignore = "needs a real ripgrep")]
async fn case_067_calls_at_once_do_not_meet() {
    let place = place().await;
    place.write("s", &[user(0, "in the session")]);
    let first = place.spill("s", "first.txt", "first hit\n".repeat(100));
    let second = place.spill("s", "second.txt", "no\nsecond hit\n");
    for _ in 0..5 {
        let (a, b, c) = tokio::join!(
            place.grep("s", &first, "hit"),
            place.grep("s", &second, "hit"),
            place.query("s", json!({"text": "session"})),
        );
        assert_eq!(lines(a, &first).0.len(), 50);
        assert_eq!(lines(b, &second), (vec![(2, "second hit".into())], false));
        assert_eq!(c.seqs(), [0]);
    }
}

#[tokio::test]
#[cfg_attr(not(has_rg), ignore = "needs a real ripgrep")]
async fn case_066_ripgrep_on_the_path_is_found_without_a_configuration() {
    let rg = ripgrep();
    let links = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(&rg, links.path().join("rg")).unwrap();
    let env = vec![("PATH".into(), links.path().into())];
    let place = Place::mounted(|host| row(host, HISTORY, Value::Null), Some(env)).await;
    let path = file(&place, "a hit\n");
    assert_eq!(lines(place.grep("s", &path, "hit").await, &path).0.len(), 1);
}
