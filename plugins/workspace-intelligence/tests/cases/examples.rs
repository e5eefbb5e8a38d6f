//! The examples for deployers are configurations that the plugin accepts.

use dsh_workspace_intelligence::config::{Config, ServerConfig, unknown_keys};
use serde_json::Value;

/// The servers of the one row that an example inserts.
fn servers(example: &str) -> Vec<ServerConfig> {
    let patch: Value = serde_saphyr::from_str(example).unwrap();
    let row = &patch[0]["insert"][0];
    assert_eq!(row["name"], "dsh-workspace-intelligence");
    let config = Config::parse(&row["config"]).unwrap();
    assert_eq!(unknown_keys(&row["config"]), [""; 0]);
    config.servers
}

#[test]
fn both_examples_configure_the_same_servers() {
    let unix = servers(include_str!("../../examples/macos-linux/cordis.patch.yml"));
    let windows = servers(include_str!("../../examples/windows/cordis.patch.yml"));
    let ids = |servers: &[ServerConfig]| {
        servers
            .iter()
            .map(|server| server.id.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(&unix), ["cpp", "go", "python", "rust", "typescript"]);
    assert_eq!(ids(&windows), ids(&unix));
    for (unix, windows) in unix.iter().zip(&windows) {
        assert_eq!(unix.open_files, windows.open_files);
    }
}
