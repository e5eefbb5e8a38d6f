//! What a tool answers to programs.

use serde_json::Value;

/// The canonical value of an answer, as the text that the tool wrote: it may be large, and most calls are made for what the model reads.
///
/// In a [`ToolResult`](crate::ToolResult) it is JSON and fits the tool's schema.
#[derive(Clone, Debug)]
pub struct CanonicalValue(String);

impl CanonicalValue {
    /// What a component wrote. It is judged when its answer is.
    pub(crate) fn unjudged(text: String) -> Self {
        Self(text)
    }

    /// The JSON text.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The value, read anew each time.
    pub fn value(&self) -> Value {
        // No other text is handed out.
        dsh_services::json::parse(&self.0).unwrap_or_default()
    }
}

impl From<Value> for CanonicalValue {
    fn from(value: Value) -> Self {
        Self(value.to_string())
    }
}

/// Spelling does not matter.
impl PartialEq for CanonicalValue {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0 || self.value() == other.value()
    }
}
