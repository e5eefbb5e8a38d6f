//! SPEC 20, cases 118 to 128, as far as the plugin decides them: mounting and unmounting. Registration of the tool is the host's.

use crate::support::*;
use dsh_workspace_intelligence::outcome::CallError;
use serde_json::json;

fn slow() -> Script {
    Script::new()
        .ignoring("workspace/symbol")
        .ignoring("$/cancelRequest")
}

#[test]
fn case_118_a_failed_mount_has_started_nothing() {
    let mut world = World::new();
    world.program("a", Script::new());
    let error = world.try_mount(servers(&["a", "b"])).err();
    let text = "workspace-intelligence: servers.b.command: \"b\" was not found on PATH";
    assert_eq!(error.as_deref(), Some(text));
    assert!(world.servers().is_empty());
}

#[test]
fn case_119_unloading_while_a_server_starts_leaves_nothing() {
    let mut world = World::new();
    world.program("a", Script::new().ignoring("initialize"));
    let plugin = world.mount(servers(&["a"]));
    let call = world.call(&plugin, "Gear");
    world.settle();
    assert_eq!(world.dispose(&plugin), Ok(()));
    assert_eq!(failure(call.task.take()), CallError::Disposed);
    assert!(world.server(0).is_gone());
}

#[test]
fn case_119_unloading_while_a_process_is_being_started_leaves_nothing() {
    let mut world = World::new();
    world.program("a", Script::new());
    let plugin = world.mount(servers(&["a"]));
    world.delay_spawns(1_000);
    let call = world.call(&plugin, "Gear");
    world.advance(500);
    assert_eq!(world.dispose(&plugin), Ok(()));
    assert_eq!(
        failure(call.task.take()).code(),
        "WORKSPACE_SYMBOL_DISPOSED"
    );
    assert_eq!(world.servers().len(), 1);
    assert!(world.server(0).is_gone());
}

#[test]
fn case_120_unloading_ends_queued_and_running_calls() {
    let mut world = World::new();
    world.program("a", slow());
    let plugin = world.mount(servers(&["a"]));
    let calls = [
        world.call(&plugin, "running"),
        world.call(&plugin, "queued"),
    ];
    world.advance(100);
    assert_eq!(world.dispose(&plugin), Ok(()));
    for call in calls {
        assert_eq!(failure(call.task.take()), CallError::Disposed);
    }
    let server = world.server(0);
    assert_eq!(world.servers().len(), 1);
    assert_eq!(server.count("workspace/symbol"), 1);
    assert_eq!(
        server.methods().split_off(3),
        ["shutdown", "exit"],
        "no cancellation, which would cost its grace"
    );
    assert_eq!(world.now(), 100);
    let late = world.call(&plugin, "late");
    assert_eq!(failure(world.finish(&late.task)), CallError::Disposed);
}

#[test]
fn case_121_unloading_twice_is_unloading_once() {
    let mut world = World::new();
    world.program(
        "a",
        Script::new().on("exit", |server, _| {
            server.after(1_000, |server| server.exit("exited with code 0"))
        }),
    );
    let plugin = world.mount(servers(&["a"]));
    world.value(&plugin, "Gear");
    let both = [plugin.clone(), plugin.clone()]
        .map(|plugin| world.start(async move { plugin.dispose().await }));
    world.advance(500);
    assert!(both.iter().all(|task| !task.is_over()));
    for task in &both {
        assert_eq!(world.finish(task), Ok(()));
    }
    assert_eq!(world.server(0).count("shutdown"), 1);
    assert_eq!(world.dispose(&plugin), Ok(()));
}

#[test]
fn case_122_what_cannot_be_ended_is_told_and_nobody_is_skipped() {
    let mut world = World::new();
    world.program("a", Script::new().immortal());
    world.program("b", Script::new());
    world.program("c", Script::new().immortal());
    let plugin = world.mount(servers(&["a", "b", "c"]));
    world.value(&plugin, "Gear");
    let text = "2 language servers were not ended: language server \"a\" left processes behind; \
                language server \"c\" left processes behind";
    assert_eq!(world.dispose(&plugin), Err(text.to_owned()));
    assert!(world.servers().iter().all(Server::is_gone));

    let mut world = World::new();
    world.program("a", Script::new().immortal());
    let plugin = world.mount(servers(&["a"]));
    world.value(&plugin, "Gear");
    assert_eq!(
        world.dispose(&plugin),
        Err("language server \"a\" left processes behind".to_owned())
    );
}

#[test]
fn case_123_unloading_ends_all_workspaces_side_by_side() {
    let mut world = World::new();
    for id in ["a", "b"] {
        world.program(
            id,
            Script::new().on("exit", |server, _| {
                server.after(1_000, |server| server.exit("exited with code 0"))
            }),
        );
    }
    world.file("/other/file", "");
    let plugin = world.mount(servers(&["a", "b"]));
    for cwd in ["/ws", "/other"] {
        let call = world.call_in(&plugin, cwd, "Gear");
        world.finish(&call.task).unwrap();
    }
    assert_eq!(world.servers().len(), 4);
    assert_eq!(world.dispose(&plugin), Ok(()));
    assert!(
        world.servers().iter().all(Server::is_gone),
        "old processes are gone before unloading is over"
    );
    assert_eq!(world.now(), 1_000);
}

#[test]
fn case_125_mounting_starts_no_process() {
    let mut world = World::new();
    world.program("a", Script::new());
    let plugin = world.mount(servers(&["a"]));
    world.advance(60_000);
    assert!(world.servers().is_empty());
    assert_eq!(
        world.dispose(&plugin),
        Ok(()),
        "a registration that fails later has nothing to end"
    );
}

#[test]
fn the_pools_of_two_mounts_are_apart() {
    let mut world = World::new();
    world.program("a", Script::new());
    let (one, two) = (world.mount(servers(&["a"])), world.mount(servers(&["a"])));
    world.value(&one, "Gear");
    world.value(&two, "Gear");
    assert_eq!(world.servers().len(), 2);
    assert_eq!(world.dispose(&one), Ok(()));
    assert!(world.server(0).is_gone() && !world.server(1).is_gone());
    assert_eq!(json!(names(&world.value(&two, "Gear"))), json!([]));
}
