//! What each command prints when all is well, and when a tool answers an error.

use crate::support::{Place, Run};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::io::Write;
use std::process::Stdio;

/// The commands that `--help` lists.
fn commands(place: &Place) -> Vec<String> {
    let help = place.run(&["--help"]).success();
    let listed = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .map_while(|line| line.strip_prefix("  "));
    let names = listed.filter_map(|line| line.split_whitespace().next());
    names
        .map(String::from)
        .filter(|name| name != "help")
        .collect()
}

#[test]
fn every_command_has_a_help_with_an_example() {
    let place = Place::new();
    let commands = commands(&place);
    assert!(commands.len() >= 9, "{commands:?}");
    for command in commands {
        let arguments: &[&str] = match command.as_str() {
            "bench" => &["bench", "complete", "--help"],
            command => &[command, "--help"],
        };
        let help = place.run(arguments).success();
        assert!(help.contains("Usage: dsh-host "), "{command}: {help}");
        assert!(help.contains("Example"), "{command}: {help}");
    }
}

#[test]
fn the_version_is_that_of_the_package() {
    let version = Place::new().run(&["--version"]).success();
    assert_eq!(
        version,
        concat!("dsh-host ", env!("CARGO_PKG_VERSION"), "\n")
    );
}

#[test]
fn completion_prints_one_path_a_line_or_the_answer_as_json() {
    let place = Place::new();
    let listed = place.run(&["complete", ""]).success();
    assert_eq!(listed, "docs/\nsrc/\nREADME.md\n");
    let found = place.run(&["complete", "--json", "--", "src/ma"]).json();
    let file = |path| json!({"path": path, "kind": "file"});
    assert_eq!(found, json!([file("src/map.rs"), file("src/main.rs")]));
    let found = place.run(&["complete", "--json", "doc"]).json();
    assert_eq!(found, json!([{"path": "docs", "kind": "directory"}]));
    let none = place.run(&["complete", "--json", "zzz"]).json();
    assert_eq!(none, json!([]));
    assert_eq!(place.run(&["complete", "zzz"]).success(), "");
}

#[test]
fn completion_offers_near_misses_under_a_line_that_says_so() {
    let shown = Place::new().run(&["complete", "redame"]).success();
    assert_eq!(shown, "No match. Similar names:\nREADME.md\n");
}

#[test]
fn completion_takes_its_configuration_from_options_and_profiles() {
    let place = Place::new();
    place.write(".gitignore", b"docs/\n");
    let complete = |options: &[&str]| {
        let shown = place.run(&[&["complete"], options, &["--", ""]].concat());
        shown
            .success()
            .lines()
            .map(String::from)
            .collect::<Vec<_>>()
    };
    assert_eq!(complete(&["--max-results", "1"]), ["docs/"]);
    assert_eq!(complete(&["--max-results", "null"]).len(), 3);
    assert_eq!(
        complete(&["--exclude", "src"]),
        ["docs/", "node_modules/", "README.md"]
    );
    assert_eq!(
        complete(&["--exclude", "src", "--exclude", "docs"]).len(),
        2
    );
    assert_eq!(complete(&["--no-exclude"]).len(), 4);
    assert_eq!(
        complete(&["--ignored-files", "hide"]),
        ["src/", "README.md"]
    );
    assert_eq!(
        complete(&["--ignored-files", "last"]),
        ["src/", "README.md", "docs/"]
    );
    let one = "- { name: dsh-file-reference-local, config: { maxResults: 1 } }";
    let arguments = &["complete", "--", ""];
    let shown = place.run_with_profile(one, &arguments[..1]);
    assert_eq!(shown.code, Some(2), "the query is still needed");
    let shown = place.run_with_profile(one, &["complete", ""]).success();
    assert_eq!(shown, "docs/\n");
    let shown = place.run_with_profile(one, &["complete", "", "--max-results", "2"]);
    assert_eq!(
        shown.success(),
        "docs/\nsrc/\n",
        "an option goes before the profile"
    );
}

#[test]
fn a_directory_that_cannot_be_listed_is_named() {
    let place = Place::new();
    let mut roots = vec!["missing", "README.md"];
    let locked = std::os::unix::fs::PermissionsExt::from_mode(0o000);
    std::fs::set_permissions(place.path().join("docs"), locked).unwrap();
    if rustix::process::geteuid().is_root() {
        let _ = writeln!(
            std::io::stderr(),
            "skipped an unreadable root: root reads everything"
        );
    } else {
        roots.push("docs");
    }
    for root in roots {
        for command in [
            &["complete", "--json", "--", "a"][..],
            &["prompt"],
            &["mcp"],
        ] {
            let (name, rest) = command.split_first().unwrap();
            let run = place.run(&[&[*name, "--cwd", root], rest].concat());
            run.refused(name, &["--cwd", root]);
        }
    }
}

#[test]
fn a_name_is_one_line_and_moves_no_cursor() {
    let place = Place::new();
    let name = "odd\u{1b}[31mred\n\u{202e}\u{9b}name.txt";
    std::fs::write(place.path().join("docs").join(name), "").unwrap();
    let shown = place.run(&["complete", "docs/odd"]).success();
    assert_eq!(
        shown,
        "docs/odd\\u{1b}[31mred\\u{a}\\u{202e}\\u{9b}name.txt\n"
    );
    let exact = place.run(&["complete", "--json", "docs/odd"]).json();
    assert_eq!(exact[0]["path"], format!("docs/{name}"));
}

#[test]
fn the_prompt_speaks_of_references_to_agents_that_can_read() {
    let place = Place::new();
    assert_eq!(place.run(&["prompt"]).success(), "");
    assert_eq!(
        place.run(&["prompt", "--visible-tool", "write"]).success(),
        ""
    );
    let text = place.run(&[
        "prompt",
        "--visible-tool",
        "write",
        "--visible-tool",
        "read",
    ]);
    let text = text.success();
    assert!(
        text.starts_with("Paths prefixed with @ are files explicitly referenced"),
        "{text}"
    );
    assert_eq!(text.lines().count(), 1);
}

#[test]
fn tools_are_listed_for_people_and_as_the_model_sees_them() {
    let place = Place::new();
    let tools = place.run(&["tools", "--json"]).json();
    let text = place.run(&["tools"]).success();
    let tools = tools.as_array().unwrap();
    let names: Vec<&str> = tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(names, ["context_grep", "context_query", "context_slice"]);
    for tool in tools {
        let keys: BTreeSet<_> = tool
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(keys, BTreeSet::from(["name", "description", "parameters"]));
        assert_eq!(tool["parameters"]["type"], "object");
        assert!(
            text.contains(tool["description"].as_str().unwrap()),
            "{tool}"
        );
        for parameter in tool["parameters"]["properties"].as_object().unwrap().keys() {
            assert!(
                text.contains(&format!("\n  {parameter} (")),
                "{parameter} of {tool}"
            );
        }
    }
}

#[test]
fn a_tools_error_is_printed_as_the_model_reads_it_and_exits_with_1() {
    let place = Place::new();
    let run = place.run(&["call", "context_query", "[]"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(1), ""), "{run:?}");
    assert!(
        run.stdout.starts_with("Error: invalid arguments: "),
        "{run:?}"
    );
    let mut command = place.command(&["call", "context_query", "-"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"[]").unwrap();
    let piped = Run::of(child.wait_with_output().unwrap());
    assert_eq!((piped.code, piped.stdout), (Some(1), run.stdout));
}

#[test]
fn plugins_tell_what_they_are_and_may_do() {
    let place = Place::new();
    let plugins = place.run(&["plugins", "--json"]).json();
    let text = place.run(&["plugins"]).success();
    let plugins = plugins.as_array().unwrap();
    let states: Vec<_> = plugins
        .iter()
        .map(|row| {
            (
                row["name"].as_str().unwrap(),
                row["state"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        states,
        [
            ("dsh-file-reference-local", "on"),
            ("dsh-context-proxy", "on"),
            ("dsh-workspace-intelligence", "off"),
        ]
    );
    for plugin in plugins {
        let name = plugin["name"].as_str().unwrap();
        for (key, is_right) in SHAPE {
            assert!(is_right(&plugin[key]), "{name}: {key} is {}", plugin[key]);
        }
        assert!(plugin["configSchema"]["properties"].is_object(), "{name}");
        assert!(
            plugin["limits"]["memoryMiB"].as_u64().unwrap() > 0,
            "{name}"
        );
        for key in ["name", "version", "summary", "world"] {
            assert!(
                text.contains(plugin[key].as_str().unwrap()),
                "{name}: {key}"
            );
        }
    }
}

/// Whether a value is of the right kind.
type IsRight = fn(&Value) -> bool;

/// The keys of one row of `plugins --json`, and what their values are.
const SHAPE: [(&str, IsRight); 13] = [
    ("id", Value::is_string),
    ("name", Value::is_string),
    ("version", Value::is_string),
    ("summary", Value::is_string),
    ("state", Value::is_string),
    ("world", Value::is_string),
    ("imports", Value::is_array),
    ("exports", Value::is_array),
    ("required", Value::is_array),
    ("optional", Value::is_array),
    ("configSchema", Value::is_object),
    ("limits", Value::is_object),
    ("bytes", Value::is_u64),
];

#[test]
fn the_demo_runs_anywhere_with_nothing_installed() {
    let place = Place::new();
    let output = place.command(&["demo"]).env("PATH", "").output().unwrap();
    let shown = Run::of(output).success();
    for expected in [
        "docs/",
        "README.md",
        "Paths prefixed with @",
        "dsh-context-proxy",
    ] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
}

#[cfg(unix)]
#[test]
fn the_demo_says_which_language_server_it_looked_for_and_what_became_of_it() {
    let place = Place::new();
    place.write("Cargo.toml", b"");
    place.write("src/main.rs", b"pub struct Widget;\n");
    let bin = place.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let demo = || Run::of(place.command(&["demo"]).env("PATH", &bin).output().unwrap());
    let shown = demo().success();
    assert!(shown.contains("rust-analyzer is not on PATH"), "{shown}");

    // One that ends at once.
    std::os::unix::fs::symlink("/bin/false", bin.join("rust-analyzer")).unwrap();
    let run = demo();
    assert_eq!(run.code, Some(0), "{run:?}");
    for expected in ["asked for Widget", "exited with code 1"] {
        assert!(run.stdout.contains(expected), "{expected}: {run:?}");
    }
}

#[test]
fn measurements_are_numbers() {
    let place = Place::new();
    place.write("queries.json", br#"["main", "map", "src/m"]"#);
    let options = [
        "--queries",
        "queries.json",
        "--cold-runs",
        "2",
        "--max-entries",
        "3",
    ];
    let measured = place
        .run(&[&["bench", "complete"], &options[..]].concat())
        .json();
    let measured = measured.as_object().unwrap();
    let keys: Vec<&str> = measured.keys().map(String::as_str).collect();
    let expected = ["cold_ms", "dir_median_ms", "warm_median_ms", "warm_p95_ms"];
    assert_eq!(BTreeSet::from_iter(keys), BTreeSet::from(expected));
    assert!(
        measured.values().all(|value| value.as_f64() >= Some(0.0)),
        "{measured:?}"
    );
}

#[test]
fn exported_components_match_their_checksums() {
    let place = Place::new();
    let shown = place.run(&["export", "dist/components"]).success();
    let directory = place.path().join("dist/components");
    let sums = std::fs::read_to_string(directory.join("SHA256SUMS")).unwrap();
    assert_eq!(sums.lines().count(), 3);
    for line in sums.lines() {
        let (sum, file) = line.split_once("  ").unwrap();
        let bytes = std::fs::read(directory.join(file)).unwrap();
        let digest = Sha256::digest(&bytes);
        let actual: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(actual, sum, "{file}");
        assert!(shown.contains(sum) && shown.contains(file), "{shown}");
        // What was exported can be named by its path.
        // Off, because symbol search refuses to be mounted without a server.
        let row = format!("- {{ id: exported, name: dist/components/{file}, disabled: true }}");
        let mounted = place.run_with_profile(&row, &["plugins", "--json"]);
        let mounted: Value = serde_json::from_str(&mounted.stdout).unwrap();
        assert_eq!(mounted[0]["bytes"], bytes.len(), "{file}");
        assert_eq!(mounted[0]["id"], "exported");
    }
}

#[test]
fn completion_scripts_name_every_command() {
    let place = Place::new();
    let commands = commands(&place);
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = place.run(&["completions", shell]).success();
        for command in &commands {
            assert!(script.contains(command.as_str()), "{shell}: {command}");
        }
    }
}
