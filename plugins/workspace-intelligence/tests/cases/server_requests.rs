//! SPEC 20, cases 32 to 40: what the server asks.

use crate::support::*;
use dsh_workspace_intelligence::framing::encode;
use dsh_workspace_intelligence::handshake::HandshakeError;
use dsh_workspace_intelligence::machine::{Machine, Setup};
use serde_json::{Value, json};

/// Lets the server ask this during a query; its reply, and the outcome of the query that was answered after it.
fn reply_to(method: &'static str, params: Value) -> Value {
    let mut world = World::new();
    world.program(
        "a",
        Script::new()
            .on("workspace/symbol", move |server, _| {
                server.request(json!("q"), method, params.clone())
            })
            .on("<reply>", |server, _| {
                server.reply(&json!({"id": 2}), json!([symbol("Found", 1)]))
            }),
    );
    let mut config = servers(&["a"]);
    config["servers"]["a"]["configuration"] = json!({"deep": [1, false]});
    let plugin = world.mount(config);
    assert_eq!(
        names(&world.value(&plugin, "x")),
        ["Found"],
        "the server goes on after {method}"
    );
    world.server(0).messages("<reply>").remove(0)
}

fn result_of(method: &'static str, params: Value) -> Value {
    reply_to(method, params)["result"].take()
}

#[test]
fn case_032_each_configuration_item_gets_a_copy() {
    let value = json!({"deep": [1, false]});
    let items = json!({"items": [{"section": "a"}, {}, {"section": "b"}]});
    assert_eq!(
        result_of("workspace/configuration", items),
        json!([value, value, value])
    );
    for odd in [
        json!({}),
        json!(null),
        json!({"items": {}}),
        json!({"items": "ab"}),
    ] {
        assert_eq!(result_of("workspace/configuration", odd), json!([]));
    }
    let flood = json!({"items": vec![json!({}); 1_001]});
    assert_eq!(
        reply_to("workspace/configuration", flood)["error"]["code"],
        json!(-32602)
    );
}

#[test]
fn case_032_configuration_is_answered_before_the_handshake_is() {
    let mut world = World::new();
    world.program(
        "a",
        Script::new()
            .on("initialize", |server, _| {
                server.request(json!(7), "workspace/configuration", json!({"items": [{}]}))
            })
            .on("<reply>", |server, reply| {
                assert_eq!(reply["result"], json!([null]));
                server.reply(
                    &json!({"id": 1}),
                    json!({"capabilities": {"workspaceSymbolProvider": {}}}),
                );
            }),
    );
    let plugin = world.mount(servers(&["a"]));
    assert_eq!(counts(&world.value(&plugin, "x")), [1, 0, 0]);
}

#[test]
fn case_033_there_is_one_workspace_folder() {
    let folder = json!([{"uri": "file:///ws", "name": "workspace"}]);
    assert_eq!(result_of("workspace/workspaceFolders", json!(null)), folder);
}

#[test]
fn case_034_registrations_are_accepted_and_one_for_symbols_counts() {
    let watchers =
        json!({"registrations": [{"id": "w", "method": "workspace/didChangeWatchedFiles"}]});
    assert_eq!(
        reply_to("client/registerCapability", watchers),
        json!({"jsonrpc": "2.0", "id": "q", "result": null})
    );

    let mut world = World::new();
    let symbols = json!([{"id": "s", "method": "workspace/symbol"}]);
    let (register, unregister) = (
        json!({"registrations": symbols}),
        json!({"unregisterations": symbols}),
    );
    world.program(
        "a",
        Script::new()
            .with_capabilities(json!({}))
            .with_result(json!([symbol("Found", 1)]))
            .on("initialized", move |server, _| {
                let (register, unregister) = (register.clone(), unregister.clone());
                server.after(100, move |server| {
                    server.request(json!(1), "client/registerCapability", register)
                });
                server.after(200, move |server| {
                    server.request(json!(2), "client/unregisterCapability", unregister)
                });
            }),
    );
    let plugin = world.mount(servers(&["a"]));
    assert_eq!(
        world.error(&plugin, "x").code(),
        "WORKSPACE_SYMBOL_UNSUPPORTED"
    );
    world.advance(150);
    assert_eq!(names(&world.value(&plugin, "x")), ["Found"]);
    world.advance(100);
    assert_eq!(
        world.error(&plugin, "x").code(),
        "WORKSPACE_SYMBOL_UNSUPPORTED"
    );
    assert_eq!(
        world.servers().len(),
        1,
        "a server without the capability is kept"
    );
}

#[test]
fn case_035_progress_is_accepted_in_any_amount() {
    assert_eq!(
        result_of("window/workDoneProgress/create", json!({"token": 1})),
        json!(null)
    );
    let mut world = World::new();
    world.program(
        "a",
        Script::new().on("workspace/symbol", |server, message| {
            for number in 0..3_000 {
                server.progress(&format!("t{number}"), "begin");
            }
            server.reply(message, json!([symbol("Found", 1)]));
        }),
    );
    let plugin = world.mount(servers(&["a"]));
    assert_eq!(names(&world.value(&plugin, "x")), ["Found"]);
}

#[test]
fn case_036_no_action_is_chosen_in_a_message_request() {
    let params = json!({"type": 1, "message": "Reload?", "actions": [{"title": "Yes"}]});
    let reply = reply_to("window/showMessageRequest", params);
    assert_eq!(reply, json!({"jsonrpc": "2.0", "id": "q", "result": null}));
    assert_eq!(
        result_of("window/showDocument", json!({"uri": "file:///etc/passwd"})),
        json!({"success": false})
    );
}

#[test]
fn case_037_edits_are_refused() {
    let reply = reply_to("workspace/applyEdit", json!({"edit": {"changes": {}}}));
    assert_eq!(reply["error"]["code"], json!(-32601));
    assert!(reply.get("result").is_none());
}

#[test]
fn case_038_unknown_requests_are_refused_by_name() {
    let reply = reply_to("markdown/findMarkdownFilesInWorkspace", json!({}));
    let error =
        json!({"code": -32601, "message": "unsupported: markdown/findMarkdownFilesInWorkspace"});
    assert_eq!(reply["error"], error);
    for refresh in ["workspace/diagnostic/refresh", "workspace/codeLens/refresh"] {
        assert_eq!(
            reply_to(refresh, json!(null)),
            json!({"jsonrpc": "2.0", "id": "q", "result": null})
        );
    }
}

#[test]
fn case_039_ten_thousand_notifications_before_the_reply_do_no_harm() {
    let mut world = World::new();
    world.program(
        "a",
        Script::new().on("workspace/symbol", |server, message| {
            for number in 0..10_000 {
                server.notify(
                    "window/logMessage",
                    json!({"type": 4, "message": number.to_string()}),
                );
            }
            server.reply(message, json!([symbol("Found", 1)]));
        }),
    );
    let plugin = world.mount(servers(&["a"]));
    assert_eq!(names(&world.value(&plugin, "x")), ["Found"]);
    assert_eq!(
        world.server(0).count("<reply>"),
        0,
        "notifications are not answered"
    );
}

#[test]
fn case_040_reading_goes_on_while_writing_is_stuck() {
    let mut world = World::new();
    world.program(
        "a",
        Script::new().on("workspace/symbol", |server, message| {
            // Reads nothing more until much of its own output has been taken.
            server.block_input(true);
            for number in 0..500 {
                server.request(
                    json!(number),
                    "workspace/configuration",
                    json!({"items": [{}]}),
                );
            }
            let message = message.clone();
            server.after(1_000, move |server| {
                server.block_input(false);
                server.reply(&message, json!([symbol("Found", 1)]));
            });
        }),
    );
    let plugin = world.mount(servers(&["a"]));
    assert_eq!(names(&world.value(&plugin, "x")), ["Found"]);
    world.settle();
    assert_eq!(world.server(0).count("<reply>"), 500);
}

#[test]
fn a_server_that_asks_for_ever_and_never_reads_is_given_up() {
    let mut world = World::new();
    world.program(
        "a",
        Script::new().on("workspace/symbol", |server, _| {
            server.block_input(true);
            for number in 0..20 {
                let items = vec![json!({}); 100];
                server.request(
                    json!(number),
                    "workspace/configuration",
                    json!({"items": items}),
                );
            }
        }),
    );
    let mut config = servers(&["a"]);
    config["servers"]["a"]["configuration"] = json!("x".repeat(20_000));
    let plugin = world.mount(config);
    let error = world.error(&plugin, "x");
    assert!(
        error.to_string().contains("bytes wait to be read"),
        "{error}"
    );
}

/// A machine past its handshake, and what it has written since.
fn ready(result: Value, configuration: Value) -> Machine {
    let mut machine = Machine::new(&Setup {
        root_uri: "file:///ws".to_owned(),
        initialization_options: Value::Null,
        configuration,
        max_message_bytes: 16_000_000,
        warmup_ms: 12_000,
    });
    tell(&mut machine, &json!({"id": 1, "result": result}));
    written(&mut machine);
    machine
}

fn tell(machine: &mut Machine, message: &Value) {
    machine.receive(&encode(&message.to_string()), 0);
}

fn written(machine: &mut Machine) -> Vec<Value> {
    let frames = std::iter::from_fn(|| machine.take_outgoing());
    let body = |frame: Vec<u8>| {
        let text = String::from_utf8(frame).unwrap();
        serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap()
    };
    frames.map(body).collect()
}

fn capable() -> Value {
    json!({"capabilities": {"workspaceSymbolProvider": true}})
}

/// SPEC 6.6, each bound from both sides.
#[test]
fn what_is_kept_of_a_message_or_sent_back_is_bounded() {
    let mut machine = ready(capable(), Value::Null);
    for (length, answered) in [(1_022, true), (1_023, false)] {
        let id = "i".repeat(length);
        tell(&mut machine, &json!({"id": id, "method": "x"}));
        let replies = written(&mut machine);
        assert_eq!(replies.len(), usize::from(answered), "{length}");
        assert!(replies.iter().all(|reply| reply["id"] == id.as_str()));
    }

    tell(&mut machine, &json!({"id": 5, "method": "é".repeat(600)}));
    let refusal = written(&mut machine).remove(0);
    let named = format!("unsupported: {}", "é".repeat(512));
    assert_eq!(refusal["error"]["message"], named);

    // A list counts as one value.
    let fitting = (4 << 20) / 64 - 2;
    for (items, code) in [(fitting, -32601), (fitting + 1, -32602)] {
        let params = vec![0; items];
        tell(
            &mut machine,
            &json!({"id": 5, "method": "x", "params": params}),
        );
        assert_eq!(written(&mut machine).remove(0)["error"]["code"], code);
    }

    for (length, remembered) in [(1_024, true), (1_025, false)] {
        let mut machine = ready(json!({"capabilities": {}}), Value::Null);
        let registration = json!({"id": "r".repeat(length), "method": "workspace/symbol"});
        let params = json!({"registrations": [registration]});
        let request = json!({"id": 5, "method": "client/registerCapability", "params": params});
        tell(&mut machine, &request);
        assert_eq!(written(&mut machine).remove(0)["result"], Value::Null);
        assert_eq!(machine.supports_symbols(), remembered, "{length}");
    }

    for (length, tracked) in [(1_022, true), (1_023, false)] {
        let mut machine = ready(capable(), Value::Null);
        let params = json!({"token": "t".repeat(length), "value": {"kind": "begin"}});
        tell(
            &mut machine,
            &json!({"method": "$/progress", "params": params}),
        );
        assert_eq!(machine.warmup().indexing(), tracked, "{length}");
    }

    // A thousand times the text and a comma.
    let most = (4 << 20) / 1_000 - 1 - 2;
    for (length, member) in [(most, "result"), (most + 1, "error")] {
        let mut machine = ready(capable(), "c".repeat(length).into());
        let params = json!({"items": vec![0; 1_000]});
        let request = json!({"id": 5, "method": "workspace/configuration", "params": params});
        tell(&mut machine, &request);
        let reply = written(&mut machine).remove(0);
        assert!(reply.get(member).is_some(), "{length}");
    }

    for (length, kept) in [(10_240, 10_240), (10_241, 10_240)] {
        let mut machine = ready(capable(), Value::Null);
        machine.query("x");
        let error = json!({"code": 1, "message": "m".repeat(length)});
        tell(&mut machine, &json!({"id": 2, "error": error}));
        let error = machine.take_reply().unwrap().unwrap_err();
        assert_eq!(error.message.len(), kept);
    }

    let encoding = json!({"capabilities": {"positionEncoding": "é".repeat(1_000)}});
    let refused = ready(encoding, Value::Null)
        .handshake()
        .unwrap()
        .unwrap_err();
    assert_eq!(refused, HandshakeError::Encoding("é".repeat(50)));

    let large = json!({"capabilities": {"workspaceSymbolProvider": true, "x": vec![0; 1 << 17]}});
    let refused = ready(large, Value::Null).handshake().unwrap().unwrap_err();
    assert!(refused.to_string().contains("too large"), "{refused}");
}

#[test]
fn an_error_code_may_have_a_point() {
    let mut machine = ready(capable(), Value::Null);
    machine.query("x");
    written(&mut machine);
    let body = br#"{"id":2,"error":{"code":-32601.0,"message":"no"}}"#;
    machine.receive(&encode(str::from_utf8(body).unwrap()), 0);
    let error = machine.take_reply().unwrap().unwrap_err();
    assert_eq!(error.code, Some(-32601));
}

/// What `serde_json` keeps to itself is a key like any other in what a server sends.
#[test]
fn a_key_of_the_json_library_is_data() {
    let odd = json!({"$serde_json::private::RawValue": 5});
    let mut machine = ready(capable(), Value::Null);
    tell(
        &mut machine,
        &json!({"id": 5, "method": "x", "params": odd}),
    );
    tell(
        &mut machine,
        &json!({"id": 6, "method": "workspace/configuration", "params": {"items": [odd, odd]}}),
    );
    // An id that is an object is none.
    let five = json!({"$serde_json::private::RawValue": "5"});
    tell(&mut machine, &json!({"id": five, "method": "x"}));
    let replies = written(&mut machine);
    assert_eq!(replies.len(), 2);
    assert_eq!(replies[0]["error"]["code"], -32601);
    assert_eq!(replies[1]["result"], json!([null, null]));
    machine.query("x");
    written(&mut machine);
    tell(
        &mut machine,
        &json!({"id": 2, "error": {"code": 7, "message": "m", "data": odd}}),
    );
    let error = machine.take_reply().unwrap().unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (Some(7), "m"));
}
