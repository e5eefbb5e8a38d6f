//! Language servers as people install them, pinned by the files under `tests/tools`.

use std::path::{Path, PathBuf};

/// Where a program is: among the pinned tools, else on `PATH`. The build has looked for it; without it no test comes here.
///
/// # Panics
/// It is missing.
pub fn find(program: &str) -> PathBuf {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let pinned = [tools.join("node_modules/.bin"), tools.join("venv/bin")];
    let mut candidates = pinned
        .into_iter()
        .chain(std::env::split_paths(&path))
        .map(|directory| directory.join(program));
    let found = candidates.find(|candidate| candidate.is_file());
    found.unwrap_or_else(|| panic!("{program} is missing: see .ci/run for how it is installed"))
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
