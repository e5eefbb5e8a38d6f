//! SPEC 20, cases 90 to 96: several servers, several fates.

use crate::support::*;
use serde_json::json;

fn world_of(scripts: &[(&str, Script)]) -> (World, Mounted) {
    let mut world = World::new();
    for (id, script) in scripts {
        world.program(id, script.clone());
    }
    let ids: Vec<&str> = scripts.iter().map(|(id, _)| *id).collect();
    let plugin = world.mount(servers(&ids));
    (world, plugin)
}

fn failing() -> Script {
    Script::new().with_error(-32603, "broken")
}

fn unsupporting() -> Script {
    Script::new().with_capabilities(json!({}))
}

#[test]
fn case_090_one_success_makes_the_call_a_success() {
    let (mut world, plugin) = world_of(&[
        ("a", failing()),
        ("b", Script::new().with_result(json!([symbol("Gear", 1)]))),
    ]);
    let value = world.value(&plugin, "Gear");
    assert_eq!(names(&value), ["Gear"]);
    assert_eq!(counts(&value), [1, 1, 0]);
    assert_eq!(
        world.warnings(),
        ["a: workspace/symbol failed: error -32603: broken"]
    );
}

#[test]
fn case_091_an_empty_success_is_one() {
    let (mut world, plugin) = world_of(&[("a", Script::new()), ("b", unsupporting())]);
    let value = world.value(&plugin, "Gear");
    assert_eq!(counts(&value), [1, 0, 1]);
    assert_eq!(names(&value), [""; 0]);
}

#[test]
fn case_092_nobody_offers_it() {
    let (mut world, plugin) = world_of(&[("a", unsupporting()), ("b", unsupporting())]);
    let error = world.error(&plugin, "Gear");
    assert_eq!(error.code(), "WORKSPACE_SYMBOL_UNSUPPORTED");
    assert_eq!(error.name(), "WorkspaceSymbolError");
    assert_eq!(
        error.to_string(),
        "no configured language server supports workspace/symbol"
    );
}

#[test]
fn case_093_a_failure_weighs_more_than_missing_support() {
    let (mut world, plugin) = world_of(&[("a", unsupporting()), ("b", failing())]);
    let error = world.error(&plugin, "Gear");
    assert_eq!(error.code(), "WORKSPACE_SYMBOL_PROVIDER_FAILED");
    let text = "workspace symbol search failed: 1 failed, 1 unsupported; \
                b: workspace/symbol failed: error -32603: broken";
    assert_eq!(error.to_string(), text);
}

#[test]
fn case_094_method_not_found_is_missing_support() {
    let (mut world, plugin) = world_of(&[
        (
            "a",
            Script::new().with_error(-32601, "unsupported: markdown/find"),
        ),
        ("b", Script::new()),
    ]);
    assert_eq!(counts(&world.value(&plugin, "Gear")), [1, 0, 1]);
}

#[test]
fn case_095_passing_errors_are_tried_again() {
    for code in [-32801, -32802] {
        let script = Script::new().on(
            "workspace/symbol",
            move |server, message| match message["id"].as_u64() {
                Some(2 | 3) => server.reply_error(message, code, "again"),
                _ => server.reply(message, json!([symbol("Gear", 1)])),
            },
        );
        let (mut world, plugin) = world_of(&[("a", script)]);
        assert_eq!(names(&world.value(&plugin, "Gear")), ["Gear"]);
        assert_eq!(world.now(), 300, "after 100 and 200 ms");
        assert_eq!(world.server(0).count("workspace/symbol"), 3);
        assert_eq!(world.servers().len(), 1, "by the same process");
    }
}

#[test]
fn case_095_passing_errors_are_tried_four_times_at_most() {
    let (mut world, plugin) =
        world_of(&[("a", Script::new().with_error(-32801, "content modified"))]);
    let error = world.error(&plugin, "Gear");
    assert!(
        error
            .to_string()
            .ends_with("a: workspace/symbol failed: error -32801: content modified"),
        "{error}"
    );
    assert_eq!(world.now(), 700);
    assert_eq!(world.server(0).count("workspace/symbol"), 4);
}

#[test]
fn case_096_other_errors_are_final() {
    for code in [-32803, -32800, -32600, 1] {
        let (mut world, plugin) = world_of(&[("a", Script::new().with_error(code, "no"))]);
        let error = world.error(&plugin, "Gear");
        assert!(
            error.to_string().ends_with(&format!("error {code}: no")),
            "{error}"
        );
        assert_eq!(world.server(0).count("workspace/symbol"), 1);
        assert!(!world.server(0).is_gone(), "the process is kept");
    }
}

#[test]
fn an_error_names_three_servers_and_200_characters_of_each() {
    let long = format!(
        "<syntax> Server Error\nNo Project.\n{}",
        "  at frame\n".repeat(100)
    );
    let scripts: Vec<(&str, Script)> = ["d", "c", "b", "a"]
        .into_iter()
        .map(|id| (id, Script::new().with_error(1, &long)))
        .collect();
    let (mut world, plugin) = world_of(&scripts);
    let error = world.error(&plugin, "Gear");
    let text = error.to_string();
    assert!(
        text.starts_with("workspace symbol search failed: 4 failed, 0 unsupported; a: "),
        "{text}"
    );
    let reasons: Vec<&str> = text.split("; ").skip(1).collect();
    assert_eq!(reasons.len(), 3);
    for reason in reasons {
        let (_, reason) = reason.split_once(": ").unwrap();
        assert_eq!(reason.chars().count(), 200);
        assert!(reason.starts_with(
            "workspace/symbol failed: error 1: <syntax> Server Error No Project. at frame"
        ));
    }
    let capped = error.message(256);
    assert_eq!(
        capped.chars().count(),
        249,
        "with \"Error: \" in front the model reads 256"
    );
    assert!(text.starts_with(&capped));
}
