//! What the integration tests of the host share: hosts with plugins in them, the golden vectors, trees on disk, and workspaces that can be held up.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "this is how a test fails"
)]

pub mod faults;
#[allow(missing_docs, reason = "the support of another crate's tests")]
#[path = "../../host-harness/services/tests/support/golden.rs"]
pub mod golden;
pub mod history;
pub mod hostile;
pub mod hosts;
pub mod real_servers;
pub mod real_tools;
#[cfg(target_os = "linux")]
pub mod residue;
#[allow(missing_docs, reason = "the support of another crate's tests")]
#[path = "../../host-harness/services/tests/support/rows.rs"]
pub mod rows;
#[cfg(unix)]
pub mod symbols;
#[allow(missing_docs, reason = "the support of another crate's tests")]
#[path = "../../plugins/file-reference-local/tests/support/tree.rs"]
pub mod tree;
pub mod vectors;
pub mod workspaces;

use std::io::Write;

/// Writes past the capture of the test harness: what a run leaves out, and how much it covers, has to be seen.
pub fn announce(text: &str) {
    std::io::stderr()
        .write_all(format!("{text}\n").as_bytes())
        .unwrap();
}
