//! What the tests share: a host for the core that reads real directories, and the golden vectors.

#![allow(missing_docs, dead_code, reason = "each test uses a part of it")]

pub mod local;
pub mod memory;
pub mod reference;
pub mod run;
pub mod tree;

use dsh_file_reference_local::config::Config;
use dsh_file_reference_local::top::Candidate;
use dsh_file_reference_local::workspace::Kind;
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;

pub fn vectors() -> PathBuf {
    PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/golden/file-references"
    ))
}

pub fn read_json(path: impl AsRef<std::path::Path>) -> Value {
    let path = vectors().join(path);
    let text = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_slice(&text).unwrap()
}

pub fn config(value: &Value) -> Config {
    Config::parse(&value.to_string()).unwrap().0
}

pub fn as_json(candidates: &[Candidate]) -> Value {
    let kind = |kind| match kind {
        Kind::File => "file",
        Kind::Directory => "directory",
    };
    candidates
        .iter()
        .map(|c| json!({"path": c.path, "kind": kind(c.kind)}))
        .collect()
}

/// Writes past the capture of the test harness: what a run leaves out has to be seen.
pub fn announce(text: &str) {
    std::io::stderr()
        .write_all(format!("{text}\n").as_bytes())
        .unwrap();
}
