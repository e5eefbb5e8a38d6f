//! SPEC 20, cases 129 to 139: the configuration.

use crate::support::*;
use dsh_workspace_intelligence::arguments::parameters;
use dsh_workspace_intelligence::config::{Config, SCHEMA, unknown_keys};
use serde_json::{Value, json};

pub fn error(config: Value) -> String {
    Config::parse(&config).expect_err("refused").to_string()
}

/// The error of a server with these members.
pub fn server_error(members: Value) -> String {
    let mut server = server("a");
    for (key, value) in members.as_object().unwrap() {
        server[key] = value.clone();
    }
    error(json!({"servers": {"a": server}}))
}

#[test]
fn case_129_there_must_be_a_server() {
    let none = "workspace-intelligence: servers must contain at least one server";
    for config in [
        json!(null),
        json!({}),
        json!({"servers": {}}),
        json!({"servers": null}),
    ] {
        assert_eq!(error(config), none);
    }
    for servers in [json!([]), json!("a"), json!(1)] {
        let text =
            "workspace-intelligence: servers must be an object that maps server ids to servers";
        assert_eq!(error(json!({"servers": servers})), text);
    }
    assert_eq!(
        error(json!([])),
        "workspace-intelligence: config must be an object"
    );
    assert_eq!(
        error(json!({"servers": {"a": null}})),
        "workspace-intelligence: servers.a must be an object"
    );
}

#[test]
fn case_130_ids_are_any_visible_text() {
    for blank in ["", " ", "\u{feff}\u{a0}"] {
        let text = "workspace-intelligence: server ids must be non-empty strings";
        assert_eq!(error(json!({"servers": {blank: server("a")}})), text);
    }
    let config =
        Config::parse(&json!({"servers": {"a.b": server("a"), "a\nb": server("a")}})).unwrap();
    let ids: Vec<&str> = config
        .servers
        .iter()
        .map(|server| server.id.as_str())
        .collect();
    assert_eq!(ids, ["a\nb", "a.b"]);
}

#[test]
fn case_133_arguments_and_variables_are_strings() {
    for (members, text) in [
        (
            json!({"args": [null]}),
            "servers.a.args[0] must be a string",
        ),
        (
            json!({"args": ["x", 1]}),
            "servers.a.args[1] must be a string",
        ),
        (
            json!({"args": "x"}),
            "servers.a.args must be a list of strings",
        ),
        (
            json!({"args": ["a\u{0}b"]}),
            "servers.a.args[0] must not contain NUL",
        ),
        (
            json!({"env": {"A": null}}),
            "servers.a.env.A must be a string",
        ),
        (json!({"env": {"A": 1}}), "servers.a.env.A must be a string"),
        (
            json!({"env": ["A"]}),
            "servers.a.env must be an object that maps names to strings",
        ),
        (
            json!({"env": {"A": "\u{0}"}}),
            "servers.a.env.A must not contain NUL",
        ),
        (
            json!({"env": {"A=B": "x"}}),
            "servers.a.env.A=B is not a name: it must be non-empty and must not contain \"=\" or NUL",
        ),
        (
            json!({"command": ""}),
            "servers.a.command must be a non-empty string",
        ),
        (
            json!({"command": " "}),
            "servers.a.command must be a non-empty string",
        ),
        (
            json!({"command": null}),
            "servers.a.command must be a non-empty string",
        ),
        (
            json!({"command": ["a"]}),
            "servers.a.command must be a non-empty string",
        ),
        (
            json!({"command": "a\u{0}"}),
            "servers.a.command must not contain NUL",
        ),
    ] {
        assert_eq!(
            server_error(members),
            format!("workspace-intelligence: {text}")
        );
    }
}

#[test]
fn case_134_null_is_the_default() {
    let mut config = servers(&["a"]);
    for key in ["maxResults", "maxResultChars", "timeoutMs"] {
        config[key] = Value::Null;
    }
    let keys = [
        "args",
        "env",
        "initializationOptions",
        "configuration",
        "maxMessageBytes",
        "maxStderrBytes",
        "shutdownTimeoutMs",
        "killGraceMs",
        "warmupMs",
        "openFiles",
    ];
    for key in keys {
        config["servers"]["a"][key] = Value::Null;
    }
    let nulls = Config::parse(&config).unwrap();
    let absent = Config::parse(&json!({"servers": {"a": {"command": "a"}}})).unwrap();
    assert_eq!(nulls, absent);
    let server = &absent.servers[0];
    assert_eq!(
        (
            absent.max_results,
            absent.max_result_chars,
            absent.timeout_ms
        ),
        (100, 16_000, 60_000)
    );
    assert_eq!(
        (server.max_message_bytes, server.max_stderr_bytes),
        (16_000_000, 1_000_000)
    );
    assert_eq!(
        (
            server.shutdown_timeout_ms,
            server.kill_grace_ms,
            server.warmup_ms
        ),
        (5_000, 2_000, 12_000)
    );
    assert!(server.args.is_empty() && server.env.is_empty() && server.open_files.is_empty());
    assert!(server.configuration.is_null() && server.initialization_options.is_null());
}

#[test]
fn case_135_the_lookup_gets_the_variables_of_the_server() {
    let mut world = World::new();
    world.program("a", Script::new());
    let mut config = servers(&["a"]);
    config["servers"]["a"]["env"] = json!({"PATH": "/opt/bin"});
    world.mount(config);
    let env = vec![("PATH".to_owned(), "/opt/bin".to_owned())];
    assert_eq!(world.lookups(), [("a".to_owned(), env)]);

    let mut config = servers(&["a"]);
    config["servers"]["a"]["command"] = json!("./a");
    let error = world.try_mount(config).err().unwrap();
    assert!(
        error.starts_with("workspace-intelligence: servers.a.command: "),
        "{error}"
    );
}

#[test]
fn case_136_arguments_and_variables_reach_the_process_verbatim() {
    let mut world = World::new();
    world.program("a", Script::new());
    let mut config = servers(&["a"]);
    config["servers"]["a"]["env"] = json!({"DSH_X": "1", "MY_TOKEN": "$HOME"});
    config["servers"]["a"]["args"] = json!(["--stdio", "$HOME", "a b", ""]);
    let plugin = world.mount(config);
    world.value(&plugin, "Gear");
    let spec = world.server(0).spec().clone();
    assert_eq!(spec.argv, ["/bin/a", "--stdio", "$HOME", "a b", ""]);
    let env = [("DSH_X", "1"), ("MY_TOKEN", "$HOME")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(spec.env, env);
}

#[test]
fn case_137_one_missing_program_fails_the_mount_after_all_lookups() {
    let mut world = World::new();
    world.program("a", Script::new());
    world.program("c", Script::new());
    assert!(world.try_mount(servers(&["a", "b", "c"])).is_err());
    let looked_up: Vec<String> = world
        .lookups()
        .into_iter()
        .map(|(command, _)| command)
        .collect();
    assert_eq!(looked_up, ["a", "b", "c"]);
}

#[test]
fn case_138_unknown_keys_are_ignored_with_a_warning() {
    let mut world = World::new();
    world.program("a", Script::new());
    let mut config = servers(&["a"]);
    config["maxResult"] = json!(1);
    config["servers"]["a"]["cwd"] = json!("/");
    world.mount(config);
    let warnings = [
        "workspace-intelligence: unknown key \"maxResult\" is ignored",
        "workspace-intelligence: unknown key \"servers.a.cwd\" is ignored",
    ];
    assert_eq!(world.warnings(), warnings);
}

#[test]
fn a_misspelt_key_is_named_when_what_it_should_be_is_missing() {
    for (config, error, key) in [
        (
            json!({"server": {"a": {"command": "a"}}}),
            "workspace-intelligence: servers must contain at least one server",
            "server",
        ),
        (
            json!({"servers": {"a": {"cmd": "a"}}}),
            "workspace-intelligence: servers.a.command must be a non-empty string",
            "servers.a.cmd",
        ),
    ] {
        let mut world = World::new();
        assert_eq!(world.try_mount(config).err().as_deref(), Some(error));
        let warning = format!("workspace-intelligence: unknown key {key:?} is ignored");
        assert_eq!(world.warnings(), [warning]);
    }
}

#[test]
fn case_139_the_configuration_value_is_sent_as_it_is() {
    for value in [
        json!(false),
        json!(0),
        json!(""),
        json!({"python": {"analysis": null}}),
        json!(null),
    ] {
        let mut world = World::new();
        world.program(
            "a",
            Script::new().on("initialized", |server, _| {
                server.request(
                    json!(1),
                    "workspace/configuration",
                    json!({"items": [{"section": "python"}]}),
                );
            }),
        );
        let mut config = servers(&["a"]);
        config["servers"]["a"]["configuration"] = value.clone();
        config["timeoutMs"] = json!(1_234);
        let plugin = world.mount(config);
        world.value(&plugin, "Gear");
        world.settle();
        assert_eq!(
            world.server(0).messages("<reply>")[0]["result"],
            json!([value])
        );
        assert_eq!(plugin.config().timeout_ms, 1_234);
        assert!(!parameters().to_string().contains("imeout"));
    }
}

#[test]
fn the_schema_says_what_the_code_does() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let defaults = Config::parse(&json!({"servers": {"a": {"command": "a"}}})).unwrap();
    let root = &schema["properties"];
    assert_eq!(root["maxResults"]["default"], json!(defaults.max_results));
    assert_eq!(
        root["maxResultChars"]["default"],
        json!(defaults.max_result_chars)
    );
    assert_eq!(root["timeoutMs"]["default"], json!(defaults.timeout_ms));
    let server = &root["servers"]["additionalProperties"]["properties"];
    let default = &defaults.servers[0];
    assert_eq!(
        server["maxMessageBytes"]["default"],
        json!(default.max_message_bytes)
    );
    assert_eq!(
        server["maxStderrBytes"]["default"],
        json!(default.max_stderr_bytes)
    );
    assert_eq!(
        server["shutdownTimeoutMs"]["default"],
        json!(default.shutdown_timeout_ms)
    );
    assert_eq!(
        server["killGraceMs"]["default"],
        json!(default.kill_grace_ms)
    );
    assert_eq!(server["warmupMs"]["default"], json!(default.warmup_ms));
    // Every documented key is known, and the other way round.
    let mut config = servers(&["a"]);
    for key in server
        .as_object()
        .unwrap()
        .keys()
        .filter(|key| *key != "command")
    {
        config["servers"]["a"][key] = Value::Null;
    }
    for key in root
        .as_object()
        .unwrap()
        .keys()
        .filter(|key| *key != "servers")
    {
        config[key] = Value::Null;
    }
    Config::parse(&config).unwrap();
    assert_eq!(unknown_keys(&config), [""; 0]);
    assert_eq!(
        (
            server.as_object().unwrap().len(),
            root.as_object().unwrap().len()
        ),
        (11, 4)
    );
}
