//! SPEC 20, cases 97 to 105: cancellation and deadlines.

use crate::support::*;
use dsh_workspace_intelligence::driver::stop::StopReason;
use dsh_workspace_intelligence::outcome::CallEnd;
use serde_json::json;

/// Never answers a query, and settles a cancelled one like this.
fn slow(settle: impl Fn(&Server, u64) + 'static) -> Script {
    Script::new()
        .ignoring("workspace/symbol")
        .on("$/cancelRequest", move |server, message| {
            settle(server, message["params"]["id"].as_u64().unwrap())
        })
}

fn reply_cancelled(server: &Server, id: u64) {
    server.reply_error(&json!({"id": id}), -32800, "canceled by client");
}

/// Aborts a call 100 ms after it was made.
fn abort(world: &mut World, plugin: &Mounted, query: &str) -> Outcome {
    let mut call = world.call(plugin, query);
    world.advance(100);
    call.abort();
    world.finish(&call.task)
}

#[test]
fn case_097_a_call_that_was_aborted_before_touches_nothing() {
    let mut world = World::new();
    world.program("a", Script::new());
    let plugin = world.mount(servers(&["a"]));
    for arguments in [json!({"query": "Gear"}), json!({})] {
        let plugin = plugin.clone();
        let outcome = world.run(async move {
            plugin
                .call(
                    &arguments,
                    Some("/ws"),
                    std::future::ready(StopReason::Caller),
                )
                .await
        });
        assert_eq!(outcome, Err(CallEnd::Aborted));
    }
    assert_eq!((world.file_calls(), world.servers().len()), (0, 0));
}

#[test]
fn case_097_file_work_is_given_up() {
    let mut world = World::new();
    world.program("a", Script::new());
    let plugin = world.mount(servers(&["a"]));
    world.hang_files();
    assert_eq!(abort(&mut world, &plugin, "Gear"), Err(CallEnd::Aborted));
    assert!(world.servers().is_empty());
}

#[test]
fn case_098_a_queued_call_leaves_at_once_and_keeps_the_order() {
    let mut world = World::new();
    world.program(
        "a",
        Script::new().on("workspace/symbol", |server, message| {
            let message = message.clone();
            server.after(1_000, move |server| server.reply(&message, json!([])));
        }),
    );
    let plugin = world.mount(servers(&["a"]));
    let first = world.call(&plugin, "first");
    let mut second = world.call(&plugin, "second");
    let third = world.call(&plugin, "third");
    world.advance(500);
    second.abort();
    world.settle();
    assert!(second.is_over() && !first.is_over());
    assert_eq!(second.task.take(), Err(CallEnd::Aborted));
    world.finish(&third.task).unwrap();
    assert!(first.is_over());
    assert_eq!(world.now(), 2_000, "the third waited for the first");
    let asked: Vec<_> = world
        .server(0)
        .messages("workspace/symbol")
        .iter()
        .map(|m| m["params"]["query"].clone())
        .collect();
    assert_eq!(asked, [json!("first"), json!("third")]);
    assert_eq!(world.server(0).count("$/cancelRequest"), 0);
}

#[test]
fn case_099_a_server_that_honours_the_cancellation_is_kept() {
    let mut world = World::new();
    world.program("a", slow(reply_cancelled));
    let plugin = world.mount(servers(&["a"]));
    assert_eq!(abort(&mut world, &plugin, "Gear"), Err(CallEnd::Aborted));
    assert_eq!(world.now(), 100);
    assert_eq!(
        world.server(0).messages("$/cancelRequest")[0]["params"],
        json!({"id": 2})
    );
    assert_eq!(abort(&mut world, &plugin, "Gear"), Err(CallEnd::Aborted));
    assert_eq!(world.servers().len(), 1);
    assert_eq!(
        world.server(0).messages("$/cancelRequest")[1]["params"],
        json!({"id": 3})
    );
}

#[test]
fn case_100_an_answer_after_the_cancellation_is_not_used() {
    let mut world = World::new();
    world.program(
        "a",
        slow(|server, id| server.reply(&json!({"id": id}), json!([symbol("Gear", 1)]))),
    );
    let plugin = world.mount(servers(&["a"]));
    assert_eq!(abort(&mut world, &plugin, "Gear"), Err(CallEnd::Aborted));
    assert_eq!(world.servers().len(), 1);
    assert!(!world.server(0).is_gone());
}

#[test]
fn case_101_a_server_that_ignores_the_cancellation_is_ended_after_the_grace() {
    let mut world = World::new();
    world.programs("a", |count| match count {
        0 => slow(|_, _| {}).ignoring("shutdown"),
        _ => Script::new().with_result(json!([symbol("Fresh", 1)])),
    });
    let plugin = world.mount(servers(&["a"]));
    assert_eq!(abort(&mut world, &plugin, "Gear"), Err(CallEnd::Aborted));
    assert_eq!(
        world.now(),
        100 + 2_000 + 5_000,
        "the grace, then the time for shutdown"
    );
    assert!(world.server(0).is_gone(), "the call ends after the process");
    assert_eq!(names(&world.value(&plugin, "Gear")), ["Fresh"]);
}

#[test]
fn case_102_a_success_before_the_abort_is_not_told() {
    let mut world = World::new();
    world.program("a", Script::new().with_result(json!([symbol("Gear", 1)])));
    world.program("b", slow(reply_cancelled));
    let plugin = world.mount(servers(&["a", "b"]));
    assert_eq!(abort(&mut world, &plugin, "Gear"), Err(CallEnd::Aborted));
    assert_eq!(
        world.server(0).count("$/cancelRequest"),
        0,
        "there was nothing to cancel"
    );
}

#[test]
fn case_102_every_server_is_cleaned_up_before_the_call_ends() {
    let mut world = World::new();
    world.program("a", slow(reply_cancelled));
    world.program("b", slow(|_, _| {}));
    let plugin = world.mount(servers(&["a", "b"]));
    assert_eq!(abort(&mut world, &plugin, "Gear"), Err(CallEnd::Aborted));
    assert_eq!(world.now(), 2_100);
    let gone: Vec<bool> = world.servers().iter().map(Server::is_gone).collect();
    assert_eq!(gone, [false, true]);
}

#[test]
fn case_103_the_first_reason_to_stop_stands() {
    // Which reason the caller sees is the host's; the plugin tells its own unloading from all others.
    let mut world = World::new();
    world.program(
        "a",
        slow(|server, id| server.after(500, move |server| reply_cancelled(server, id))),
    );
    let plugin = world.mount(servers(&["a"]));
    let mut call = world.call(&plugin, "Gear");
    world.advance(100);
    call.abort();
    world.advance(100);
    let disposed = {
        let plugin = plugin.clone();
        world.start(async move { plugin.dispose().await })
    };
    assert_eq!(world.finish(&call.task), Err(CallEnd::Aborted));
    assert_eq!(world.finish(&disposed), Ok(()));
}

#[test]
fn case_104_a_cancellation_that_cannot_be_written_is_no_error_of_its_own() {
    let mut world = World::new();
    world.programs("a", |count| match count {
        0 => Script::new().on("workspace/symbol", |server, _| server.close_input()),
        _ => Script::new(),
    });
    let plugin = world.mount(servers(&["a"]));
    assert_eq!(abort(&mut world, &plugin, "Gear"), Err(CallEnd::Aborted));
    assert!(world.server(0).is_gone());
    assert!(world.ask(&plugin, "Gear").is_ok());
}

#[test]
fn an_abort_between_the_tries_ends_the_call_and_keeps_the_server() {
    let mut world = World::new();
    world.program("a", Script::new().with_error(-32801, "modified"));
    let plugin = world.mount(servers(&["a"]));
    let mut call = world.call(&plugin, "Gear");
    world.advance(50);
    call.abort();
    assert_eq!(world.finish(&call.task), Err(CallEnd::Aborted));
    assert_eq!(world.now(), 50);
    assert!(!world.server(0).is_gone());
    assert_eq!(world.server(0).count("$/cancelRequest"), 0);
}

#[test]
fn an_abort_while_a_process_is_being_started_leaves_none() {
    let mut world = World::new();
    world.program("a", Script::new());
    let plugin = world.mount(servers(&["a"]));
    world.delay_spawns(300);
    assert_eq!(abort(&mut world, &plugin, "Gear"), Err(CallEnd::Aborted));
    assert_eq!(world.now(), 300, "the call waits for what it asked for");
    assert!(world.server(0).is_gone());
}
