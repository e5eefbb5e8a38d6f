//! SPEC 20, cases 80 to 89: arguments and workspace.

use crate::support::ports::file_url;
use crate::support::*;
use dsh_workspace_intelligence::arguments::{parameters, query, title};
use serde_json::{Value, json};

#[test]
fn case_080_arguments_that_do_not_fit_the_schema() {
    for (arguments, text) in [
        (json!({}), "missing required property \"query\""),
        (json!({"query": null}), "\"query\" must be a string"),
        (json!({"query": 5}), "\"query\" must be a string"),
        (json!(["Gear"]), "\"arguments\" must be an object"),
        (json!("{"), "\"arguments\" must be an object"),
        (json!(null), "\"arguments\" must be an object"),
    ] {
        let error = query(&arguments).unwrap_err();
        assert_eq!(error.to_string(), format!("invalid arguments: {text}"));
        assert_eq!(
            (error.code(), error.name()),
            ("INVALID_ARGS", "ToolArgsError")
        );
    }
}

#[test]
fn case_081_a_query_must_show_something() {
    for blank in [
        "",
        "  ",
        "\u{a0}",
        "\u{feff}",
        "\u{2003}",
        "\n\t\r\u{b}\u{c}",
        "\u{2028}\u{2029}",
    ] {
        let error = query(&json!({"query": blank})).unwrap_err();
        assert_eq!(error.to_string(), "query must be a non-empty string");
        assert_eq!(
            (error.code(), error.name()),
            ("WORKSPACE_SYMBOL_INVALID_QUERY", "WorkspaceSymbolError")
        );
    }
    for visible in ["\u{85}", "\u{200b}", " a "] {
        assert_eq!(query(&json!({"query": visible})), Ok(visible));
    }
    let longest = "\u{1F600}".repeat(500);
    assert!(query(&json!({"query": longest})).is_ok());
    let error = query(&json!({"query": format!("{longest}a")})).unwrap_err();
    assert_eq!(error.to_string(), "query must have at most 1000 characters");
}

#[test]
fn case_082_other_keys_are_not_read() {
    let mut world = World::new();
    world.program("a", Script::new());
    let plugin = world.mount(servers(&["a"]));
    let arguments = json!({"query": "Gear", "command": "rm", "timeout": -1, "workspace": "/etc", "provider": "b"});
    let call = world.call_with(&plugin, arguments, Some("/ws"));
    assert!(world.finish(&call.task).is_ok());
    assert_eq!(world.server(0).spec().cwd, "/ws");
    assert_eq!(world.server(0).spec().argv, ["/bin/a"]);
    let declared: Vec<String> = parameters()["properties"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    assert_eq!(declared, ["query"]);
}

#[test]
fn case_083_without_a_working_directory_nothing_is_started() {
    let mut world = World::new();
    world.program("a", Script::new());
    let plugin = world.mount(servers(&["a"]));
    for cwd in [None, Some("")] {
        let call = world.call_with(&plugin, json!({"query": "Gear"}), cwd);
        let error = failure(world.finish(&call.task));
        assert_eq!(error.code(), "WORKSPACE_SYMBOL_WORKSPACE_REQUIRED");
    }
    assert_eq!((world.file_calls(), world.servers().len()), (0, 0));
}

#[test]
fn case_084_a_working_directory_that_is_none() {
    let mut world = World::new();
    world.program("a", Script::new());
    let plugin = world.mount(servers(&["a"]));
    for (cwd, reason) in [
        ("/gone", "workspace /gone: does not exist"),
        ("/ws/README", "workspace /ws/README: is not a directory"),
        ("/locked", "workspace /locked: /locked: permission denied"),
        (
            "/loop",
            "workspace /loop: /loop: too many levels of symbolic links",
        ),
        ("relative", "workspace relative: does not exist"),
    ] {
        let call = world.call_in(&plugin, cwd, "Gear");
        let error = failure(world.finish(&call.task));
        assert_eq!(error.code(), "WORKSPACE_SYMBOL_WORKSPACE_INVALID");
        assert_eq!(error.to_string(), reason);
    }
    assert!(world.servers().is_empty());
}

#[test]
fn case_085_two_spellings_of_one_workspace_share_a_process() {
    let mut world = World::new();
    world.program("a", Script::new());
    world.link("/alias", "/ws");
    let plugin = world.mount(servers(&["a"]));
    for cwd in ["/ws", "/alias", "/ws"] {
        let call = world.call_in(&plugin, cwd, "Gear");
        assert!(world.finish(&call.task).is_ok());
    }
    assert_eq!(world.servers().len(), 1);
    assert_eq!(world.server(0).spec().cwd, "/ws");
}

#[test]
fn case_086_two_workspaces_have_a_process_each_side_by_side() {
    let mut world = World::new();
    world.program(
        "a",
        Script::new().on("workspace/symbol", |server, message| {
            let message = message.clone();
            server.after(1_000, move |server| server.reply(&message, json!([])));
        }),
    );
    world.file("/other/file", "");
    let plugin = world.mount(servers(&["a"]));
    let calls = ["/ws", "/other"].map(|cwd| world.call_in(&plugin, cwd, "Gear"));
    for call in &calls {
        assert!(world.finish(&call.task).is_ok());
    }
    assert_eq!(world.now(), 1_000, "neither waits for the other");
    let cwds: Vec<String> = world
        .servers()
        .iter()
        .map(|server| server.spec().cwd.clone())
        .collect();
    assert_eq!(cwds, ["/ws", "/other"]);
}

#[test]
fn case_087_odd_names_of_workspaces_reach_the_server_as_the_host_spells_them() {
    let path = "/a b#c%d?é~\\e";
    let mut world = World::new();
    world.program("a", Script::new());
    world.file(&format!("{path}/file"), "");
    let plugin = world.mount(servers(&["a"]));
    let call = world.call_in(&plugin, path, "Gear");
    assert!(world.finish(&call.task).is_ok());
    let server = world.server(0);
    let params = server.messages("initialize")[0]["params"].clone();
    assert_eq!(
        params["rootUri"],
        json!("file:///a%20b%23c%25d%3F%C3%A9%7E%5Ce")
    );
    assert_eq!(params["workspaceFolders"][0]["uri"], json!(file_url(path)));
    assert_eq!(server.spec().cwd, path);
}

#[test]
fn case_088_a_workspace_that_is_gone_is_told_and_its_process_stays() {
    let mut world = World::new();
    world.program("a", Script::new());
    world.file("/work/file", "");
    let plugin = world.mount(servers(&["a"]));
    let call = world.call_in(&plugin, "/work", "Gear");
    assert!(world.finish(&call.task).is_ok());
    world.remove_files("/work");
    let call = world.call_in(&plugin, "/work", "Gear");
    assert_eq!(
        failure(world.finish(&call.task)).code(),
        "WORKSPACE_SYMBOL_WORKSPACE_INVALID"
    );
    assert!(!world.server(0).is_gone());
    assert_eq!(world.dispose(&plugin), Ok(()));
    assert!(world.server(0).is_gone());
}

#[test]
fn case_089_the_form_of_the_workspace_uri_is_the_hosts() {
    // A Windows host resolves to other forms; whatever it gives is what servers are told.
    use dsh_workspace_intelligence::handshake::initialize_params;
    for uri in ["file:///C:/a%20b", "file://srv/share/a"] {
        let params = initialize_params(uri, &Value::Null, false);
        assert_eq!(params["rootUri"], json!(uri));
        assert_eq!(
            params["workspaceFolders"],
            json!([{"uri": uri, "name": "workspace"}])
        );
    }
}

#[test]
fn the_card_of_a_call_shows_its_query() {
    assert_eq!(
        title(&json!({"query": "Gear"})).as_deref(),
        Some("Workspace symbol: Gear")
    );
    let long = title(&json!({"query": "x".repeat(200)})).unwrap();
    assert_eq!(long, format!("Workspace symbol: {}…", "x".repeat(80)));
    assert_eq!(title(&json!({"query": " "})), None);
}
