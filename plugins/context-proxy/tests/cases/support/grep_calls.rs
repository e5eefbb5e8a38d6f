use super::SPILL_PATH;
use dsh_context_proxy::errors::Failure;
use serde_json::{Value, json};

pub const GREP: &str = "context_grep";

/// Arguments for a search of the spill file.
pub fn in_file(pattern: &str) -> Value {
    json!({"pattern": pattern, "path": SPILL_PATH})
}

/// The citation of a line of the spill file.
pub fn cite(line: u64) -> String {
    format!("{SPILL_PATH}:{line}")
}

/// A failure of the host.
pub fn failure(message: &str) -> Failure {
    Failure {
        name: None,
        code: Some("SUBPROCESS_FAILED".to_owned()),
        message: message.to_owned(),
    }
}
