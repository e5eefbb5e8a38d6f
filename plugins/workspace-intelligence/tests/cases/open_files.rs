//! SPEC 12.4: the files that a server is told about.

use crate::support::*;
use dsh_workspace_intelligence::glob::{Pattern, PatternError};
use dsh_workspace_intelligence::languages::language_id;
use serde_json::{Value, json};

fn matches(pattern: &str, path: &str) -> bool {
    Pattern::parse(pattern).unwrap().matches(path)
}

#[test]
fn patterns_match_names_one_by_one() {
    for (pattern, path) in [
        ("a.ts", "a.ts"),
        ("*.ts", "a.ts"),
        ("**/*.ts", "a.ts"),
        ("**/*.ts", "src/deep/a.ts"),
        ("src/**/a.ts", "src/a.ts"),
        ("src/**/a.ts", "src/x/y/a.ts"),
        ("**/x/**/a.ts", "q/x/x/b/a.ts"),
        ("*.{ts,tsx}", "a.tsx"),
        ("{src,lib}/*.{c,h}", "lib/a.h"),
        ("a?c", "aéc"),
        ("**", "any/thing"),
        ("*a*b*", "xxaxxbxx"),
    ] {
        assert!(matches(pattern, path), "{pattern} should match {path}");
    }
    for (pattern, path) in [
        ("*.ts", "src/a.ts"),
        ("*.ts", "a.tsx"),
        ("**/*.ts", "a.js"),
        ("src/**", "lib/a"),
        ("a?c", "ac"),
        ("*.{ts,tsx}", "a.js"),
        ("**/a/b", "a/x/b"),
    ] {
        assert!(!matches(pattern, path), "{pattern} should not match {path}");
    }
}

#[test]
fn a_pattern_of_many_stars_is_decided_quickly() {
    let pattern = Pattern::parse(&format!("{}b", "*a".repeat(50))).unwrap();
    assert!(!pattern.matches(&"a".repeat(5_000)));
}

#[test]
fn patterns_that_are_none() {
    for (pattern, error) in [
        ("", PatternError::Empty),
        ("/etc/passwd", PatternError::NotRelative),
        ("../a", PatternError::NotRelative),
        ("a/../b", PatternError::NotRelative),
        ("a/{..,b}/c", PatternError::NotRelative),
        ("./a", PatternError::NotRelative),
        ("a//b", PatternError::NotRelative),
        ("a/", PatternError::NotRelative),
        ("C:/a", PatternError::NotRelative),
        ("a\\b", PatternError::NotRelative),
        ("{a,b", PatternError::Braces),
        ("a}", PatternError::Braces),
        ("{a,{b,c}}", PatternError::Braces),
        (
            "{a,b,c,d,e}{a,b,c,d,e}{a,b,c,d,e}",
            PatternError::TooManyAlternatives,
        ),
    ] {
        assert_eq!(Pattern::parse(pattern), Err(error), "{pattern}");
    }
    let mut config = servers(&["a"]);
    config["servers"]["a"]["openFiles"] = json!(["ok", "../x"]);
    let error = dsh_workspace_intelligence::config::Config::parse(&config)
        .unwrap_err()
        .to_string();
    assert!(error.starts_with(
        "workspace-intelligence: servers.a.openFiles[1] must be relative to the workspace"
    ));
}

/// What a server with these patterns is told to be open.
fn opened(world: &mut World, patterns: Value) -> Vec<Value> {
    world.program("a", Script::new());
    let mut config = servers(&["a"]);
    config["servers"]["a"]["openFiles"] = patterns;
    let plugin = world.mount(config);
    world.value(&plugin, "Gear");
    world.value(&plugin, "Gear");
    let servers = world.servers();
    let server = servers.last().unwrap();
    let order: Vec<String> = server.methods().into_iter().take(3).collect();
    let expected = if server.count("textDocument/didOpen") > 0 {
        "textDocument/didOpen"
    } else {
        "workspace/symbol"
    };
    assert_eq!(
        order,
        ["initialize", "initialized", expected],
        "before the first query"
    );
    server
        .messages("textDocument/didOpen")
        .iter()
        .map(|message| message["params"]["textDocument"].clone())
        .collect()
}

fn uris(documents: &[Value]) -> Vec<&str> {
    documents
        .iter()
        .map(|document| document["uri"].as_str().unwrap())
        .collect()
}

#[test]
fn the_first_match_of_each_pattern_is_opened_once() {
    let mut world = World::new();
    world.file("/ws/src/deep/c.ts", "deep");
    world.file("/ws/src/b.ts", "let b;");
    world.file("/ws/src/a.tsx", "");
    world.file("/ws/main.py", "x = 1");
    let documents = opened(
        &mut world,
        json!(["**/*.ts", "main.py", "**/*.{py,pyi}", "**/*.go"]),
    );
    assert_eq!(
        uris(&documents),
        ["file:///ws/src/b.ts", "file:///ws/main.py"],
        "nearest to the root, and no file twice"
    );
    let document = json!({"uri": "file:///ws/src/b.ts", "languageId": "typescript", "version": 1, "text": "let b;"});
    assert_eq!(documents[0], document);
}

#[test]
fn directories_of_other_peoples_code_are_not_entered() {
    let mut world = World::new();
    world.file("/ws/.git/a.ts", "");
    world.file("/ws/node_modules/x/a.ts", "");
    world.file("/ws/z/a.ts", "");
    assert_eq!(
        uris(&opened(&mut world, json!(["**/*.ts"]))),
        ["file:///ws/z/a.ts"]
    );
    let mut world = World::new();
    world.file("/ws/node_modules/x/a.ts", "");
    assert_eq!(
        uris(&opened(&mut world, json!(["node_modules/x/a.ts"]))),
        ["file:///ws/node_modules/x/a.ts"],
        "a path says it"
    );
}

#[test]
fn what_leads_out_or_is_too_large_is_left_closed() {
    let mut world = World::new();
    world.file("/etc/secret.ts", "secret");
    world.link("/ws/out.ts", "/etc/secret.ts");
    world.file("/ws/large.ts", &"x".repeat((1 << 20) + 1));
    assert_eq!(
        opened(
            &mut world,
            json!(["out.ts", "large.ts", "missing.ts", "**/out.ts"])
        ),
        [Value::Null; 0]
    );
    let warnings = world.warnings();
    assert!(
        warnings[0].contains("\"out.ts\" is not opened: it leads out of the workspace"),
        "{warnings:?}"
    );
    assert!(warnings[1].contains("is too large"), "{warnings:?}");
}

#[test]
fn a_large_workspace_is_searched_only_so_far() {
    let mut world = World::new();
    for number in 0..5_000 {
        world.file(&format!("/ws/f{number:04}.txt"), "");
    }
    world.file("/ws/z.ts", "");
    assert_eq!(opened(&mut world, json!(["**/*.ts"])), [Value::Null; 0]);
}

#[test]
fn an_abort_while_files_are_looked_for_ends_the_call() {
    let mut world = World::new();
    world.program(
        "a",
        Script::new().on("initialized", |server, _| {
            server.notify("ready", json!(null))
        }),
    );
    let mut config = servers(&["a"]);
    config["servers"]["a"]["openFiles"] = json!(["**/*.ts"]);
    let plugin = world.mount(config);
    world.delay_spawns(10);
    let mut call = world.call(&plugin, "Gear");
    world.advance(5);
    world.hang_files();
    world.advance(1_000);
    assert!(!call.is_over());
    call.abort();
    assert!(world.finish(&call.task).is_err());
    assert_eq!(world.now(), 1_005);
    assert_eq!(world.dispose(&plugin), Ok(()));
}

#[test]
fn languages_go_by_the_ending() {
    for (path, language) in [
        ("a.rs", "rust"),
        ("a.b.TSX", "typescriptreact"),
        ("dir.py/x", "plaintext"),
        ("src/a.hpp", "cpp"),
        ("Makefile", "plaintext"),
    ] {
        assert_eq!(language_id(path), language);
    }
}
