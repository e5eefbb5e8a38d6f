//! SPEC 20, cases 22 to 31: ids and responses.

use crate::support::*;
use dsh_workspace_intelligence::jsonrpc::{Inbound, RpcError, classify};
use serde_json::{Value, json};

/// A server that answers queries like this.
fn answering(handler: impl Fn(&Server, &Value) + 'static) -> (World, Mounted) {
    let mut world = World::new();
    world.program("a", Script::new().on("workspace/symbol", handler));
    let plugin = world.mount(servers(&["a"]));
    (world, plugin)
}

#[test]
fn case_022_the_second_reply_to_one_request_is_skipped() {
    let (mut world, plugin) = answering(|server, message| {
        server.reply(message, json!([symbol("First", 1)]));
        server.reply(message, json!([symbol("Second", 1)]));
    });
    assert_eq!(names(&world.value(&plugin, "x")), ["First"]);
    assert_eq!(
        names(&world.value(&plugin, "x")),
        ["First"],
        "it is not taken for the reply to the next request"
    );
}

#[test]
fn case_023_a_reply_to_a_request_that_nobody_made_is_skipped() {
    let (mut world, plugin) = answering(|server, message| {
        for id in [
            json!(0),
            json!(1),
            json!(-2),
            json!(99),
            json!(1.5),
            json!(1e300),
        ] {
            server.reply(&json!({"id": id}), json!([symbol("Wrong", 1)]));
        }
        server.reply(message, json!([symbol("Right", 1)]));
    });
    assert_eq!(names(&world.value(&plugin, "x")), ["Right"]);
}

#[test]
fn case_024_a_reply_with_a_textual_id_is_skipped_and_the_call_waits() {
    let (mut world, plugin) = answering(|server, message| {
        server.reply(&json!({"id": message["id"].to_string()}), json!([]));
    });
    let mut call = world.call(&plugin, "x");
    world.advance(60_000);
    assert!(!call.is_over());
    call.abort();
    assert!(world.finish(&call.task).is_err());
}

#[test]
fn case_025_an_error_beside_a_result_wins() {
    let (mut world, plugin) = answering(|server, message| {
        server.write(&json!({"id": message["id"], "result": [], "error": {"code": -32603, "message": "broken"}}));
    });
    let error = world.error(&plugin, "x");
    assert!(
        error
            .to_string()
            .contains("a: workspace/symbol failed: error -32603: broken"),
        "{error}"
    );
}

#[test]
fn case_026_a_reply_with_neither_is_malformed() {
    let (mut world, plugin) =
        answering(|server, message| server.write(&json!({"id": message["id"]})));
    let error = world.error(&plugin, "x");
    assert_eq!(error.code(), "WORKSPACE_SYMBOL_PROVIDER_FAILED");
    assert!(
        error.to_string().contains("the answer has no result"),
        "{error}"
    );
    assert_eq!(
        world.servers().len(),
        1,
        "a malformed answer is no reason to start again"
    );
}

#[test]
fn case_027_a_null_error_is_none() {
    let (mut world, plugin) = answering(|server, message| {
        server.write(&json!({"id": message["id"], "error": null, "result": [symbol("Found", 1)]}));
    });
    assert_eq!(names(&world.value(&plugin, "x")), ["Found"]);
}

#[test]
fn case_028_an_error_without_a_text_gets_one() {
    for error in [json!({}), json!({"message": 7}), json!({"code": "x"})] {
        let (mut world, plugin) = answering(move |server, message| {
            server.write(&json!({"id": message["id"], "error": error}));
        });
        let error = world.error(&plugin, "x");
        assert!(
            error
                .to_string()
                .contains("reported an error without a message"),
            "{error}"
        );
    }
}

#[test]
fn case_029_an_error_without_an_id_is_skipped() {
    let (mut world, plugin) = answering(|server, message| {
        server.write(&json!({"id": null, "error": {"code": -32700, "message": "parse error"}}));
        server.write(&json!({"id": null, "method": "odd"}));
        server.reply(message, json!([symbol("Found", 1)]));
    });
    assert_eq!(names(&world.value(&plugin, "x")), ["Found"]);
}

#[test]
fn case_030_a_late_reply_is_not_taken_for_the_next_one() {
    let mut world = World::new();
    world.program(
        "a",
        Script::new().on("workspace/symbol", |server, message| {
            let message = message.clone();
            match message["params"]["query"].as_str() {
                // Settles the cancelled request, and then answers it all the same.
                Some("slow") => server.after(100, move |server| {
                    server.reply_error(&message, -32800, "cancelled");
                    server.after(100, move |server| {
                        server.reply(&message, json!([symbol("Late", 1)]))
                    });
                }),
                _ => server.after(500, move |server| {
                    server.reply(&message, json!([symbol("Right", 1)]))
                }),
            }
        }),
    );
    let plugin = world.mount(servers(&["a"]));
    let mut slow = world.call(&plugin, "slow");
    world.advance(50);
    slow.abort();
    assert!(world.finish(&slow.task).is_err());
    assert_eq!(names(&world.value(&plugin, "next")), ["Right"]);
    assert_eq!(world.servers().len(), 1);
}

#[test]
fn case_031_requests_of_the_server_may_carry_any_id() {
    let mut world = World::new();
    world.program(
        "a",
        Script::new().on("workspace/symbol", |server, message| {
            for id in [
                json!(0),
                json!("ts1"),
                message["id"].clone(),
                json!(-1),
                json!(""),
            ] {
                server.request(id, "workspace/configuration", json!({"items": [{}]}));
            }
            server.reply(message, json!([symbol("Found", 1)]));
        }),
    );
    let plugin = world.mount(servers(&["a"]));
    assert_eq!(names(&world.value(&plugin, "x")), ["Found"]);
    world.settle();
    let ids: Vec<Value> = world
        .server(0)
        .messages("<reply>")
        .iter()
        .map(|reply| reply["id"].clone())
        .collect();
    assert_eq!(
        ids,
        [json!(0), json!("ts1"), json!(2), json!(-1), json!("")]
    );
}

#[test]
fn a_message_is_sorted_by_what_is_to_be_done_with_it() {
    let request = |id: Value| Inbound::Request {
        id,
        method: "m".into(),
        params: "null",
    };
    let notification = |params| Inbound::Notification {
        method: "m".into(),
        params,
    };
    let response = |reply| Inbound::Response { id: 1, reply };
    let error = |code, message: &str| {
        let message = message.to_owned();
        response(Err(RpcError { code, message }))
    };
    let fallback = "the language server reported an error without a message";
    for (text, expected) in [
        (r#"{"method":"m","id":"a"}"#, request(json!("a"))),
        (r#"{"id":1.5,"method":"m"}"#, request(json!(1.5))),
        (r#"{"method":"m"}"#, notification("null")),
        (
            r#"{"method":"m","params": [1, 2] }"#,
            notification("[1, 2]"),
        ),
        (
            r#"{"params":1,"method":"\u006d","params":2}"#,
            notification("2"),
        ),
        (r#" {"id":1.0,"result":null} "#, response(Ok(Some("null")))),
        (
            r#"{"id":1,"method":5,"result":[ ]}"#,
            response(Ok(Some("[ ]"))),
        ),
        (r#"{"id":1}"#, response(Ok(None))),
        (
            r#"{"id":1,"error":null,"result":1}"#,
            response(Ok(Some("1"))),
        ),
        (
            r#"{"id":1,"error":{"code":-3,"message":"no"},"result":1}"#,
            error(Some(-3), "no"),
        ),
        (
            r#"{"id":1,"error":{"code":0.5,"message":7}}"#,
            error(None, fallback),
        ),
        (r#"{"method":"m","id":null}"#, Inbound::Ignored),
        (r#"{"method":5}"#, Inbound::Ignored),
        ("{}", Inbound::Ignored),
        (r#"{"id":true}"#, Inbound::Ignored),
        (r#"[{"id":1,"result":1}]"#, Inbound::Ignored),
        ("null", Inbound::Ignored),
        ("-1", Inbound::Ignored),
        ("1e3", Inbound::Ignored),
        ("false", Inbound::Ignored),
        ("\"x\"", Inbound::Ignored),
    ] {
        assert_eq!(classify(text).unwrap(), expected, "{text}");
    }
    for text in [
        "",
        "{",
        r#"{"a":1,}"#,
        "[1] 2",
        r#"{"params":[}"#,
        r#"{"x":nul}"#,
        "{1:2}",
    ] {
        assert!(classify(text).is_err(), "{text}");
    }
}
