//! Errors as DSH carries them across its seams.

use crate::bindings::dsh::ctx::types;
use std::fmt;

/// What the user reads, and what programs switch on: the counterpart of a JavaScript error with `name` and `code`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Class name, such as `ToolArgsError`; none for a plain `Error`.
    pub name: Option<String>,
    /// Stable code, such as `INVALID_ARGS`; none for an uncoded error.
    pub code: Option<String>,
    /// Text without a leading `Error: `.
    pub message: String,
}

impl Failure {
    /// A failure of the host itself.
    pub fn host(code: &str, message: impl Into<String>) -> Self {
        Self::named("HostError", code, message)
    }

    /// A failure of a class that DSH publishes.
    pub fn named(name: &str, code: &str, message: impl Into<String>) -> Self {
        Self {
            name: Some(name.into()),
            code: Some(code.into()),
            message: message.into(),
        }
    }

    /// Whether the failure carries this code.
    pub fn is(&self, code: &str) -> bool {
        self.code.as_deref() == Some(code)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<types::Failure> for Failure {
    fn from(value: types::Failure) -> Self {
        Self {
            name: value.name,
            code: value.code,
            message: value.message,
        }
    }
}

impl From<Failure> for types::Failure {
    fn from(value: Failure) -> Self {
        Self {
            name: value.name,
            code: value.code,
            message: value.message,
        }
    }
}

/// Codes of failures that the host itself reports.
pub mod codes {
    /// The plugin's instance trapped while the call was in flight; the next call gets a fresh one.
    pub const PLUGIN_TRAPPED: &str = "PLUGIN_TRAPPED";
    /// The plugin trapped too often, or could not be mounted again after a trap.
    pub const PLUGIN_FAILED: &str = "PLUGIN_FAILED";
    /// The plugin was unloaded before or during the call.
    pub const PLUGIN_DISPOSED: &str = "PLUGIN_DISPOSED";
    /// The plugin does not export what was asked of it.
    pub const PLUGIN_LACKS_EXPORT: &str = "PLUGIN_LACKS_EXPORT";
    /// The plugin's answer is larger than the host accepts.
    pub const PLUGIN_OUTPUT_TOO_LARGE: &str = "PLUGIN_OUTPUT_TOO_LARGE";
    /// The plugin did not come back from mounting or unmounting in time.
    pub const PLUGIN_UNRESPONSIVE: &str = "PLUGIN_UNRESPONSIVE";
    /// No agent of this identifier exists.
    pub const AGENT_UNKNOWN: &str = "AGENT_UNKNOWN";
    /// No tool of this name is visible to the caller.
    pub const UNKNOWN_TOOL: &str = "UNKNOWN_TOOL";
    /// The arguments do not fit the tool's schema.
    pub const INVALID_ARGS: &str = "INVALID_ARGS";
    /// The tool's value does not fit its own output schema.
    pub const INVALID_TOOL_OUTPUT: &str = "INVALID_TOOL_OUTPUT";
    /// The caller cancelled the call.
    pub const ABORTED: &str = "ABORTED";
    /// The caller cancelled the call before the tool saw it.
    pub const ABORTED_BEFORE_DISPATCH: &str = "ABORTED_BEFORE_DISPATCH";
    /// The call's deadline passed.
    pub const TOOL_TIMEOUT: &str = "TOOL_TIMEOUT";
}
