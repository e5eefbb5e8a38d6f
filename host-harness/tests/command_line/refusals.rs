//! Wrong usage and configuration: exit code 2, nothing on standard output, and a message that names what is wrong.

use crate::support::Place;

#[test]
fn wrong_arguments_are_named() {
    let place = Place::new();
    place.write("text.json", b"text");
    place.write("listings.json", br#"["src/"]"#);
    let cases: &[(&[&str], &[&str])] = &[
        (&["complete"], &["<QUERY>"]),
        (&["complete", "a", "b"], &["'b'"]),
        (&["complete", "--no-such", "a"], &["--no-such"]),
        (
            &["complete", "--exclude", "x", "--no-exclude", "a"],
            &["--exclude", "--no-exclude"],
        ),
        (&["nonsense"], &["nonsense"]),
        (&["call", "context_query"], &["<ARGUMENTS>"]),
        (
            &["call", "no_such_tool", "{}"],
            &["no_such_tool", "context_query"],
        ),
        (
            &["call", "--timeout-ms", "0", "context_query", "{}"],
            &["--timeout-ms", "0"],
        ),
        (
            &["call", "--timeout-ms", "2147483648", "context_query", "{}"],
            &["--timeout-ms", "2147483647"],
        ),
        (&["completions", "cmd"], &["cmd", "bash", "zsh"]),
        (&["export", "README.md"], &["README.md"]),
        (&["bench"], &["bench"]),
        (&["bench", "complete"], &["--queries"]),
        (
            &["bench", "complete", "--queries", "missing.json"],
            &["--queries", "missing.json"],
        ),
        (
            &["bench", "complete", "--queries", "text.json"],
            &["--queries", "text.json", "JSON array"],
        ),
        (
            &["bench", "complete", "--queries", "listings.json"],
            &["--queries", "without a `/`"],
        ),
        (&["plugins", "--profile", "missing.yaml"], &["missing.yaml"]),
        (
            &["prompt", "--visible-tool", "run_code"],
            &["run_code", "reserved"],
        ),
    ];
    for (arguments, named) in cases {
        let run = place.run(arguments);
        // clap answers a command without its subcommand with the help.
        if arguments == &["bench"] {
            assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
            assert!(run.stderr.contains("Usage: dsh-host bench"), "{run:?}");
            continue;
        }
        run.refused(&format!("{arguments:?}"), named);
    }
}

#[test]
fn a_directory_that_is_no_text_is_refused() {
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new();
    let mut command = place.command(&["complete", "", "--cwd"]);
    let output = command
        .arg(std::ffi::OsStr::from_bytes(b"a\xff"))
        .output()
        .unwrap();
    let run = crate::support::Run::of(output);
    run.refused("--cwd", &["--cwd", "UTF-8"]);
}

#[test]
fn what_never_ends_is_no_profile_and_no_component() {
    let place = Place::new();
    let run = place.run(&["tools", "--profile", "/dev/zero"]);
    run.refused("a profile", &["/dev/zero", "at most 1048576"]);
    let profile = "- {id: zero, name: /dev/zero}\n";
    std::fs::write(place.path().join("zero.yml"), profile).unwrap();
    let run = place.run(&["tools", "--profile", "zero.yml"]);
    run.refused("a component", &["/dev/zero", "more than 256 MiB"]);
}

#[test]
fn values_that_the_plugin_refuses_are_named_by_key_and_rule() {
    let place = Place::new();
    let wrong = [
        "0",
        "1.5",
        "-1",
        "0.5",
        "\"5\"",
        "\"\"",
        "",
        "9007199254740992",
        "1e300",
        "true",
        "[]",
        "{}",
        "many",
    ];
    for (option, key) in [
        ("--max-results", "maxResults"),
        ("--max-entries", "maxEntries"),
    ] {
        for value in wrong {
            let run = place.run(&["complete", option, value, "--", "a"]);
            let rule = format!("file-reference-local: {key} must be a positive safe integer");
            run.refused(
                &format!("{option} {value}"),
                &[&rule, "row \"file-reference-local\""],
            );
        }
        for value in ["1", "9007199254740991", "null", "20.0", "2e1"] {
            place
                .run(&["complete", option, value, "--", "main"])
                .success();
        }
    }
    for name in ["", "a/b", "a\\b", "/"] {
        let run = place.run(&["complete", "--exclude", name, "--", "a"]);
        run.refused(
            name,
            &["excludedDirectories entries must be non-empty directory basenames"],
        );
    }
    let run = place.run(&["complete", "--ignored-files", "never", "--", "a"]);
    run.refused(
        "never",
        &["ignoredFiles must be one of \"show\", \"last\", \"hide\""],
    );
}

#[test]
fn profile_values_that_the_plugin_refuses_are_named_with_their_row() {
    let place = Place::new();
    let basenames = "excludedDirectories entries must be non-empty directory basenames";
    for (config, rule) in [
        ("{ excludedDirectories: [null] }", basenames),
        ("{ excludedDirectories: [.git, ''] }", basenames),
        ("{ excludedDirectories: [a/b] }", basenames),
        ("{ excludedDirectories: ['a\\b'] }", basenames),
        ("{ excludedDirectories: [1] }", basenames),
        (
            "{ excludedDirectories: .git }",
            "excludedDirectories must be a list",
        ),
        (
            "{ maxResults: '5' }",
            "maxResults must be a positive safe integer",
        ),
        (
            "{ maxEntries: 1.5 }",
            "maxEntries must be a positive safe integer",
        ),
        (
            "{ typoTolerance: 'yes' }",
            "typoTolerance must be true or false",
        ),
        ("[]", "config must be a mapping, not a list"),
    ] {
        let profile = format!("- {{ id: mine, name: dsh-file-reference-local, config: {config} }}");
        let run = place.run_with_profile(&profile, &["complete", "a"]);
        run.refused(config, &["row \"mine\"", rule]);
    }
}

#[test]
fn an_unknown_key_warns_and_is_no_error() {
    let place = Place::new();
    let profile =
        "- { id: mine, name: dsh-file-reference-local, config: { maxResult: 1 }, limit: {} }";
    let run = place.run_with_profile(profile, &["complete", "main"]);
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "src/main.rs\n"),
        "{run:?}"
    );
    for named in [
        "mine",
        "\"maxResult\"",
        "maxResults",
        "unknown key limit",
        "profile.yaml",
    ] {
        assert!(run.stderr.contains(named), "{named}: {}", run.stderr);
    }
}

#[test]
fn profiles_that_cannot_be_used_are_named_by_place_and_key() {
    let place = Place::new();
    let cases: &[(&str, &[&str])] = &[
        ("{ a: [", &["profile.yaml", "not a YAML list", "line 1"]),
        ("just text", &["profile.yaml", "not a YAML list"]),
        (
            "- { id: a, name: x, config: { maxEntries: .inf } }",
            &["profile.yaml", "line 1", ".inf"],
        ),
        (
            "- id: a\n",
            &["profile.yaml", "line 1", "row \"a\"", "name is missing"],
        ),
        ("- { id: a, name: '' }", &["row \"a\"", "name must be"]),
        (
            "- { id: a, name: dsh-no-such }",
            &["row \"a\"", "name", "\"dsh-no-such\"", "dsh-context-proxy"],
        ),
        (
            "- { name: missing.wasm }",
            &["missing.wasm", "No such file"],
        ),
        ("- { name: ./src }", &["./src", "directory"]),
        (
            "- { name: dsh-context-proxy }\n- { name: dsh-context-proxy }",
            &["line 2", "id is taken"],
        ),
        (
            "- { id: a, name: dsh-context-proxy, limits: { memoryMiB: 0 } }",
            &["row \"a\"", "limits.memoryMiB", "from 1"],
        ),
        (
            "- { id: a, name: dsh-file-reference-local, limits: { memoryMiB: 1 } }",
            &["row \"a\"", "memory"],
        ),
    ];
    for (profile, named) in cases {
        for command in ["plugins", "tools", "prompt"] {
            // A command mounts only the plugins that it has a use for.
            if profile.contains("memoryMiB: 1 ") && command == "tools" {
                continue;
            }
            let run = place.run_with_profile(profile, &[command]);
            run.refused(&format!("{command}: {profile}"), named);
        }
    }
    let run = place.run_with_profile("- { name: dsh-context-proxy }", &["complete", "a"]);
    run.refused(
        "no completion",
        &["no plugin of the profile completes paths"],
    );
}

#[test]
fn files_that_are_no_plugin_of_this_contract_are_told_apart() {
    let place = Place::new();
    place.run(&["export", "."]).success();
    let good = std::fs::read(place.path().join("dsh-file-reference-local.wasm")).unwrap();
    // Names have the same length, so the file stays well-formed.
    let renamed = |from: &str, to: &str| replace(&good, from.as_bytes(), to.as_bytes());
    let later = replace_versions(&good);
    let cases: [(&str, Vec<u8>, &[&str]); 8] = [
        ("empty", Vec::new(), &["not a WebAssembly component"]),
        ("text", b"hello".to_vec(), &["not a WebAssembly component"]),
        (
            "module",
            b"\0asm\x01\0\0\0".to_vec(),
            &["core module", "wasm32-wasip2"],
        ),
        (
            "cut",
            good[..1000].to_vec(),
            &["not a valid WebAssembly component"],
        ),
        ("later", later, &["dsh:ctx/", "@0.2.0", "dsh:ctx@0.1.0"]),
        (
            "greedy",
            renamed("wasi:random/insecure-seed", "wasi:socket/insecure-seed"),
            &["wasi:socket/insecure-seed", "not give"],
        ),
        (
            "strange",
            renamed("dsh:ctx/tools@", "dsh:ctx/shell@"),
            &["dsh:ctx/shell@0.1.0", "not give"],
        ),
        (
            "headless",
            renamed("dsh:ctx/lifecycle@", "dsh:ctx/somecycle@"),
            &["dsh:ctx/lifecycle@0.1.0", "does not export"],
        ),
    ];
    for (name, bytes, named) in cases {
        place.write("plugin.wasm", &bytes);
        let run = place.run_with_profile("- { id: mine, name: plugin.wasm }", &["plugins"]);
        run.refused(name, &[&["row \"mine\"", "plugin.wasm"], named].concat());
    }
}

/// Every occurrence replaced by a text of the same length; there must be one.
fn replace(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = bytes.to_vec();
    let mut found = 0;
    for at in 0..=bytes.len() - from.len() {
        if bytes[at..].starts_with(from) {
            bytes[at..at + to.len()].copy_from_slice(to);
            found += 1;
        }
    }
    assert!(found > 0);
    bytes
}

/// The component as if it were built against `dsh:ctx@0.2.0`.
fn replace_versions(bytes: &[u8]) -> Vec<u8> {
    let interfaces = [
        "types",
        "abort",
        "logger",
        "tools",
        "workspace",
        "lifecycle",
        "agent-events",
        "file-references",
        "prompt-sections",
    ];
    interfaces.iter().fold(bytes.to_vec(), |bytes, name| {
        let (from, to) = (
            format!("dsh:ctx/{name}@0.1.0"),
            format!("dsh:ctx/{name}@0.2.0"),
        );
        replace(&bytes, from.as_bytes(), to.as_bytes())
    })
}
