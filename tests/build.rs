//! Builds the component that misbehaves on request, so that `cargo test` needs no step before it, and looks for the real programs that some
//! tests drive: `has_rg` is set when there is a ripgrep, and the tests that need it are ignored otherwise.

fn main() {
    if let Err(message) = dsh_component_build::build(&["dsh-hostile-guest"], &["tests/guests"]) {
        dsh_component_build::fail(&message);
    }
    look_for("rg", "DSH_RG");
}

/// With `DSH_REQUIRE_REAL_TOOLS=1` every program counts as found, so that its tests run and fail.
fn look_for(name: &str, variable: &str) {
    println!("cargo::rustc-check-cfg=cfg(has_{name})");
    for variable in ["PATH", "DSH_REQUIRE_REAL_TOOLS", variable] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    let required = std::env::var_os("DSH_REQUIRE_REAL_TOOLS").is_some_and(|value| value == "1");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = || std::env::split_paths(&path).any(|directory| directory.join(name).is_file());
    if required || std::env::var_os(variable).is_some() || is_there() {
        println!("cargo::rustc-cfg=has_{name}");
    }
}
