//! Builds the component that misbehaves on request, so that `cargo test` needs no step before it.

fn main() {
    if let Err(message) = dsh_component_build::build(&["dsh-hostile-guest"], &["tests/guests"]) {
        dsh_component_build::fail(&message);
    }
}
