//! Language servers as people install them, pinned by the files under `tests/tools`.

use crate::announce;
use std::path::{Path, PathBuf};

/// Where a program is: among the pinned tools, else on `PATH`. A missing one is said, and is a failure when `DSH_REQUIRE_REAL_TOOLS` is 1.
///
/// # Panics
/// It is missing, and has to be there.
pub fn find(program: &str) -> Option<PathBuf> {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let pinned = [tools.join("node_modules/.bin"), tools.join("venv/bin")];
    let found = pinned
        .into_iter()
        .chain(std::env::split_paths(&path))
        .map(|directory| directory.join(program))
        .find(|candidate| candidate.is_file() && runs(program, candidate));
    if found.is_none() {
        assert!(
            std::env::var_os("DSH_REQUIRE_REAL_TOOLS").is_none_or(|value| value != "1"),
            "{program} is missing: see .ci/run for how it is installed"
        );
        announce(&format!(
            "ignored: {program} is not installed, neither under tests/tools nor on PATH"
        ));
    }
    found
}

/// rustup puts a stand-in on `PATH` for a component that need not be installed.
fn runs(program: &str, candidate: &Path) -> bool {
    let answers = || {
        let mut command = std::process::Command::new(candidate);
        command
            .arg("--version")
            .output()
            .is_ok_and(|output| output.status.success())
    };
    program != "rust-analyzer" || answers()
}

/// Copies one of the small projects into a directory.
pub fn lay_out(project: &str, into: &Path) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/language-servers")
        .join(project);
    copy(&from, into);
    // Named otherwise in this repository, so that cargo does not take the project for a part of it.
    let manifest = into.join("Cargo.toml.fixture");
    if manifest.exists() {
        std::fs::rename(manifest, into.join("Cargo.toml")).unwrap();
    }
}

fn copy(from: &Path, into: &Path) {
    std::fs::create_dir_all(into).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = into.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
