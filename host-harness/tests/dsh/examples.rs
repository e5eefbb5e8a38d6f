//! The files in `examples/` that people copy.

use crate::builds::on_both_builds;
use crate::model::{Model, Step};
use crate::turn::{Stage, finished, plugin};
use serde_json::{Value, json};
use std::path::Path;

fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("examples")
        .join(name);
    std::fs::read_to_string(path).unwrap()
}

on_both_builds!(the_patch_works_as_it_is, |build| {
    let mut stage = Stage::new(build);
    // What `dsh plugin add` and PATH would do.
    let installed = example("cordis.patch.yml").replace(
        "name: dsh-components",
        &format!("name: {}", plugin("index.js")),
    );
    let model = Model::start(vec![
        Step::call("context_query", json!({"text": "quagga"})),
        Step::call("context_query", json!({"text": "quagga"})),
    ]);
    stage.yaml(&installed);
    finished(&stage.turn(&model, "a quagga"));
    assert!(
        model.results()[1].contains("a quagga"),
        "{:?}",
        model.results()
    );
});

on_both_builds!(the_entry_for_dshs_own_mcp_client_works, |build| {
    let mut stage = Stage::new(build);
    let host = stage.text("dsh-host");
    stage.yaml(
        &example("dsh-mcp.patch.yml").replace("command: dsh-host", &format!("command: {host}")),
    );
    let model = Model::start(vec![Step::call(
        "mcp__dsh__context_query",
        json!({"text": "quagga"}),
    )]);
    finished(&stage.turn(&model, "task"));
    let expected = "context tools require an agent-bound session";
    assert!(
        model.results()[0].contains(expected),
        "{:?}",
        model.results()
    );
});

#[test]
fn the_entry_for_other_clients_starts_the_server() {
    let entry: Value = serde_json::from_str(&example("mcp.json")).unwrap();
    let server = &entry["mcpServers"]["dsh"];
    assert_eq!(server["command"], "dsh-host");
    let arguments: Vec<String> = serde_json::from_value(server["args"].clone()).unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_dsh-host"))
        .args(arguments)
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[path = "../../examples/embed.rs"]
#[allow(dead_code, reason = "main is for people")]
mod embed;

#[tokio::test]
async fn the_program_that_embeds_the_library_works() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("quagga.rs"), "").unwrap();
    let (paths, said) = embed::run(place.path().to_str().unwrap(), "quag")
        .await
        .unwrap();
    assert_eq!(paths, ["quagga.rs"]);
    assert!(said.starts_with("Error: "), "{said}");
}
