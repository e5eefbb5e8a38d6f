//! Messages that would take many times their size, or long to read, and are within every bound on their bytes (SPEC 6.6). A server that writes them
//! may lose its own answer. It costs neither the instance nor the answers of others.

use dsh_tests::hostile::failure;
use dsh_tests::symbols::{Desk, answering, exists, found, names, symbol};
use serde_json::{Value, json};

const MB: u64 = 1_000_000;

/// A run that does this, then answers.
fn before_the_answer(action: Value) -> Value {
    json!({"workspace/symbol": [action, {"reply": [symbol("Bad")]}]})
}

/// A message with the query's own identifier.
fn as_the_answer(before: &str, unit: Value, times: u64, after: &str) -> Value {
    let before = format!("{{\"id\":$ID,\"result\":{before}");
    json!({"workspace/symbol": [{"large": [before, unit, times, format!("{after}}}")]}]})
}

fn symbol_at(uri_begins: &str, unit: Value, times: u64) -> Value {
    let before = format!("[{{\"name\":\"Bad\",\"kind\":5,\"location\":{{\"uri\":\"{uri_begins}");
    as_the_answer(&before, unit, times, "\"}}]")
}

fn large(before: &str, unit: Value, times: u64, after: &str) -> Value {
    json!({"large": [before, unit, times, after]})
}

/// Asks twice, once with the processes of the first call, beside a server that behaves.
async fn costs_nobody_else_anything(what: &str, configuration: Value, bad: Value) {
    let desk = Desk::new().await;
    let mut server = desk.server("bad", json!([bad]));
    server["configuration"] = configuration;
    let good = desk.server("good", json!([answering(&["Good"])]));
    desk.mount(&[("bad", server), ("good", good)])
        .await
        .unwrap();
    for _ in 0..2 {
        let result = desk.ask("Good").await;
        assert!(!result.is_error(), "{what}: {}", result.text());
        let value = found(result);
        let found = value["symbols"].as_array().unwrap();
        assert!(
            found.iter().any(|symbol| symbol["name"] == "Good"),
            "{what}"
        );
    }
    assert!(!desk.journal("bad").of("large").is_empty(), "{what}");
    let pids = desk.journal("good").pids();
    assert_eq!(pids.len(), 1, "{what}: the instance was lost");
    desk.unmount().await.unwrap();
    assert!(!pids.into_iter().any(exists), "{what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_that_grow() {
    for (what, run) in [
        (
            "a path of slashes",
            symbol_at("file:///.", json!("/"), 15 * MB),
        ),
        (
            "a path of parents",
            symbol_at("file:///a", json!("/a/.."), 3 * MB),
        ),
        (
            "a path that is no UTF-8",
            symbol_at("file:///", json!([0xff]), 15 * MB),
        ),
        (
            "a path to be encoded",
            symbol_at("file:///", json!("é"), 7 * MB),
        ),
        (
            "many paths to be encoded",
            as_the_answer(
                "[",
                json!(format!(
                    "{{\"name\":\"Bad\",\"kind\":5,\"location\":{{\"uri\":\"file:///{}\"}}}},",
                    "é".repeat(1_000)
                )),
                7_000,
                "null]",
            ),
        ),
        (
            "a method that is no UTF-8",
            before_the_answer(large(
                "{\"id\":1,\"method\":\"",
                json!([0xff]),
                15 * MB,
                "\"}",
            )),
        ),
        (
            "a long method",
            before_the_answer(large("{\"id\":1,\"method\":\"", json!("m"), 15 * MB, "\"}")),
        ),
        (
            "an identifier that is no UTF-8",
            before_the_answer(large(
                "{\"method\":\"x\",\"id\":\"",
                json!([0xff]),
                15 * MB,
                "\"}",
            )),
        ),
        (
            "long identifiers",
            before_the_answer(
                json!({"repeat": 5, "do": [large("{\"method\":\"x\",\"id\":\"", json!("i"), 15 * MB, "\"}")]}),
            ),
        ),
        (
            "the message of an error",
            json!({"workspace/symbol": [large("{\"id\":$ID,\"error\":{\"code\":1,\"message\":\"", json!([0xff]), 15 * MB, "\"}}")]}),
        ),
    ] {
        costs_nobody_else_anything(what, Value::Null, run).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn values_that_grow() {
    let capability = |unit: &str, times| {
        let before = "{\"id\":$ID,\"result\":{\"capabilities\":{\"x\":[";
        json!({"initialize": [large(before, json!(unit), times, "0]}}}")]})
    };
    let parameter = |unit: &str, times| {
        before_the_answer(large(
            "{\"id\":1,\"method\":\"a\",\"params\":[",
            json!(unit),
            times,
            "0]}",
        ))
    };
    let encoding = "{\"id\":$ID,\"result\":{\"capabilities\":{\"positionEncoding\":\"";
    for (what, run) in [
        ("parameters of numbers", parameter("0,", 7 * MB)),
        ("parameters of objects", parameter("{\"\":0},", 2 * MB)),
        ("capabilities of numbers", capability("0,", 7 * MB)),
        ("capabilities of objects", capability("{\"\":0},", 2 * MB)),
        (
            "a position encoding",
            json!({"initialize": [large(encoding, json!([0xff]), 15 * MB, "\"}}}")]}),
        ),
    ] {
        costs_nobody_else_anything(what, Value::Null, run).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn things_that_are_remembered() {
    let begin =
        "{\"method\":\"$/progress\",\"params\":{\"value\":{\"kind\":\"begin\"},\"token\":\"$N";
    let register = "{\"id\":1,\"method\":\"client/registerCapability\",\"params\":{\"registrations\":[{\"method\":\"workspace/symbol\",\"id\":\"$N";
    let repeated =
        |count: u64, message| before_the_answer(json!({"repeat": count, "do": [message]}));
    for (what, run) in [
        (
            "long tokens",
            repeated(300, large(begin, json!("t"), MB, "\"}}")),
        ),
        (
            "many tokens",
            repeated(5_000, large(begin, json!("t"), 1_000, "\"}}")),
        ),
        (
            "long registrations",
            repeated(100, large(register, json!("t"), 3 * MB, "\"}]}}")),
        ),
    ] {
        costs_nobody_else_anything(what, Value::Null, run).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_configuration_a_thousand_times() {
    let ask = large(
        "{\"id\":1,\"method\":\"workspace/configuration\",\"params\":{\"items\":[",
        json!("{},"),
        999,
        "{}]}}",
    );
    let keys = (0..2_000).map(|key| (format!("key{key}"), json!(key)));
    for (what, configuration) in [
        ("a long text", json!("x".repeat(100_000))),
        ("many keys", keys.collect::<serde_json::Map<_, _>>().into()),
    ] {
        costs_nobody_else_anything(what, configuration, before_the_answer(ask.clone())).await;
    }
}

/// Nothing here is large, and the server goes on and on. The tokens differ only at their ends.
#[tokio::test(flavor = "multi_thread")]
async fn output_without_end_is_no_hang() {
    let begin =
        "{\"method\":\"$/progress\",\"params\":{\"value\":{\"kind\":\"begin\"},\"token\":\"";
    for (length, times) in [(1_000, 20_000), (5_000, 20_000)] {
        let progress = large(begin, json!("t"), length, "$N\"}}");
        let run = before_the_answer(json!({"repeat": times, "do": [progress]}));
        costs_nobody_else_anything("progress", Value::Null, run).await;
    }
}

/// The bound on a message is that of the text that is read, in which what is no UTF-8 takes three bytes for one.
#[tokio::test(flavor = "multi_thread")]
async fn text_that_is_no_utf_8_is_measured_as_it_is_read() {
    let start = "[{\"location\":{\"uri\":\"x\"},\"kind\":5,\"name\":\"";
    for (times, fits) in [(300, true), (330, false)] {
        let desk = Desk::new().await;
        let run = as_the_answer(start, json!([0xff]), times, "\"}]");
        let mut server = desk.server("server", json!([run]));
        server["maxMessageBytes"] = json!(1_000);
        desk.mount(&[("server", server)]).await.unwrap();
        let result = desk.ask("x").await;
        if fits {
            assert_eq!(names(result), ["\u{fffd}".repeat(300)]);
        } else {
            assert!(failure(result).message.contains("maxMessageBytes"));
        }
        desk.unmount().await.unwrap();
    }
}
