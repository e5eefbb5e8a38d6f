//! The golden vectors of `file-reference-local`, and answers in their form.

use dsh_host::{AbortReason, Candidate, Failure, Kind, SearchError};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The directory of the vectors.
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/file-references")
}

/// One file of the vectors, by its path in their directory.
pub fn read(path: impl AsRef<Path>) -> Value {
    let path = directory().join(path);
    let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap()
}

/// The list in a vector file, or under one of its keys.
pub fn list(value: &Value) -> &[Value] {
    let list = value.as_array().expect("a list");
    assert!(!list.is_empty(), "a list of vectors without vectors");
    list
}

/// Candidates as the vectors write them.
pub fn candidates(candidates: &[Candidate]) -> Value {
    let kind = |kind| match kind {
        Kind::File => "file",
        Kind::Directory => "directory",
    };
    candidates
        .iter()
        .map(|candidate| json!({"path": candidate.path, "kind": kind(candidate.kind)}))
        .collect()
}

/// What a search came to, as the vectors of the lifecycle write it.
pub fn outcome(result: Result<Vec<Candidate>, SearchError>) -> Value {
    let error = |failure: Failure| {
        let name = failure.name.unwrap_or_else(|| "Error".into());
        json!({"rejected_error": failure.message, "name": name})
    };
    match result {
        Ok(found) => json!({"ok": candidates(&found)}),
        Err(SearchError::Aborted(AbortReason::CallerValue(value))) => {
            json!({"rejected_value": value})
        }
        Err(SearchError::Aborted(reason)) => error(reason.into_failure()),
        Err(SearchError::Failed(failure)) => error(failure),
    }
}
