//! Builds the component that misbehaves on request, so that `cargo test` needs no step before it, and looks for the real programs that some
//! tests drive: `has_rg` is set when there is a ripgrep, `has_clangd` when there is a clangd, and so on; the tests that need a program are ignored
//! without it.

use std::path::Path;
use std::process::Command;

fn main() {
    if let Err(message) = dsh_component_build::build(&["dsh-hostile-guest"], &["tests/guests"]) {
        dsh_component_build::fail(&message);
    }
    look_for("rg", "DSH_RG");
    for server in [
        "clangd",
        "pyright-langserver",
        "rust-analyzer",
        "ty",
        "typescript-language-server",
    ] {
        look_for_server(server);
    }
}

/// A language server is under `tests/tools` or on `PATH`. rustup has a stand-in for a component that need not be installed.
fn look_for_server(name: &str) {
    let flag = format!("has_{}", name.replace('-', "_"));
    println!("cargo::rustc-check-cfg=cfg({flag})");
    let required = std::env::var_os("DSH_REQUIRE_REAL_TOOLS").is_some_and(|value| value == "1");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let pinned =
        ["tools/node_modules/.bin", "tools/venv/bin"].map(|folder| Path::new(folder).join(name));
    let mut candidates = pinned
        .into_iter()
        .chain(std::env::split_paths(&path).map(|folder| folder.join(name)));
    let works = |candidate: &Path| {
        let version = || Command::new(candidate).arg("--version").output();
        candidate.is_file()
            && (name != "rust-analyzer" || version().is_ok_and(|output| output.status.success()))
    };
    // Nothing is said of files that are missing: cargo would build anew each time. `just tools` touches this file.
    if required || candidates.any(|candidate| works(&candidate)) {
        println!("cargo::rustc-cfg={flag}");
    }
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
