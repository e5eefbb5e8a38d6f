//! SPEC 12: the first answer of a process is to be complete.

use crate::support::*;
use dsh_workspace_intelligence::outcome::CallEnd;
use serde_json::{Value, json};

fn config(warmup_ms: u32) -> Value {
    let mut config = servers(&["a"]);
    config["servers"]["a"]["warmupMs"] = json!(warmup_ms);
    config
}

/// Reports progress between these times after `initialized`, and knows its symbols only afterwards.
fn indexing(begins: u64, ends: u64) -> Script {
    Script::new()
        .on("initialized", move |server, _| {
            server.after(begins, |server| server.progress("index", "begin"));
            server.after(ends, |server| server.progress("index", "end"));
        })
        .with_result(json!([symbol("Gear", 1)]))
}

fn world_of(script: Script, warmup_ms: u32) -> (World, Mounted) {
    let mut world = World::new();
    world.program("a", script);
    let plugin = world.mount(config(warmup_ms));
    (world, plugin)
}

/// When the queries were sent.
fn asked_at(script: Script, warmup_ms: u32) -> u64 {
    let (mut world, plugin) = world_of(script, warmup_ms);
    world.value(&plugin, "Gear");
    world.now()
}

#[test]
fn a_quiet_server_is_asked_after_half_a_second() {
    assert_eq!(
        asked_at(
            Script::new().with_result(json!([symbol("Gear", 1)])),
            12_000
        ),
        500
    );
}

#[test]
fn a_busy_server_is_asked_half_a_second_after_it_is_done() {
    assert_eq!(asked_at(indexing(100, 2_000), 12_000), 2_500);
    assert_eq!(asked_at(indexing(499, 3_000), 12_000), 3_500);
}

#[test]
fn a_short_gap_in_the_progress_is_no_end() {
    let script = Script::new()
        .on("initialized", |server, _| {
            for (at, token, kind) in [
                (0, "one", "begin"),
                (300, "one", "end"),
                (700, "two", "begin"),
                (750, "three", "begin"),
                (900, "two", "end"),
                (1_000, "three", "end"),
            ] {
                server.after(at, move |server| server.progress(token, kind));
            }
        })
        .with_result(json!([symbol("Gear", 1)]));
    assert_eq!(asked_at(script, 12_000), 1_500);
}

#[test]
fn a_token_that_is_never_closed_costs_the_limit_and_no_more() {
    let leaking = || {
        indexing(100, u64::MAX / 2).on("initialized", |server, _| server.progress("index", "begin"))
    };
    assert_eq!(asked_at(leaking(), 12_000), 12_000);
    assert_eq!(asked_at(leaking(), 700), 700);
    let (mut world, plugin) = world_of(leaking(), 700);
    let value = world.value(&plugin, "Gear");
    assert_eq!(value["providers"]["indexing"], json!(1));
}

#[test]
fn only_the_first_query_waits() {
    let (mut world, plugin) = world_of(indexing(0, 2_000), 12_000);
    let value = world.value(&plugin, "Gear");
    assert_eq!(
        value["providers"],
        json!({"succeeded": 1, "failed": 0, "unsupported": 0, "started": 1})
    );
    world.server(0).progress("again", "begin");
    world.settle();
    let before = world.now();
    let value = world.value(&plugin, "Gear");
    assert_eq!(world.now(), before);
    assert_eq!(
        value["providers"],
        json!({"succeeded": 1, "failed": 0, "unsupported": 0, "indexing": 1})
    );
    world.server(0).progress("again", "end");
    world.settle();
    let value = world.value(&plugin, "Gear");
    assert_eq!(
        value["providers"],
        json!({"succeeded": 1, "failed": 0, "unsupported": 0}),
        "warm answers are plain"
    );
}

#[test]
fn without_a_warm_up_everything_is_as_if_there_were_none() {
    let (mut world, plugin) = world_of(indexing(0, 2_000), 0);
    let value = world.value(&plugin, "Gear");
    assert_eq!(world.now(), 0);
    assert_eq!(
        value["providers"],
        json!({"succeeded": 1, "failed": 0, "unsupported": 0})
    );
    let initialize = world.server(0).messages("initialize").remove(0);
    assert_eq!(
        initialize["params"]["capabilities"]["window"],
        json!({"workDoneProgress": false})
    );
    let (mut world, plugin) = world_of(Script::new(), 0);
    world.value(&plugin, "Gear");
    assert_eq!(
        world.server(0).count("workspace/symbol"),
        1,
        "an empty answer is taken as it is"
    );
}

/// Knows its symbols only so long after `initialized`, and reports no progress.
fn silent(ready_at: u64) -> Script {
    Script::new().on("workspace/symbol", move |server, message| {
        let message = message.clone();
        // The query comes at 500 ms or later; what is known is decided when it arrives.
        let early = server.count("workspace/symbol") == 1 && ready_at > 500;
        server.reply(
            &message,
            if early {
                json!(null)
            } else {
                json!([symbol("Gear", 1)])
            },
        );
    })
}

#[test]
fn a_silent_server_with_nothing_is_asked_once_more() {
    let (mut world, plugin) = world_of(silent(1_000), 12_000);
    assert_eq!(names(&world.value(&plugin, "Gear")), ["Gear"]);
    assert_eq!(world.now(), 1_500);
    let (mut world, plugin) = world_of(Script::new(), 12_000);
    assert_eq!(names(&world.value(&plugin, "Gear")), [""; 0]);
    assert_eq!(
        (world.now(), world.server(0).count("workspace/symbol")),
        (1_500, 2),
        "never a third time"
    );
    world.value(&plugin, "Gear");
    assert_eq!(
        (world.now(), world.server(0).count("workspace/symbol")),
        (1_500, 3)
    );
}

#[test]
fn a_server_that_showed_progress_is_not_asked_twice() {
    let script = indexing(0, 100).with_result(json!([]));
    let (mut world, plugin) = world_of(script, 12_000);
    world.value(&plugin, "Gear");
    assert_eq!(
        (world.now(), world.server(0).count("workspace/symbol")),
        (600, 1)
    );
}

#[test]
fn the_second_look_keeps_to_the_limit() {
    let (mut world, plugin) = world_of(Script::new(), 800);
    world.value(&plugin, "Gear");
    assert_eq!(
        (world.now(), world.server(0).count("workspace/symbol")),
        (800, 2)
    );
}

#[test]
fn an_abort_ends_the_wait_and_keeps_the_server_for_the_next_call() {
    let (mut world, plugin) = world_of(indexing(0, 5_000), 12_000);
    let mut call = world.call(&plugin, "Gear");
    world.advance(1_000);
    call.abort();
    assert_eq!(world.finish(&call.task), Err(CallEnd::Aborted));
    assert_eq!(world.now(), 1_000);
    assert_eq!(names(&world.value(&plugin, "Gear")), ["Gear"]);
    assert_eq!(
        world.now(),
        5_500,
        "nothing was asked yet, so the next call waits for the rest"
    );
    assert_eq!(world.servers().len(), 1);
    assert_eq!(world.server(0).count("$/cancelRequest"), 0);
}

#[test]
fn a_death_during_the_wait_is_mended() {
    let mut world = World::new();
    world.programs("a", |count| match count {
        0 => Script::new().on("initialized", |server, _| {
            server.after(300, |server| server.exit("exited with code 1"))
        }),
        _ => Script::new().with_result(json!([symbol("Gear", 1)])),
    });
    let plugin = world.mount(config(12_000));
    let value = world.value(&plugin, "Gear");
    assert_eq!(value["providers"]["started"], json!(1));
    assert_eq!(world.now(), 800);
}

#[test]
fn progress_of_any_shape_is_survived() {
    let script = Script::new()
        .on("initialized", |server, _| {
            for params in [
                json!(null),
                json!({}),
                json!({"token": null, "value": {"kind": "begin"}}),
                json!({"token": 1}),
                json!({"token": 1, "value": []}),
                json!({"token": "1", "value": {"kind": "end"}}),
                json!({"token": 2, "value": {"kind": "odd"}}),
            ] {
                server.notify("$/progress", params);
            }
            // The number and the text are different tokens.
            server.notify(
                "$/progress",
                json!({"token": 1, "value": {"kind": "begin"}}),
            );
            server.notify(
                "$/progress",
                json!({"token": "1", "value": {"kind": "end"}}),
            );
            server.after(900, |server| {
                server.notify("$/progress", json!({"token": 1, "value": {"kind": "end"}}))
            });
        })
        .with_result(json!([symbol("Gear", 1)]));
    assert_eq!(asked_at(script, 12_000), 1_400);
}
