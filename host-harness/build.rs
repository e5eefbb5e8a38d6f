//! Builds the plugin components, so that the command holds them and works as one file anywhere.

fn main() {
    let packages = [
        "dsh-context-proxy",
        "dsh-file-reference-local",
        "dsh-workspace-intelligence",
    ];
    if let Err(message) = dsh_component_build::build(&packages, &["plugins"]) {
        dsh_component_build::fail(&message);
    }
}
