//! `dsh-host bridge`, spoken to by a DSH that is this test.

use crate::server::Server;
use serde_json::{Value, json};

fn start() -> (Server, tempfile::TempDir) {
    let place = tempfile::tempdir().unwrap();
    let mut server = Server::start(&["bridge"], place.path());
    server.send(json!({"id": 0, "method": "hello", "params": {"protocol": 1}}));
    let greeting = server.answer(0);
    assert_eq!(greeting["result"]["protocol"], 1);
    assert_eq!(greeting["result"]["version"], env!("CARGO_PKG_VERSION"));
    (server, place)
}

fn ask(server: &mut Server, id: u64, method: &str, params: Value) -> Value {
    server.send(json!({"id": id, "method": method, "params": params}));
    server.answer(id)
}

fn mount(server: &mut Server, id: u64, services: Value) -> Value {
    let rows = json!([{"id": "history", "name": "dsh-context-proxy"}]);
    let state = ask(
        server,
        id,
        "mount",
        json!({"rows": rows, "base": "/", "services": services}),
    );
    let agent = json!({"id": "a", "cwd": "/", "session": "s"});
    assert_eq!(ask(server, id + 1, "agent", agent)["result"], Value::Null);
    state
}

fn call(id: u64, text: &str) -> Value {
    json!({"id": id, "method": "call", "params": {
        "name": "context_query", "arguments": {"text": text}, "agent": "a", "step": null, "callId": "c", "services": ["sessionQuery"],
    }})
}

/// Answers the next question of the host with one document.
fn answer_query(server: &mut Server, text: &str) -> Value {
    let question = server.next("a question", |value| {
        value["method"] == "sessionQuery.filterEvents"
    });
    let id = question["id"].clone();
    let document = json!({"seq": 3, "type": "user/message", "time": 5, "surface": "current", "text": text, "textBytes": text.len()});
    server.send(json!({"id": id, "part": [document]}));
    server.send(json!({"id": id, "result": {"nextSeq": null}}));
    question
}

#[test]
fn a_component_is_mounted_and_its_questions_go_to_dsh() {
    let (mut server, _place) = start();
    let state = mount(&mut server, 1, json!(["sessionQuery"]))["result"].clone();
    assert_eq!(state["rows"][0]["state"], "active");
    let names: Vec<_> = state["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| &tool["name"])
        .collect();
    assert_eq!(names, ["context_grep", "context_query", "context_slice"]);
    server.send(call(5, "quagga"));
    let question = answer_query(&mut server, "a quagga");
    assert_eq!(question["params"]["sessionId"], "s");
    assert!(
        question["params"]["filters"]
            .as_array()
            .unwrap()
            .contains(&json!({"kind": "text", "text": "quagga"}))
    );
    let result = server.answer(5)["result"].clone();
    assert_eq!(result["value"]["matches"][0]["text"], "a quagga");
    let content: Value = serde_json::from_str(result["content"].as_str().unwrap()).unwrap();
    assert_eq!(content, result["value"]);
}

#[test]
fn an_error_of_dsh_keeps_its_code_and_a_missing_service_is_looked_up_anew() {
    let (mut server, _place) = start();
    mount(&mut server, 1, json!([]));
    let mut without = call(5, "x");
    without["params"]["services"] = json!([]);
    server.send(without);
    let missing = server.answer(5)["error"].clone();
    server.send(call(6, "x"));
    let question = server.next("a question", |value| {
        value["method"] == "sessionQuery.filterEvents"
    });
    server.send(json!({"id": question["id"], "error": {"name": "SessionQueryError", "code": "SESSION_QUERY_CORRUPT_SESSION", "message": "broken beyond repair"}}));
    let failed = server.answer(6)["error"].clone();
    assert_eq!(failed["code"], "SESSION_QUERY_CORRUPT_SESSION");
    assert_ne!(missing["message"], failed["message"]);
}

#[test]
fn cancelling_ends_the_call_and_the_question_that_it_had_asked() {
    let (mut server, _place) = start();
    mount(&mut server, 1, json!(["sessionQuery"]));
    server.send(call(5, "x"));
    let question = server.next("a question", |value| {
        value["method"] == "sessionQuery.filterEvents"
    });
    server.send(json!({"method": "cancel", "params": {"id": 5, "reason": {"name": "AbortError", "message": "enough"}}}));
    let mut given_up = false;
    let answer = loop {
        let next = server.next("the end of the call", |_| true);
        given_up |= next["method"] == "cancel" && next["params"]["id"] == question["id"];
        if next["id"] == 5 {
            break next;
        }
    };
    assert_eq!(
        answer["error"],
        json!({"name": "AbortError", "code": "ABORTED", "message": "enough"})
    );
    if !given_up {
        server.next("the question is given up", |value| {
            value["method"] == "cancel"
        });
    }
    // It goes on: an answer that comes too late is nobody's.
    server.send(json!({"id": question["id"], "result": {"nextSeq": null}}));
    server.send(call(6, "y"));
    answer_query(&mut server, "y");
    assert!(server.answer(6).get("result").is_some());
}

#[test]
fn sixty_four_calls_overlap_and_too_many_are_refused() {
    let (mut server, _place) = start();
    let rows = json!([{"id": "history", "name": "dsh-context-proxy"}]);
    ask(
        &mut server,
        1,
        "mount",
        json!({"rows": rows, "base": "/", "services": ["sessionQuery"]}),
    );
    for agent in 0..64 {
        let spec = json!({"id": agent.to_string(), "cwd": "/", "session": agent.to_string()});
        ask(&mut server, 2, "agent", spec);
    }
    for id in 0..64_u64 {
        let mut call = call(100 + id, "x");
        call["params"]["agent"] = id.to_string().into();
        server.send(call);
    }
    let mut seen = std::collections::BTreeSet::new();
    while seen.len() < 64 {
        let next = server.next("64 answers", |_| true);
        if next["method"] == "sessionQuery.filterEvents" {
            server.send(json!({"id": next["id"], "result": {"nextSeq": null}}));
        } else if next.get("result").is_some() {
            seen.insert(next["id"].as_u64().unwrap());
        }
    }
    for id in 1_000..1_300_u64 {
        let mut call = call(id, "x");
        call["params"]["agent"] = (id % 64).to_string().into();
        server.send(call);
    }
    let refused = server.next("a refusal", |value| value.get("error").is_some());
    assert_eq!(refused["error"]["code"], "BRIDGE_BUSY");
}

#[test]
fn garbage_is_reported_and_harms_nothing() {
    let (mut server, _place) = start();
    let long = vec![b'x'; (32 << 20) + 1];
    let lines: [&[u8]; 10] = [
        b"no json",
        b"[]",
        b"5",
        b"\xff",
        b"{}",
        b"{\"id\":-1,\"method\":\"x\"}",
        b"{\"id\":77,\"result\":5}",
        b"{\"method\":\"process.stdout\",\"params\":{\"handle\":9,\"data\":\"!\"}}",
        &long,
        b"",
    ];
    for line in lines {
        server.raw(line);
    }
    let reported = |value: &Value| value["method"] == "log" && value["params"]["row"] == "bridge";
    for _ in 0..7 {
        server.next("a report", reported);
    }
    for (method, params) in [
        ("nope", json!({})),
        ("mount", json!(5)),
        ("call", json!({"agent": 5})),
        ("hello", json!({"protocol": 2})),
    ] {
        assert_eq!(
            ask(&mut server, 5, method, params)["error"]["code"],
            "BRIDGE_PROTOCOL",
            "{method}"
        );
    }
    assert_eq!(
        mount(&mut server, 6, json!([]))["result"]["rows"][0]["state"],
        "active"
    );
}

#[test]
fn what_is_wrong_with_a_row_is_said_and_nothing_is_mounted() {
    let (mut server, _place) = start();
    let history = json!({"id": "history", "name": "dsh-context-proxy"});
    let symbols =
        json!({"id": "s", "name": "dsh-workspace-intelligence", "config": {"servers": 5}});
    let params = json!({"rows": [history, symbols], "base": "/", "services": ["fs", "subprocess"]});
    let error = ask(&mut server, 1, "mount", params)["error"].clone();
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .starts_with("row \"s\": "),
        "{error}"
    );
    let state = ask(&mut server, 2, "services", json!({"services": []}));
    assert_eq!(state["result"], json!({"rows": [], "tools": []}));
}

#[test]
fn rows_follow_the_services() {
    let (mut server, _place) = start();
    let symbols = json!({"id": "s", "name": "dsh-workspace-intelligence", "config": {"servers": {"x": {"command": "/bin/true"}}}});
    let state = ask(
        &mut server,
        1,
        "mount",
        json!({"rows": [symbols], "base": "/", "services": []}),
    )["result"]
        .clone();
    assert_eq!(
        (&state["rows"][0]["state"], &state["rows"][0]["waiting"]),
        (&json!("pending"), &json!(["fs", "subprocess"]))
    );
    assert_eq!(state["tools"], json!([]));
    for (id, services, tools) in [
        (2, json!(["fs", "subprocess"]), 1),
        (3, json!(["fs"]), 0),
        (4, json!(["fs", "subprocess"]), 1),
    ] {
        server.send(json!({"id": id, "method": "services", "params": {"services": services}}));
        let state = loop {
            let next = server.next("the rows", |_| true);
            if next["method"] == "subprocess.resolveExecutable" {
                server.send(json!({"id": next["id"], "result": "/bin/true"}));
            }
            if next["id"] == id && next.get("method").is_none() {
                break next["result"].clone();
            }
        };
        assert_eq!(
            state["tools"].as_array().unwrap().len(),
            tools,
            "{services}"
        );
    }
    assert_eq!(
        ask(&mut server, 5, "shutdown", json!({}))["result"],
        Value::Null
    );
    assert!(server.end().success());
}

#[test]
fn a_line_with_any_key_is_answered() {
    let (mut server, _place) = start();
    for (id, member) in [(1, json!(5)), (2, json!("5")), (3, json!({}))] {
        let odd = json!({ "$serde_json::private::RawValue": member });
        let agent = json!({"id": format!("a{id}"), "cwd": "/", "session": "s", "more": odd});
        let answer = ask(&mut server, id, "agent", agent);
        assert_eq!(answer.get("result"), Some(&Value::Null), "{answer}");
    }
}
