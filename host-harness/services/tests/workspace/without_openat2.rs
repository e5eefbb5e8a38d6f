//! All tests once more in a process that may not call `openat2`, as in many containers.

use std::collections::BTreeMap;
use std::process::Command;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

/// Set to the error number that the call is to fail with.
const VARIABLE: &str = "DSH_TEST_OPENAT2_ERROR";

/// The number of `openat2`, the same on every architecture.
const OPENAT2: i64 = 437;

/// Forbids the call to this thread and all that it starts, when the environment asks for it.
pub fn forbid_if_asked() {
    let Some(error) = std::env::var(VARIABLE).ok() else {
        return;
    };
    let error: u32 = error.parse().unwrap();
    let filter = SeccompFilter::new(
        BTreeMap::from([(OPENAT2, Vec::new())]),
        SeccompAction::Allow,
        SeccompAction::Errno(error),
        std::env::consts::ARCH.try_into().unwrap(),
    );
    let program: BpfProgram = filter.unwrap().try_into().unwrap();
    apply_filter(&program).unwrap();
    let outcome = openat2(CWD, ".", OFlags::PATH, Mode::empty(), ResolveFlags::empty());
    assert_eq!(
        outcome.unwrap_err().raw_os_error() as u32,
        error,
        "the call is forbidden"
    );
}

fn all_tests_pass_with(error: rustix::io::Errno) {
    if std::env::var_os(VARIABLE).is_some() {
        return;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        // What the lines of an ignore file mean has nothing to do with how it was reached.
        .args([
            "--skip",
            "without_openat2::",
            "--skip",
            "git_agreement::random",
        ])
        .env(VARIABLE, error.raw_os_error().to_string())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(!text.contains(" 0 passed"), "{text}");
}

#[test]
fn all_tests_pass_where_the_kernel_has_no_openat2() {
    all_tests_pass_with(rustix::io::Errno::NOSYS);
}

#[test]
fn all_tests_pass_where_a_sandbox_forbids_openat2() {
    all_tests_pass_with(rustix::io::Errno::PERM);
}
