//! SPEC 20, cases 41 to 48: the handshake.

use crate::support::*;
use serde_json::{Value, json};

/// A server whose first process answers `initialize` like this, and whose later ones are sound.
fn once(script: Script) -> (World, Mounted) {
    let mut world = World::new();
    world.programs("a", move |count| match count {
        0 => script.clone(),
        _ => Script::new().with_result(json!([symbol("Fresh", 1)])),
    });
    let plugin = world.mount(servers(&["a"]));
    (world, plugin)
}

fn answering_initialize(result: Value) -> Script {
    Script::new().on("initialize", move |server, message| {
        server.reply(message, result.clone())
    })
}

/// The first call fails without a retry, the process ends in good order, and the next call has a fresh one.
fn assert_refused(script: Script, reason: &str) {
    let (mut world, plugin) = once(script);
    let error = world.error(&plugin, "x");
    assert_eq!(error.code(), "WORKSPACE_SYMBOL_PROVIDER_FAILED");
    assert!(error.to_string().contains(reason), "{error}");
    assert_eq!(world.servers().len(), 1, "no retry");
    let first = world.server(0);
    assert_eq!(first.methods(), ["initialize", "shutdown", "exit"]);
    assert_eq!(first.ending(), Some(Ok("exited with code 0".to_owned())));
    assert_eq!(names(&world.value(&plugin, "x")), ["Fresh"]);
}

#[test]
fn case_041_another_position_encoding_is_refused() {
    let result =
        json!({"capabilities": {"positionEncoding": "utf-8", "workspaceSymbolProvider": true}});
    assert_refused(
        answering_initialize(result),
        "position encoding \"utf-8\" is not supported",
    );
}

#[test]
fn case_041_utf_16_may_be_said_or_left_out() {
    for encoding in [json!("utf-16"), json!(null)] {
        let (mut world, plugin) = once(answering_initialize(
            json!({"capabilities": {"positionEncoding": encoding, "workspaceSymbolProvider": true}}),
        ));
        assert_eq!(counts(&world.value(&plugin, "x")), [1, 0, 0]);
    }
}

#[test]
fn case_042_a_result_without_capabilities_is_refused() {
    for result in [
        json!(null),
        json!([]),
        json!("ok"),
        json!({}),
        json!({"capabilities": null}),
    ] {
        assert_refused(
            answering_initialize(result),
            "initialize was answered with a malformed result",
        );
    }
    let without_result = Script::new().on("initialize", |server, message| {
        server.write(&json!({"id": message["id"]}))
    });
    assert_refused(without_result, "no result");
}

#[test]
fn case_043_an_error_to_initialize_is_refused() {
    let script = Script::new().on("initialize", |server, message| {
        server.reply_error(
            message,
            -32603,
            "Could not find a valid TypeScript installation",
        );
    });
    assert_refused(
        script,
        "initialize was refused: error -32603: Could not find a valid TypeScript installation",
    );
}

#[test]
fn case_044_a_call_that_is_aborted_during_the_handshake_leaves_no_process() {
    let (mut world, plugin) = once(Script::new().ignoring("initialize"));
    let mut call = world.call(&plugin, "x");
    world.advance(1_000);
    call.abort();
    let outcome = world.finish(&call.task);
    assert_eq!(
        outcome,
        Err(dsh_workspace_intelligence::outcome::CallEnd::Aborted)
    );
    let first = world.server(0);
    assert!(first.is_gone(), "the call ends after its process");
    assert_eq!(
        first.count("shutdown"),
        0,
        "shutdown must not come before the answer to initialize"
    );
    assert_eq!(world.now(), 1_000, "nothing is waited for");
    assert_eq!(names(&world.value(&plugin, "x")), ["Fresh"]);
}

#[test]
fn case_045_a_server_that_ends_at_once_is_started_once_more() {
    let (mut world, plugin) =
        once(Script::new().at_start(|server| server.exit("exited with code 1")));
    assert_eq!(names(&world.value(&plugin, "x")), ["Fresh"]);
    assert_eq!(world.servers().len(), 2);
}

#[test]
fn case_046_a_banner_on_standard_output_is_fatal_unless_it_is_a_line_of_the_header() {
    let banner = Script::new().at_start(|server| server.write_bytes("Welcome!\r\n\r\n"));
    let (mut world, plugin) = once(banner);
    assert_eq!(names(&world.value(&plugin, "x")), ["Fresh"]);
    assert!(world.server(0).terminated_at().is_some());

    let line = Script::new().at_start(|server| server.write_bytes("Welcome!\r\n"));
    let (mut world, plugin) = once(line);
    assert_eq!(counts(&world.value(&plugin, "x")), [1, 0, 0]);
    assert_eq!(world.servers().len(), 1);
}

#[test]
fn case_047_the_parameters_of_initialize() {
    let mut world = World::new();
    world.program("a", Script::new());
    world.program("b", Script::new());
    let mut config = servers(&["a", "b"]);
    config["servers"]["b"]["initializationOptions"] =
        json!({"z": 1, "a": {"deep": [null, 1.5, 2]}});
    config["servers"]["b"]["warmupMs"] = json!(1_000);
    let plugin = world.mount(config);
    world.value(&plugin, "x");
    let initialize = |program: &str| {
        let server = world
            .servers()
            .into_iter()
            .find(|server| server.program() == program)
            .unwrap();
        server.messages("initialize").remove(0)
    };
    let kinds: Vec<u32> = (1..=26).collect();
    let expected = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "processId": null,
        "rootUri": "file:///ws",
        "workspaceFolders": [{"uri": "file:///ws", "name": "workspace"}],
        "capabilities": {
            "general": {"positionEncodings": ["utf-16"]},
            "workspace": {"workspaceFolders": true, "configuration": true, "symbol": {
                "dynamicRegistration": false, "symbolKind": {"valueSet": kinds}, "tagSupport": {"valueSet": [1]}}},
            "window": {"workDoneProgress": false},
            "textDocument": {"synchronization": {"dynamicRegistration": false}},
        },
    }});
    assert_eq!(
        initialize("a"),
        expected,
        "without options the key is absent"
    );
    let params = &initialize("b")["params"];
    assert_eq!(
        params["initializationOptions"],
        json!({"z": 1, "a": {"deep": [null, 1.5, 2]}})
    );
    assert_eq!(
        params["capabilities"]["window"],
        json!({"workDoneProgress": true}),
        "the warm-up reads progress"
    );
    let initialized = world.server(0).messages("initialized").remove(0);
    assert_eq!(
        initialized,
        json!({"jsonrpc": "2.0", "method": "initialized", "params": {}})
    );
}

#[test]
fn case_048_what_counts_as_offering_symbols() {
    for (capability, offered) in [
        (json!(true), true),
        (json!({}), true),
        (json!({"resolveProvider": true}), true),
        (json!({"workDoneProgress": true}), true),
        (json!(false), false),
        (json!(null), false),
    ] {
        let mut world = World::new();
        world.program(
            "a",
            Script::new().with_capabilities(json!({"workspaceSymbolProvider": capability})),
        );
        world.program("b", Script::new().with_capabilities(json!({})));
        let plugin = world.mount(servers(&["a", "b"]));
        if offered {
            assert_eq!(counts(&world.value(&plugin, "x")), [1, 0, 1]);
        } else {
            assert_eq!(
                world.error(&plugin, "x").code(),
                "WORKSPACE_SYMBOL_UNSUPPORTED"
            );
            assert_eq!(
                world.server(0).count("workspace/symbol"),
                0,
                "nothing is asked"
            );
        }
    }
}
