//! What a message must look like (SPEC-sessions 4.5).

use serde_json::Value;

use super::js::is_safe_integer;
use super::kinds::Format;
use super::message::{Blocks, Message, Wrapped};
use super::view::{Lax, Scalar};
use crate::json;

/// The role of a message inside an event of that type; none when the type has no message that is checked here.
fn role(kind: &str, format: Format) -> Option<&'static str> {
    match (kind, format) {
        ("user/message", _) => Some("user"),
        ("assistant/message", _) => Some("assistant"),
        ("tool/result", Format::V0) => Some("user"),
        ("tool/result", Format::V4) => Some("tool"),
        ("developer/message", Format::V4) => Some("developer"),
        _ => None,
    }
}

/// The rules that both formats share: identity, role, source and content; the model of an answer.
///
/// # Errors
/// What is wrong.
pub fn check(
    kind: &str,
    message: Option<&Message<'_>>,
    format: Format,
    seq: u64,
) -> Result<(), String> {
    let Some(role) = role(kind, format) else {
        return Ok(());
    };
    let fail = |what: &str| Err(format!("session event at seq {seq} {what}"));
    let Some(message) = message.filter(|message| message.id.non_empty().is_some()) else {
        return fail("lacks an identified message");
    };
    if message.role.as_str() != Some(role) {
        return fail(&format!("message must have role \"{role}\""));
    }
    let Some(source) = message
        .source
        .0
        .as_ref()
        .filter(|source| source.kind.non_empty().is_some())
    else {
        return fail("message has invalid source");
    };
    let Some(blocks) = &message.content.0 else {
        return fail("message has invalid content");
    };
    if kind == "assistant/message" {
        let model = source.kind.as_str() == Some("model")
            && source.provider.non_empty().is_some()
            && source.model.non_empty().is_some();
        return if model {
            Ok(())
        } else {
            fail("message must have model source")
        };
    }
    if kind != "tool/result" || format == Format::V4 {
        return Ok(());
    }
    if source.kind.as_str() != Some("tool") || source.call_id.non_empty().is_none() {
        return fail("message must have tool source");
    }
    match blocks.as_slice() {
        [Lax(Some(block))]
            if block.kind.as_str() == Some("tool-result") && block.content.0.is_some() =>
        {
            if block.tool_call_id == source.call_id {
                Ok(())
            } else {
                fail("message has mismatched tool call ids")
            }
        }
        _ => fail("message must contain one tool-result block"),
    }
}

fn has_wrapper(blocks: &Blocks<'_>) -> bool {
    blocks
        .0
        .iter()
        .flatten()
        .filter_map(|block| block.0.as_ref())
        .any(|block| block.kind.as_str() == Some("tool-result"))
}

/// What format 4 refuses in any line that parses, even in a tail that would otherwise be dropped: shapes of earlier formats,
/// and broken tool results.
///
/// # Errors
/// What is wrong.
pub fn admit_v4(
    kind: &str,
    message: Option<&Message<'_>>,
    data: Option<&Wrapped<'_>>,
    seq: &str,
) -> Result<(), String> {
    let subject = format!("format v4 {kind} at seq {seq}");
    if let Some(message) = message {
        if message
            .source
            .0
            .as_ref()
            .is_some_and(|source| source.kind.as_str() == Some("plugin"))
        {
            return Err("format v4 message requires a producer-owned source kind".to_owned());
        }
        if has_wrapper(&message.content) {
            return Err(format!(
                "{subject} content must not contain a released tool-result wrapper"
            ));
        }
        if (message.role.as_str() == Some("developer")) != (kind == "developer/message") {
            return Err(
                "format v4 developer/message and developer role must occur together".to_owned(),
            );
        }
    }
    if kind != "tool/result" {
        return Ok(());
    }
    let Some(message) = message else {
        return Err(format!("{subject} message must be an object"));
    };
    let source = message.source.0.as_ref();
    let call = message.tool_call_id.non_empty();
    let is_error = &message.is_error;
    let fault = if message.id.non_empty().is_none() {
        "requires a first-class message with a string id"
    } else if message.role.as_str() != Some("tool") {
        "requires a tool-role message"
    } else if call.is_none() || source.and_then(|source| source.call_id.as_str()) != call {
        "requires toolCallId matching its tool source"
    } else if source.and_then(|source| source.kind.as_str()) != Some("tool") {
        "requires a tool source"
    } else if message.content.0.is_none() {
        "requires array content"
    } else if !matches!(is_error, Scalar::Missing | Scalar::Bool(_)) {
        "isError must be boolean when present"
    } else if data.is_some_and(|data| data.has_error) && *is_error != Scalar::Bool(true) {
        "carries error metadata for a non-error tool result"
    } else {
        return Ok(());
    };
    Err(format!("{subject} {fault}"))
}

/// What format 4 refuses of a `system/message`.
///
/// # Errors
/// What is wrong.
pub fn admit_system(data: &str) -> Result<(), String> {
    let data =
        json::parse(data).map_err(|error| format!("format v4 system/message data: {error}"))?;
    let positive = |value: &Value| count(value).is_some_and(|number| number > 0.0);
    for name in ["turn", "step"] {
        if !positive(&data[name]) {
            return Err(format!("format v4 system/message {name} must be positive"));
        }
    }
    let message = &data["message"];
    if message["id"].as_str().is_none_or(str::is_empty) || message["role"] != "system" {
        return Err("format v4 system message requires an id and the system role".to_owned());
    }
    if message["source"]["kind"] == "plugin" {
        return Err("format v4 message requires a producer-owned source kind".to_owned());
    }
    let Value::Array(blocks) = &message["content"] else {
        return Err("format v4 system message requires content array".to_owned());
    };
    for block in blocks {
        let sound = match block["type"].as_str() {
            None | Some("" | "tool-result") => false,
            Some("text" | "reasoning") => block["text"].is_string(),
            Some("tool-call") => ["id", "name", "arguments"]
                .iter()
                .all(|name| block[*name].is_string()),
            Some("image") => image(&block["attachment"]),
            Some(_) => true,
        };
        if !sound {
            return Err("format v4 system message has a malformed content block".to_owned());
        }
    }
    Ok(())
}

fn image(attachment: &Value) -> bool {
    let positive = |value: &Value| count(value).is_some_and(|number| number > 0.0);
    attachment["attachmentId"]
        .as_str()
        .is_some_and(|id| !id.is_empty())
        && matches!(
            attachment["mediaType"].as_str(),
            Some("image/png" | "image/jpeg" | "image/webp" | "image/gif")
        )
        && count(&attachment["bytes"]).is_some()
        && positive(&attachment["width"])
        && positive(&attachment["height"])
}

fn count(value: &Value) -> Option<f64> {
    value
        .as_f64()
        .filter(|number| is_safe_integer(*number) && *number >= 0.0)
}

/// The rules of a `request/header`: format 0 wants a provider and a model and refuses a retired reason; format 4 refuses a
/// system prompt in the header and an empty tool list. The second text of a pair is a fault that format 4 finds even in a tail.
///
/// # Errors
/// What is wrong.
pub fn request_header(
    data: &str,
    format: Format,
    session_id: &str,
    seq: u64,
) -> Result<(), HeaderFault> {
    let data = json::parse(data).map_err(|error| HeaderFault::Shape(error.to_string()))?;
    let header = &data["header"];
    match format {
        Format::V0 => {
            if data["reason"] == "fallback" {
                return Err(HeaderFault::Shape(format!(
                    "session \"{session_id}\" contains unsupported legacy request/header reason \"fallback\" at seq {seq}"
                )));
            }
            let named = |name: &str| {
                header["config"][name]
                    .as_str()
                    .is_some_and(|name| !name.is_empty())
            };
            if named("provider") && named("model") {
                Ok(())
            } else {
                Err(HeaderFault::Late(format!(
                    "seed request/header at index {seq} lacks provider/model"
                )))
            }
        }
        Format::V4 => {
            if !header.is_object() {
                return Err(HeaderFault::Admission(
                    "format v4 request/header requires data and header objects".to_owned(),
                ));
            }
            if header.get("system").is_some() {
                return Err(HeaderFault::Admission(
                    "format v4 request/header rejects retired header.system".to_owned(),
                ));
            }
            if header["tools"].as_array().is_some_and(Vec::is_empty) {
                return Err(HeaderFault::Late(format!(
                    "session event at seq {seq} must omit empty tools"
                )));
            }
            Ok(())
        }
    }
}

/// When a fault of a `request/header` is found.
#[derive(Debug, PartialEq)]
pub enum HeaderFault {
    /// Before anything else, even in a tail that would be dropped.
    Admission(String),
    /// With the shapes of messages.
    Shape(String),
    /// After unknown types.
    Late(String),
}
