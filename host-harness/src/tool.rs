//! What a tool is to the host, whoever implements it.

use crate::abort::{AbortReason, AbortSignal};
use crate::canonical_value::CanonicalValue;
use crate::ctx::call::Caller;
use crate::failure::Failure;
use futures::future::BoxFuture;
use serde_json::Value;

/// What the model and the host know of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDefinition {
    /// The name that the model calls.
    pub name: String,
    /// What the model reads about it.
    pub description: String,
    /// JSON Schema of the arguments, in DSH's subset.
    pub parameters: Value,
    /// JSON Schema of the canonical value, in DSH's subset.
    pub output_schema: Value,
    /// The deadline of one call in milliseconds.
    pub timeout_ms: Option<u32>,
    /// Whether an agent's calls may overlap.
    pub concurrency_safe: bool,
}

/// A successful answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    /// The canonical value, for programs.
    pub value: CanonicalValue,
    /// The text that the model reads.
    pub content: String,
}

/// An unsuccessful answer.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolError {
    /// The tool failed.
    Failed(Failure),
    /// The tool ended because its signal was set.
    Aborted,
}

impl From<Failure> for ToolError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// One call on its way to a tool.
#[derive(Clone, Debug)]
pub struct ToolInvocation {
    /// The identifier that the model gave the call.
    pub call_id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments.
    pub arguments: Value,
    /// Who calls.
    pub caller: Caller,
}

/// How a pending call is shown to people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallCard {
    /// One line.
    pub title: String,
    /// DSH's kind of card.
    pub kind: String,
}

/// Something that can be called.
pub trait Tool: Send + Sync {
    /// Runs one call to its end. The future is always driven to its end: a tool ends early by watching `signal`.
    fn execute(
        &self,
        call: ToolInvocation,
        signal: AbortSignal,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>>;

    /// The card for a call with these arguments.
    fn present_call<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a Value,
    ) -> BoxFuture<'a, Option<CallCard>> {
        let _ = (name, arguments);
        Box::pin(async { None })
    }
}

/// What a call came to, as DSH reports it.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolResult {
    /// It succeeded.
    Success(ToolOutput),
    /// It failed. The model reads [`ToolResult::text`].
    Failure(Failure),
    /// The caller cancelled with this reason, which is reported as it is.
    Cancelled(AbortReason),
}

impl ToolResult {
    /// Whether the model is told of an error.
    pub fn is_error(&self) -> bool {
        !matches!(self, Self::Success(_))
    }

    /// Exactly the text that the model reads.
    pub fn text(&self) -> String {
        match self {
            Self::Success(output) => output.content.clone(),
            Self::Failure(failure) => format!("Error: {}", failure.message),
            Self::Cancelled(_) => "Error: tool call aborted".into(),
        }
    }

    /// The code of an error, if it has one.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Success(_) => None,
            Self::Failure(failure) => failure.code.as_deref(),
            Self::Cancelled(_) => Some(crate::failure::codes::ABORTED),
        }
    }
}

#[cfg(test)]
pub(crate) fn test_tool(name: &str) -> (ToolDefinition, std::sync::Arc<dyn Tool>) {
    struct Echo;
    impl Tool for Echo {
        fn execute(
            &self,
            call: ToolInvocation,
            _: AbortSignal,
        ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
            Box::pin(async move {
                Ok(ToolOutput {
                    content: call.arguments.to_string(),
                    value: call.arguments.into(),
                })
            })
        }
    }
    let definition = ToolDefinition {
        name: name.into(),
        description: "echoes".into(),
        parameters: serde_json::json!({"type": "object"}),
        output_schema: serde_json::json!({"type": "object"}),
        timeout_ms: None,
        concurrency_safe: true,
    };
    (definition, std::sync::Arc::new(Echo))
}
