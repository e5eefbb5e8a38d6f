//! `dsh-host mcp`.

use crate::server::{Server, mute_server, processes, until};
use serde_json::{Value, json};
use std::path::Path;

/// A session log whose events are known.
const SESSIONS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../tests/golden/sessions/v0/example-4-4/sessions"
);

pub fn greet(server: &mut Server) -> Value {
    server.send(json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
    }}));
    let answer = server.answer("hello");
    server.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    answer
}

fn start(cwd: &Path, more: &[&str]) -> Server {
    let mut server = Server::start(&[&["mcp"], more].concat(), cwd);
    greet(&mut server);
    server
}

fn request(server: &mut Server, id: u64, method: &str, params: Value) -> Value {
    server.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    server.answer(id)
}

fn call(server: &mut Server, id: u64, name: &str, arguments: Value) -> Value {
    request(
        server,
        id,
        "tools/call",
        json!({"name": name, "arguments": arguments}),
    )["result"]
        .clone()
}

fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir(place.path().join("src")).unwrap();
    std::fs::write(place.path().join("src/quagga.rs"), "pub struct Quagga;\n").unwrap();
    place
}

#[test]
fn tools_have_the_schemas_that_the_host_has() {
    let place = place();
    let mut server = start(place.path(), &[]);
    let listed = request(&mut server, 1, "tools/list", json!({}));
    let own = std::process::Command::new(env!("CARGO_BIN_EXE_dsh-host"))
        .args(["tools", "--json"])
        .output()
        .unwrap();
    let own: Value = serde_json::from_slice(&own.stdout).unwrap();
    let listed = listed["result"]["tools"].as_array().unwrap();
    assert_eq!(listed.len(), own.as_array().unwrap().len());
    for (listed, own) in listed.iter().zip(own.as_array().unwrap()) {
        assert_eq!(listed["name"], own["name"]);
        assert_eq!(listed["description"], own["description"]);
        assert_eq!(listed["inputSchema"], own["parameters"]);
        assert_eq!(listed["outputSchema"]["type"], "object");
    }
}

#[test]
fn an_answer_is_text_and_structured_and_an_error_is_the_models_text() {
    let place = place();
    let more = ["--sessions", SESSIONS, "--session", "session-1"];
    let mut server = start(place.path(), &more);
    let found = call(&mut server, 1, "context_query", json!({}));
    assert_ne!(found["isError"], true, "{found}");
    let text: Value = serde_json::from_str(found["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(found["structuredContent"], text);
    assert!(!text["matches"].as_array().unwrap().is_empty(), "{text}");
    let wrong = call(&mut server, 2, "context_slice", json!({"seq": "x"}));
    assert_eq!(wrong["isError"], true);
    assert_eq!(
        wrong["content"],
        json!([{"type": "text", "text": "Error: invalid arguments: \"seq\" must be an integer"}])
    );
    assert_eq!(wrong.get("structuredContent"), None);
    let unknown = request(&mut server, 3, "tools/call", json!({"name": "nope"}));
    assert_eq!(
        unknown["error"],
        json!({"code": -32602, "message": "unknown tool \"nope\""})
    );
}

#[test]
fn paths_are_completed_and_read_within_the_workspace() {
    let place = place();
    let mut server = start(place.path(), &[]);
    let templates = request(&mut server, 1, "resources/templates/list", json!({}));
    let template = templates["result"]["resourceTemplates"][0]["uriTemplate"].clone();
    let complete = |server: &mut Server, id, reference: &Value, name: &str| {
        let params = json!({"ref": {"type": "ref/resource", "uri": reference}, "argument": {"name": name, "value": "quag"}});
        request(server, id, "completion/complete", params)
    };
    let found = complete(&mut server, 2, &template, "path");
    let expected = json!({"values": ["src/quagga.rs"], "total": 1, "hasMore": false});
    assert_eq!(found["result"]["completion"], expected);
    assert_eq!(
        complete(&mut server, 3, &json!("other:///{x}"), "path")["error"]["code"],
        -32602
    );
    assert_eq!(
        complete(&mut server, 4, &template, "nope")["error"]["code"],
        -32602
    );
    let mut read = |id, uri: &str| request(&mut server, id, "resources/read", json!({"uri": uri}));
    let file = read(5, "workspace:///src/quagga.rs");
    assert_eq!(
        file["result"]["contents"][0]["text"],
        "pub struct Quagga;\n"
    );
    assert_eq!(
        read(6, "workspace:///src/")["result"]["contents"][0]["text"],
        "quagga.rs\n"
    );
    for (id, uri) in [
        (7, "workspace:///../../etc/passwd"),
        (8, "workspace:////etc/passwd"),
        (9, "workspace:///%2e%2e/%2e%2e/etc/passwd"),
        (10, "workspace:///none"),
        (11, "file:///etc/passwd"),
        (12, "workspace:///%zz"),
    ] {
        assert!(read(id, uri).get("error").is_some(), "{uri}");
    }
}

#[test]
fn sixty_four_calls_are_in_flight_at_once() {
    let place = place();
    let mut server = start(place.path(), &[]);
    for id in 0..64 {
        server.send(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "context_query", "arguments": {"text": "x"}}}));
    }
    let mut seen = std::collections::BTreeSet::new();
    while seen.len() < 64 {
        let answer = server.next("64 answers", |value| value["id"].is_u64());
        assert_eq!(answer["result"]["isError"], true);
        seen.insert(answer["id"].as_u64().unwrap());
    }
}

#[test]
fn garbage_kills_nothing() {
    let place = place();
    let mut server = Server::start(&["mcp"], place.path());
    server.send(json!({"jsonrpc": "2.0", "method": "notifications/early"}));
    server.send(json!({"jsonrpc": "2.0", "id": 99, "result": {}}));
    server.raw(b"no json");
    greet(&mut server);
    let long = vec![b'x'; 17 << 20];
    for line in [
        &b"{"[..],
        b"[]",
        b"5",
        b"null",
        b"\xff\xfe",
        b"{\"jsonrpc\":\"2.0\"}",
        b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
        b"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":5}",
        b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":12345}}",
        &long,
        b"",
    ] {
        server.raw(line);
    }
    let unknown = request(&mut server, 1, "no/such", json!({}));
    assert_eq!(unknown["error"]["code"], -32601);
    assert_eq!(
        request(&mut server, 2, "ping", json!({}))["result"],
        json!({})
    );
}

#[test]
fn a_request_that_cannot_be_read_is_answered() {
    let place = place();
    let more = ["--sessions", SESSIONS, "--session", "session-1"];
    let mut server = start(place.path(), &more);
    let call = |id: u64, arguments: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"context_query","arguments":{arguments}}}}}"#
        )
    };
    // What JavaScript writes is taken as it is meant.
    server.raw(call(1, r#"{"text":"\ud800"}"#).as_bytes());
    let found = server.answer(1);
    assert_eq!(
        found["result"]["structuredContent"]["matches"],
        json!([]),
        "{found}"
    );
    server.raw(call(2, r#"{"limit":1e400}"#).as_bytes());
    let text = server.answer(2)["result"]["content"][0]["text"].to_string();
    assert!(text.contains("limit"), "{text}");
    // And what no parser takes is refused by its id.
    let deep = format!("{{\"x\":{}1{}}}", "[".repeat(500), "]".repeat(500));
    server.raw(call(3, &deep).as_bytes());
    assert_eq!(server.answer(3)["error"]["code"], -32700);
    server.raw(call(4, r#"{"text":"flaky"}"#).as_bytes());
    assert_ne!(server.answer(4)["result"]["isError"], true);
}

#[test]
fn wrong_parameters_are_told_from_unknown_methods() {
    let place = place();
    let mut server = start(place.path(), &[]);
    let wrong = [
        (
            "tools/call",
            json!({"name": "context_query", "arguments": "text"}),
        ),
        (
            "tools/call",
            json!({"name": "context_query", "arguments": []}),
        ),
        ("tools/call", json!({"name": 5})),
        ("tools/call", json!({})),
        ("completion/complete", json!({})),
        ("resources/read", json!({"uri": 5})),
    ];
    for (id, (method, params)) in (10..).zip(wrong) {
        let error = &request(&mut server, id, method, params.clone())["error"];
        assert_eq!(error["code"], -32602, "{method} {params}: {error}");
        assert!(
            error["message"].as_str().unwrap().contains(method),
            "{error}"
        );
    }
    let unknown = request(&mut server, 9, "tools/nope", json!({}));
    assert_eq!(unknown["error"]["code"], -32601);
}

#[test]
fn a_slow_call_tells_its_progress_and_a_cancelled_one_cleans_up() {
    let place = place();
    let (program, row) = mute_server(place.path());
    std::fs::write(place.path().join("profile.yml"), json!([row]).to_string()).unwrap();
    let mut server = start(place.path(), &["--profile", "profile.yml"]);
    server.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "workspace_symbol", "arguments": {"query": "Quagga"}, "_meta": {"progressToken": "slow"},
    }}));
    let first = server.next("progress", |value| {
        value["method"] == "notifications/progress"
    });
    assert_eq!(first["params"]["progressToken"], "slow");
    assert!(
        first["params"]["message"]
            .as_str()
            .unwrap()
            .contains("Quagga"),
        "{first}"
    );
    let second = server.next("more progress", |value| {
        value["method"] == "notifications/progress"
    });
    let progress = |value: &Value| value["params"]["progress"].as_f64().unwrap();
    assert!(progress(&second) > progress(&first));
    until("the language server runs", || {
        !processes(&program).is_empty()
    });
    server.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1, "reason": "enough"}}));
    // A cancelled request gets no answer; what it had started ends, and the next request is served.
    assert_eq!(
        request(&mut server, 2, "ping", json!({}))["result"],
        json!({})
    );
    server.close();
    assert!(server.end().success());
    until("no process is left", || processes(&program).is_empty());
}
