//! One tool call from the model's text to its result: lookup, arguments, order, deadline, cancellation, output.

use crate::abort::{AbortController, AbortReason, AbortSignal};
use crate::agents::Agents;
use crate::failure::{Failure, codes};
use crate::registry::{Registered, ToolRegistry};
use crate::schema;
use crate::tool::{ToolError, ToolInvocation, ToolOutput, ToolResult};
use dsh_services::json;
use dsh_services::session_query::parse_json;
use serde_json::{Map, Value};
use std::time::Duration;

/// A call as the model makes it.
#[derive(Clone, Debug)]
pub struct CallRequest {
    /// The identifier that the model gave it; shown in logs only.
    pub call_id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments as the model wrote them. Empty means `{}`; a text that is no JSON reaches the tool as a string.
    pub arguments: String,
    /// The calling agent.
    pub agent: Option<String>,
    /// The caller's way to cancel.
    pub signal: AbortSignal,
    /// A deadline in milliseconds in place of the tool's own.
    pub timeout_ms: Option<u32>,
}

impl CallRequest {
    /// A call without an agent, a cancel or a deadline of its own.
    pub fn new(name: &str, arguments: &str) -> Self {
        Self {
            call_id: String::new(),
            name: name.into(),
            arguments: arguments.into(),
            agent: None,
            signal: AbortSignal::never(),
            timeout_ms: None,
        }
    }
}

/// Makes the call. The future resolves when the tool has settled, never before.
pub(crate) async fn dispatch(
    registry: &ToolRegistry,
    agents: &Agents,
    request: CallRequest,
) -> ToolResult {
    match attempt(registry, agents, request).await {
        Ok(result) => result,
        Err(failure) => ToolResult::Failure(failure),
    }
}

async fn attempt(
    registry: &ToolRegistry,
    agents: &Agents,
    request: CallRequest,
) -> Result<ToolResult, Failure> {
    let agent = match &request.agent {
        Some(id) => Some(agents.get(id).ok_or_else(|| unknown_agent(id))?),
        None => None,
    };
    let Registered { definition, tool } = registry
        .effective(&request.name, request.agent.as_deref())
        .ok_or_else(|| {
            Failure::named(
                "UnknownToolError",
                codes::UNKNOWN_TOOL,
                format!("unknown tool \"{}\"", request.name),
            )
        })?;
    let arguments = parse_arguments(&request.arguments);
    let before_dispatch = || {
        Failure::named(
            "ToolAbortedError",
            codes::ABORTED_BEFORE_DISPATCH,
            "tool call aborted before dispatch",
        )
    };
    if request.signal.reason().is_some() {
        return Err(before_dispatch());
    }
    schema::check_arguments(&definition.parameters, &arguments)?;
    let turn = async {
        match &agent {
            Some(agent) => Some(agent.order.enter(definition.concurrency_safe).await),
            None => None,
        }
    };
    let _turn = tokio::select! {
        biased;
        turn = turn => turn,
        _ = request.signal.wait() => return Err(before_dispatch()),
    };

    let controller = AbortController::new();
    let deadline = request.timeout_ms.or(definition.timeout_ms);
    let caller = agent
        .as_ref()
        .map(|agent| agent.caller())
        .unwrap_or_default();
    let invocation = ToolInvocation {
        call_id: request.call_id,
        name: request.name.clone(),
        arguments,
        caller: caller.clone(),
    };
    let running = tool.execute(invocation, controller.signal());
    let reason = async {
        tokio::select! {
            reason = request.signal.wait() => reason,
            ms = expire(deadline) => AbortReason::Timeout(ms),
        }
    };
    let outcome = controller.relay(reason, running).await;
    caller.end();
    Ok(finish(
        outcome,
        controller.signal().reason(),
        &definition.name,
        &definition.output_schema,
    ))
}

async fn expire(deadline: Option<u32>) -> u32 {
    match deadline {
        Some(ms) => {
            tokio::time::sleep(Duration::from_millis(u64::from(ms))).await;
            ms
        }
        None => std::future::pending().await,
    }
}

fn finish(
    outcome: Result<ToolOutput, ToolError>,
    reason: Option<AbortReason>,
    name: &str,
    output_schema: &Value,
) -> ToolResult {
    // The deadline replaces any outcome. A caller's cancel replaces a success and what the tool reports as its abort; an error of the tool's
    // own is kept.
    match (outcome, reason) {
        (_, Some(reason @ AbortReason::Timeout(_))) => ToolResult::Failure(reason.into_failure()),
        (Err(ToolError::Failed(failure)), _) => ToolResult::Failure(failure),
        (Ok(_) | Err(ToolError::Aborted), Some(AbortReason::Disposed)) => {
            ToolResult::Failure(AbortReason::Disposed.into_failure())
        }
        (Ok(_) | Err(ToolError::Aborted), Some(reason)) => ToolResult::Cancelled(reason),
        (Err(ToolError::Aborted), None) => ToolResult::Failure(Failure::host(
            codes::INVALID_TOOL_OUTPUT,
            format!("tool \"{name}\" reports an abort, but nobody aborted it"),
        )),
        (Ok(output), None) => check_output(output, name, output_schema),
    }
}

fn check_output(output: ToolOutput, name: &str, schema: &Value) -> ToolResult {
    let text = output.value.text();
    if schema::fits(schema, text) {
        return ToolResult::Success(output);
    }
    let problem = match json::parse(text) {
        Ok(value) => schema::violations(schema, &value, "value").join("; "),
        Err(error) => format!("the value is no JSON: {error}"),
    };
    if problem.is_empty() {
        return ToolResult::Success(output);
    }
    let message = format!("tool \"{name}\" returned invalid output: {problem}");
    ToolResult::Failure(Failure::named(
        "ToolOutputError",
        codes::INVALID_TOOL_OUTPUT,
        message,
    ))
}

fn parse_arguments(text: &str) -> Value {
    if text.is_empty() {
        return Value::Object(Map::new());
    }
    parse_json(text).unwrap_or_else(|_| Value::String(text.into()))
}

fn unknown_agent(id: &str) -> Failure {
    Failure::host(codes::AGENT_UNKNOWN, format!("there is no agent \"{id}\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical_value::CanonicalValue;
    use crate::registry::Scope;
    use crate::tool::test_tool;
    use std::sync::Arc;

    #[tokio::test]
    async fn no_key_of_arguments_or_answers_is_special() {
        let registry = Arc::new(ToolRegistry::default());
        let _echo = registry
            .register(Scope::Global, vec![test_tool("echo")])
            .unwrap();
        for member in ["5", "\"5\"", "\"x\"", "{}"] {
            let key = format!(r#"{{"$serde_json::private::RawValue":{member}}}"#);
            for text in [key.clone(), format!(r#"{{"query":"a","x":{key}}}"#)] {
                let request = CallRequest::new("echo", &text);
                let result = dispatch(&registry, &Agents::default(), request).await;
                let ToolResult::Success(output) = result else {
                    panic!("{text}: {result:?}");
                };
                assert_eq!(output.value.text(), text);
                assert_eq!(output.value.value().to_string(), text);
            }
        }
    }

    /// One whose answer [`schema::fits`] cannot judge, so that a tree is judged.
    #[test]
    fn no_key_of_an_answer_with_equal_keys_is_special() {
        let schema = serde_json::json!({"type": "object", "properties": {"a": {"type": "string"}}});
        let text = r#"{"a":1,"a":"2","x":{"$serde_json::private::RawValue":5}}"#;
        assert!(!schema::fits(&schema, text));
        let output = ToolOutput {
            value: CanonicalValue::unjudged(text.into()),
            content: String::new(),
        };
        let result = check_output(output, "t", &schema);
        assert!(matches!(result, ToolResult::Success(_)), "{result:?}");
    }
}
