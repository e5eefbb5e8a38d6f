//! SPEC 20, cases 106 to 117: the life of a process.

use crate::support::*;
use serde_json::json;

fn crashing() -> Script {
    Script::new().on("workspace/symbol", |server, _| {
        server.exit("exited with code 3")
    })
}

fn sound() -> Script {
    Script::new().with_result(json!([symbol("Fresh", 1)]))
}

/// A program whose first process plays one script and whose others are sound.
fn once(script: Script) -> (World, Mounted) {
    let mut world = World::new();
    world.programs(
        "a",
        move |count| if count == 0 { script.clone() } else { sound() },
    );
    let plugin = world.mount(servers(&["a"]));
    (world, plugin)
}

#[test]
fn case_106_a_crash_in_a_query_is_mended_once() {
    let (mut world, plugin) = once(crashing());
    assert_eq!(names(&world.value(&plugin, "Gear")), ["Fresh"]);
    assert_eq!(world.servers().len(), 2);
    assert_eq!(world.warnings(), [""; 0], "a mended crash is no warning");
}

#[test]
fn case_107_a_crash_in_every_query_fails_after_two_processes() {
    let mut world = World::new();
    world.program("a", crashing());
    let plugin = world.mount(servers(&["a"]));
    let error = world.error(&plugin, "Gear");
    assert!(
        error
            .to_string()
            .ends_with("a: language server exited with code 3"),
        "{error}"
    );
    assert_eq!(world.servers().len(), 2);
    world.error(&plugin, "Gear");
    assert_eq!(
        world.servers().len(),
        4,
        "the next call may try twice again"
    );
}

#[test]
fn case_108_a_death_between_calls_is_no_failure_of_the_next() {
    let (mut world, plugin) = once(Script::new());
    world.value(&plugin, "Gear");
    world.server(0).exit("exited with code 0");
    world.advance(1_000);
    assert_eq!(names(&world.value(&plugin, "Gear")), ["Fresh"]);

    // Even a crash after that may still be mended.
    let mut world = World::new();
    world.programs("a", |count| match count {
        0 => Script::new(),
        1 => crashing(),
        _ => sound(),
    });
    let plugin = world.mount(servers(&["a"]));
    world.value(&plugin, "Gear");
    world.server(0).exit("exited with code 0");
    world.advance(1_000);
    assert_eq!(names(&world.value(&plugin, "Gear")), ["Fresh"]);
}

#[test]
fn case_109_a_live_server_that_reads_no_more_is_replaced() {
    let (mut world, plugin) =
        once(Script::new().on("initialized", |server, _| server.close_input()));
    assert_eq!(names(&world.value(&plugin, "Gear")), ["Fresh"]);
    assert!(world.server(0).terminated_at().is_some());
}

#[test]
fn case_110_a_live_server_that_writes_no_more_is_replaced() {
    let (mut world, plugin) =
        once(Script::new().on("workspace/symbol", |server, _| server.close_output()));
    assert_eq!(names(&world.value(&plugin, "Gear")), ["Fresh"]);
    assert!(world.server(0).terminated_at().is_some());
    assert_eq!(
        world.now(),
        500,
        "so long its end is waited for, which would tell more"
    );
}

#[test]
fn case_111_the_bound_of_standard_error_is_passed_to_the_host() {
    let mut world = World::new();
    world.program("a", Script::new());
    let mut config = servers(&["a"]);
    config["servers"]["a"]["maxStderrBytes"] = json!(123);
    config["servers"]["a"]["killGraceMs"] = json!(77);
    let plugin = world.mount(config);
    world.value(&plugin, "Gear");
    let server = world.server(0);
    assert_eq!(
        (server.spec().max_stderr_bytes, server.spec().kill_grace_ms),
        (123, 77)
    );
}

#[test]
fn case_114_a_program_that_cannot_be_started_is_tried_once_more_in_each_call() {
    let (mut world, plugin) =
        once(Script::new().at_start(|server| server.fail_to_start("no such file")));
    assert_eq!(names(&world.value(&plugin, "Gear")), ["Fresh"]);

    let mut world = World::new();
    world.program(
        "a",
        Script::new().at_start(|server| server.fail_to_start("no such file")),
    );
    let plugin = world.mount(servers(&["a"]));
    let error = world.error(&plugin, "Gear");
    assert!(
        error
            .to_string()
            .ends_with("a: language server could not be started: no such file"),
        "{error}"
    );
    assert_eq!(world.servers().len(), 2);
    world.error(&plugin, "Gear");
    assert_eq!(world.servers().len(), 4);
}

#[test]
fn case_114_a_start_that_the_host_refuses_counts_as_well() {
    let mut world = World::new();
    world.program("a", sound());
    let plugin = world.mount(servers(&["a"]));
    world.refuse_spawns(&["refused", "refused"]);
    let error = world.error(&plugin, "Gear");
    assert!(
        error
            .to_string()
            .ends_with("a: language server could not be started: refused"),
        "{error}"
    );
    world.refuse_spawns(&["refused"]);
    assert_eq!(names(&world.value(&plugin, "Gear")), ["Fresh"]);
}

#[test]
fn case_115_a_server_that_ignores_shutdown_is_ended_in_time() {
    let mut world = World::new();
    world.program("a", Script::new().ignoring("shutdown").stubborn());
    let plugin = world.mount(servers(&["a"]));
    world.value(&plugin, "Gear");
    assert_eq!(world.dispose(&plugin), Ok(()));
    let server = world.server(0);
    assert_eq!(server.terminated_at(), Some(5_000));
    assert_eq!(world.now(), 7_000);
    assert_eq!(server.ending(), Some(Ok("was ended by SIGKILL".to_owned())));
    assert_eq!(
        server.count("exit"),
        0,
        "exit comes after the answer to shutdown"
    );
}

#[test]
fn case_116_a_slow_exit_within_the_budget_is_left_alone() {
    let mut world = World::new();
    world.program(
        "a",
        Script::new().on("exit", |server, _| {
            server.after(4_000, |server| server.exit("exited with code 0"))
        }),
    );
    let plugin = world.mount(servers(&["a"]));
    world.value(&plugin, "Gear");
    assert_eq!(world.dispose(&plugin), Ok(()));
    let server = world.server(0);
    assert_eq!(world.now(), 4_000);
    assert_eq!(server.terminated_at(), None, "it ended by itself");
    let last: Vec<serde_json::Value> = server.received().split_off(3);
    assert_eq!(
        last,
        [
            json!({"jsonrpc": "2.0", "id": 3, "method": "shutdown"}),
            json!({"jsonrpc": "2.0", "method": "exit"})
        ],
        "neither has params: null is refused by some"
    );
}

#[test]
fn case_117_requests_during_the_shutdown_are_answered() {
    let mut world = World::new();
    world.program(
        "a",
        Script::new()
            .on("shutdown", |server, _| {
                server.request(json!(9), "workspace/configuration", json!({"items": [{}]}))
            })
            // It settles shutdown only once it was answered itself.
            .on("<reply>", |server, _| {
                server.reply(&json!({"id": 3}), json!(null))
            }),
    );
    let plugin = world.mount(servers(&["a"]));
    world.value(&plugin, "Gear");
    assert_eq!(world.dispose(&plugin), Ok(()));
    assert_eq!(world.now(), 0);
    assert_eq!(
        world.server(0).ending(),
        Some(Ok("exited with code 0".to_owned()))
    );
}

#[test]
fn a_server_that_dies_in_the_shutdown_ends_it() {
    let mut world = World::new();
    world.program(
        "a",
        Script::new().on("shutdown", |server, _| server.exit("exited with code 1")),
    );
    let plugin = world.mount(servers(&["a"]));
    world.value(&plugin, "Gear");
    assert_eq!(world.dispose(&plugin), Ok(()));
    assert_eq!(world.now(), 0);
}

#[test]
fn last_words_count_even_when_the_end_is_noticed_first() {
    let (mut world, plugin) = once(Script::new().on("workspace/symbol", |server, message| {
        server.reply(message, json!([symbol("Last", 1)]));
        server.exit("exited with code 0");
    }));
    assert_eq!(names(&world.value(&plugin, "Gear")), ["Last"]);
    assert_eq!(names(&world.value(&plugin, "Gear")), ["Fresh"]);
}
