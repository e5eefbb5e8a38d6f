//! What servers write that they should not. The call always ends, the plugin never traps, and the next call works.

use dsh_host::ToolResult;
use dsh_tests::hostile::failure;
use dsh_tests::symbols::{Desk, answering, found, names, symbol};
use serde_json::{Value, json};

/// A server that does this with the first query, in every process of which there are two in that call, and answers well afterwards.
async fn after(actions: Value) -> (Desk, ToolResult) {
    let desk = Desk::new().await;
    let faulty = json!({"workspace/symbol": actions});
    desk.mount_scripted(json!([faulty, faulty, answering(&["Gear"])]))
        .await;
    let result = desk.ask("Gear").await;
    (desk, result)
}

/// The fault costs the process: it is tried once more with a fresh one, is told, and the next call has a third.
async fn is_fatal(what: &str, actions: Value, reason: &str) {
    let (desk, result) = after(actions).await;
    let failure = failure(result);
    assert!(
        failure.is("WORKSPACE_SYMBOL_PROVIDER_FAILED"),
        "{what}: {failure:?}"
    );
    assert!(failure.message.contains(reason), "{what}: {failure}");
    assert_eq!(names(desk.ask("Gear").await), ["Gear"], "{what}");
    assert_eq!(desk.journal("server").pids().len(), 3, "{what}");
    desk.unmount().await.unwrap();
}

/// The answer after it is read all the same, and by the first process.
async fn is_harmless(what: &str, mut actions: Vec<Value>) {
    actions.push(json!({"reply": [symbol("Gear")]}));
    let (desk, result) = after(json!(actions)).await;
    assert_eq!(names(result), ["Gear"], "{what}");
    assert_eq!(names(desk.ask("Gear").await), ["Gear"], "{what}");
    assert_eq!(desk.journal("server").pids().len(), 1, "{what}");
    desk.unmount().await.unwrap();
}

/// The process lives on, and this call alone fails.
async fn is_refused(what: &str, actions: Value, reason: &str) {
    let desk = Desk::new().await;
    desk.mount_scripted(json!([{"workspace/symbol": actions}]))
        .await;
    for _ in 0..2 {
        let failure = failure(desk.ask("Gear").await);
        assert!(
            failure.is("WORKSPACE_SYMBOL_PROVIDER_FAILED"),
            "{what}: {failure:?}"
        );
        assert!(failure.message.contains(reason), "{what}: {failure}");
    }
    assert_eq!(desk.journal("server").pids().len(), 1, "{what}");
    desk.unmount().await.unwrap();
}

#[tokio::test]
async fn garbage_on_standard_output_is_fatal_and_mended_in_the_next_call() {
    let gear = r#"{"jsonrpc":"2.0","id":2,"result":[]}"#;
    let framed = |header: &str| json!([{"write": format!("{header}\r\n\r\n{gear}")}]);
    let length = gear.len();
    for (what, actions, reason) in [
        (
            "a log line",
            json!([{"write": "INFO indexing\n"}, {"reply": []}]),
            "Content-Length",
        ),
        (
            "an escape code",
            framed(&format!("\u{1b}[32mContent-Length: {length}")),
            "Content-Length",
        ),
        ("no length", framed("Content-Type: x"), "Content-Length"),
        (
            "a length that is none",
            framed("Content-Length: 1e3"),
            "1e3",
        ),
        ("a negative length", framed("Content-Length: -1"), "-1"),
        (
            "a length beyond the limit",
            framed("Content-Length: 99999999999999999999"),
            "maxMessageBytes",
        ),
        (
            "a header without an end",
            json!([{"repeat": 70_000, "do": [{"write": "x"}]}]),
            "header",
        ),
        (
            "a body that is no JSON",
            json!([{"body": "{\"id\":2,\"result\":"}]),
            "JSON",
        ),
        ("an empty body", json!([{"body": ""}]), "JSON"),
        (
            "a length that is too long by one and no more to come",
            json!([{"write": "Content-Length: 3\r\n\r\n42"}, {"exit": 7}]),
            "exited with code 7",
        ),
        (
            "too short a length",
            json!([{"write": "Content-Length: 1\r\n\r\n42\r\n\r\n"}]),
            "Content-Length",
        ),
    ] {
        is_fatal(what, actions, reason).await;
    }
}

#[tokio::test]
async fn odd_but_readable_output_is_read() {
    let notification = r#"{"method":"window/logMessage","params":{}}"#;
    let length = notification.len();
    for (what, actions) in [
        ("a line feed after a body", json!({"write": "\n"})),
        (
            "a line of text in the header block",
            json!({"write": "indexing\r\n"}),
        ),
        (
            "another header",
            json!({"write": "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n"}),
        ),
        (
            "a message before the answer",
            json!({"write": format!("content-length:{length}\r\n\r\n{notification}")}),
        ),
        ("frames that are no objects", json!({"body": "42"})),
        ("a list", json!({"body": "[{\"id\":2,\"result\":null}]"})),
        (
            "an answer to nobody",
            json!({"send": {"id": 77, "result": []}}),
        ),
        (
            "an answer without an identifier",
            json!({"send": {"id": null, "error": {"code": 1, "message": "x"}}}),
        ),
        (
            "ten thousand notifications",
            json!({"repeat": 10_000, "do": [{"body": notification}]}),
        ),
        (
            "a request that nobody knows",
            json!({"send": {"id": "x", "method": "custom/thing", "params": [null]}}),
        ),
        (
            "something on standard error",
            json!({"stderr": "\u{1b}[31mwarning\u{1b}[0m\n"}),
        ),
    ] {
        is_harmless(what, vec![actions]).await;
    }
}

#[tokio::test]
async fn ill_formed_text_is_replaced() {
    let raw = |name: &[u8]| {
        let mut body = br#"{"jsonrpc":"2.0","id":2,"result":[{"name":""#.to_vec();
        body.extend_from_slice(name);
        body.extend_from_slice(br#"","kind":5,"location":{"uri":"file:///a.rs"}}]}"#);
        let mut bytes = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
        bytes.extend(body);
        json!([{"bytes": bytes}])
    };
    for (written, read) in [
        (&b"a\xffb"[..], "a\u{fffd}b"),
        (b"a\xe2\x82", "a\u{fffd}"),
        (br"\ud800", "\u{fffd}"),
        (br"\udc00\ud83d\ude00", "\u{fffd}\u{1f600}"),
        (br"\u0000", "\0"),
    ] {
        let (desk, result) = after(raw(written)).await;
        assert_eq!(names(result), [read]);
        desk.unmount().await.unwrap();
    }
}

#[tokio::test]
async fn deep_answers_are_read_and_deeper_ones_refused_without_a_trap() {
    let (desk, result) = after(json!([{"nested": 590}])).await;
    assert_eq!(names(result), ["Deep"]);
    desk.unmount().await.unwrap();
    is_fatal(
        "too deep",
        json!([{"nested": 100_000}]),
        "nesting is deeper than 600 levels",
    )
    .await;
    is_fatal(
        "much too deep",
        json!([{"nested": 5_000_000}]),
        "nesting is deeper than 600 levels",
    )
    .await;
}

#[tokio::test]
async fn answers_of_every_shape_are_read() {
    let at = json!({"start": {"line": 1.0, "character": 2}, "end": {"line": 1, "character": 6}, "more": [1]});
    let full = json!({"name": "Gear", "kind": 300, "tags": [1], "deprecated": true, "score": 0.5, "data": {"x": [null]},
        "containerName": "", "location": {"uri": "file:///a.rs", "range": at, "more": {}}, "more": null});
    let place = json!({"name": "", "kind": 5, "containerName": "C", "location": {"uri": "file:///a.rs", "range": null}});
    let (desk, result) = after(json!([{"reply": [full, place]}])).await;
    let value = found(result);
    let range = json!({"start": {"line": 1, "character": 2}, "end": {"line": 1, "character": 6}});
    assert_eq!(
        value["symbols"],
        json!([
            {"name": "Gear", "kind": "Unknown(300)", "uri": "file:///a.rs", "range": range},
            {"name": "", "kind": "Class", "uri": "file:///a.rs", "containerName": "C"},
        ])
    );
    assert_eq!(
        value["providers"],
        json!({"succeeded": 1, "failed": 0, "unsupported": 0})
    );
    desk.unmount().await.unwrap();

    let (desk, result) = after(json!([{"reply": null}])).await;
    assert_eq!(found(result)["total"], 0);
    desk.unmount().await.unwrap();
}

#[tokio::test]
async fn answers_that_are_none_fail_the_call_and_keep_the_process() {
    let gear = |key: &str, value: Value| {
        let mut gear = symbol("Gear");
        gear[key] = value;
        json!([{"reply": [symbol("Other"), gear]}])
    };
    let range = |value: Value| gear("location", json!({"uri": "file:///a.rs", "range": value}));
    let end = json!({"line": 1, "character": 1});
    for (what, actions, reason) in [
        (
            "an object",
            json!([{"reply": {}}]),
            "neither a list nor null",
        ),
        (
            "a text",
            json!([{"reply": "Gear"}]),
            "neither a list nor null",
        ),
        (
            "nothing at all",
            json!([{"send": {"id": 2}}, {"send": {"id": 3}}]),
            "no result",
        ),
        ("a name that is none", gear("name", json!(5)), "entry 1"),
        ("kind 0", gear("kind", json!(0)), "kind"),
        ("a textual kind", gear("kind", json!("5")), "kind"),
        ("half a kind", gear("kind", json!(1.5)), "kind"),
        (
            "a container that is none",
            gear("containerName", json!(7)),
            "containerName",
        ),
        ("no location", gear("location", Value::Null), "location"),
        ("no uri", gear("location", json!({})), "uri"),
        ("half a range", range(json!({"start": end})), "range"),
        (
            "a negative line",
            range(json!({"start": {"line": -1, "character": 0}, "end": end})),
            "range",
        ),
        (
            "a huge line",
            range(json!({"start": {"line": 4e9, "character": 0}, "end": end})),
            "range",
        ),
        (
            "an error",
            json!([{"error": {"code": -32803, "message": "two\nlines"}}]),
            "-32803: two lines",
        ),
        (
            "an error without a text",
            json!([{"error": {"code": 1}}]),
            "without a message",
        ),
        (
            "an entry that is none",
            json!([{"reply": [null]}]),
            "entry 0",
        ),
    ] {
        is_refused(what, actions, reason).await;
    }
}

#[tokio::test]
async fn a_server_that_is_asked_while_it_waits_for_us_is_answered() {
    // The request has the number of our own query.
    let ask = |id: Value| json!({"send": {"id": id, "method": "workspace/configuration", "params": {"items": [{}, {}]}}});
    let desk = Desk::new().await;
    let gear = json!({"send": {"id": 2, "result": [symbol("Gear")]}});
    let run = json!({
        "start": [ask(json!(2))],
        "workspace/symbol": [ask(json!("s"))],
        "<reply>": [gear],
    });
    desk.mount_scripted(json!([run])).await;
    assert_eq!(names(desk.ask("Gear").await), ["Gear"]);
    desk.journal("server").until_got("<reply>", 2).await;
    let replies = desk.journal("server").of("got");
    let replies: Vec<_> = replies
        .iter()
        .filter(|message| message.get("method").is_none())
        .collect();
    assert_eq!(replies[0]["id"], 2);
    assert_eq!(replies[1]["id"], "s");
    assert_eq!(replies[1]["result"], json!([null, null]));
    desk.unmount().await.unwrap();
}

#[tokio::test]
async fn two_servers_of_which_one_fails_are_a_success_that_counts_both() {
    let desk = Desk::new().await;
    let servers = [
        (
            "a",
            desk.server("a", json!([{"workspace/symbol": [{"exit": 3}]}])),
        ),
        ("b", desk.server("b", json!([answering(&["Gear"])]))),
        (
            "c",
            desk.server(
                "c",
                json!([{"initialize": [{"reply": {"capabilities": {}}}]}]),
            ),
        ),
    ];
    desk.mount(&servers).await.unwrap();
    let value = found(desk.ask("Gear").await);
    assert_eq!(
        value["providers"],
        json!({"succeeded": 1, "failed": 1, "unsupported": 1})
    );
    assert_eq!(value["total"], 1);
    desk.unmount().await.unwrap();
}
