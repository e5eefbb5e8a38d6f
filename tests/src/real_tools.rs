//! Real programs that tests drive. They are pinned in `tests/tools`, and not every machine has them: `build.rs` looks for each, and the tests
//! of a missing one are ignored. With `DSH_REQUIRE_REAL_TOOLS=1` they run all the same, and fail.

use std::path::{Path, PathBuf};

/// ripgrep: what `DSH_RG` names, else `rg` on `PATH`.
pub fn ripgrep() -> PathBuf {
    find("DSH_RG", "rg")
}

fn find(variable: &str, name: &str) -> PathBuf {
    let named = std::env::var_os(variable).map(PathBuf::from);
    let on_path = || {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path)
            .filter(|directory| directory.is_absolute())
            .map(|directory| directory.join(name))
            .find(|candidate| candidate.is_file())
    };
    let found = named.or_else(on_path);
    let found = found.unwrap_or_else(|| {
        panic!("{name} is missing: {variable} is not set, and no directory of PATH has it")
    });
    assert!(is_program(&found), "{} is no program", found.display());
    found
}

fn is_program(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}
