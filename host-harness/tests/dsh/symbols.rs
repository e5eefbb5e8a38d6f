//! `workspace_symbol` in a real DSH, answered by a real language server.

use crate::builds::{missing, on_both_builds};
use crate::model::{Model, Step};
use crate::turn::{Stage, finished};
use serde_json::json;
use std::process::Command;

/// The rust-analyzer that the toolchain has, unless it has none.
fn rust_analyzer() -> Option<String> {
    let found = Command::new("rustup")
        .args(["which", "rust-analyzer"])
        .output();
    let found = found.ok().filter(|output| output.status.success());
    if found.is_none() {
        missing("rust-analyzer", "run rustup component add rust-analyzer");
    }
    found.map(|output| String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

on_both_builds!(a_symbol_is_found, |build| {
    let Some(server) = rust_analyzer() else {
        return;
    };
    let mut stage = Stage::new(build);
    stage.write(
        "Cargo.toml",
        "[package]\nname = \"zoo\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    );
    stage.write("src/lib.rs", "/// An animal.\npub struct QuaggaKeeper;\n");
    stage.components(json!([{
        "id": "symbols",
        "name": "dsh-workspace-intelligence",
        "config": {"servers": {"rust": {"command": server}}},
    }]));
    let model = Model::start(vec![
        Step::call("workspace_symbol", json!({"query": "QuaggaKeeper"})),
        Step::call("workspace_symbol", json!({"query": "QuaggaKeeper"})),
    ]);
    finished(&stage.turn(&model, "task"));
    let results = model.results();
    for result in &results {
        assert!(
            result.contains("QuaggaKeeper") && result.contains("src/lib.rs"),
            "{results:?}"
        );
    }
    assert_eq!(results.len(), 2);
});
