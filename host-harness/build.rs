//! Builds the plugin components, so that the command holds them and works as one file anywhere.

use std::path::Path;

fn main() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let packages = [
        "dsh-context-proxy",
        "dsh-file-reference-local",
        "dsh-workspace-intelligence",
    ];
    if let Err(message) = dsh_component_build::build(&workspace, &packages, &["plugins"]) {
        dsh_component_build::fail(&message);
    }
}
