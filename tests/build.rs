//! Builds the component that misbehaves on request, so that `cargo test` needs no step before it.

use std::path::Path;

fn main() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    if let Err(message) =
        dsh_component_build::build(&workspace, &["dsh-hostile-guest"], &["tests/guests"])
    {
        dsh_component_build::fail(&message);
    }
}
