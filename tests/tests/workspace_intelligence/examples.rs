//! The examples for deployers are profiles of the host.

use dsh_host::grants::requests;
use dsh_host::profile::Profile;
use dsh_tests::hosts::{SYMBOLS, host, row};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

fn example(system: &str) -> Profile {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/workspace-intelligence/examples");
    let path = folder.join(system).join("cordis.patch.yml");
    let text = std::fs::read_to_string(&path).unwrap();
    Profile::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[tokio::test]
async fn the_examples_are_profiles_without_a_warning_that_grant_their_programs() {
    for (system, expected) in [
        (
            "macos-linux",
            [
                ("cpp", "clangd --log=error"),
                ("go", "gopls"),
                ("python", "pyright-langserver --stdio"),
                ("rust", "rust-analyzer"),
                ("typescript", "typescript-language-server --stdio"),
            ],
        ),
        (
            "windows",
            [
                ("cpp", "clangd.exe --log=error"),
                ("go", "gopls.exe"),
                (
                    "python",
                    "node C:/pnpm-global-root/pyright/langserver.index.js --stdio",
                ),
                ("rust", "rust-analyzer.exe"),
                (
                    "typescript",
                    "node C:/pnpm-global-root/typescript-language-server/lib/cli.mjs --stdio",
                ),
            ],
        ),
    ] {
        let profile = example(system);
        assert_eq!(profile.warnings, Vec::<String>::new(), "{system}");
        let [only] = profile.rows.as_slice() else {
            panic!("{system}: one row");
        };
        assert_eq!((only.name.as_str(), only.disabled), (SYMBOLS, false));
        let ids: Vec<&String> = only.config["servers"].as_object().unwrap().keys().collect();
        assert_eq!(ids, expected.map(|(id, _)| id), "{system}");
        let granted: Vec<String> = requests(&only.name, &only.config)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            granted,
            expected.map(|(_, program)| format!("{program}, in the agents' directories")),
            "{system}"
        );
    }
}

#[tokio::test]
async fn the_examples_name_no_key_that_the_plugin_does_not_know() {
    let host = host();
    let row = row(&host, SYMBOLS, Value::Null);
    let manifest = host
        .describe(SYMBOLS, &row.component, &row.limits)
        .await
        .unwrap();
    let server = &manifest.config_schema["properties"]["servers"]["additionalProperties"];
    let known: BTreeMap<String, Value> =
        serde_json::from_value(server["properties"].clone()).unwrap();
    for system in ["macos-linux", "windows"] {
        let config = &example(system).rows[0].config;
        for (id, server) in config["servers"].as_object().unwrap() {
            for key in server.as_object().unwrap().keys() {
                assert!(known.contains_key(key), "{system}: servers.{id}.{key}");
            }
        }
    }
}
