//! JSON-RPC 2.0 messages as language servers send and expect them (SPEC 6).

use crate::loose::{Leaf, Members, Object, skip};
use dsh_guest_support::js_json::{self, ParseError};
use serde::de::MapAccess;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The method is unknown, or not offered.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The parameters cannot be used.
pub const INVALID_PARAMS: i64 = -32602;
/// The server's view of the files changed while it computed.
pub const CONTENT_MODIFIED: i64 = -32801;
/// The server gave the request up by itself.
pub const SERVER_CANCELLED: i64 = -32802;

/// The text for an error reply that brings none.
const NO_MESSAGE: &str = "the language server reported an error without a message";

/// An error reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RpcError {
    /// The numeric code, when there is an integral one.
    pub code: Option<i64>,
    /// What the server says.
    pub message: String,
}

impl std::fmt::Display for RpcError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.code {
            Some(code) => write!(f, "error {code}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// The `result` of a reply, as its text; `None` when the reply has neither a result nor an error.
pub type Reply<'a> = Result<Option<&'a str>, RpcError>;

/// A message from the server, sorted by what is to be done with it. Parameters and results are texts of JSON values: most are never looked at.
#[derive(Debug, Clone, PartialEq)]
pub enum Inbound<'a> {
    /// The server waits for a reply that carries this very id, a number or a string.
    Request {
        /// To be echoed.
        id: Value,
        /// What is asked.
        method: String,
        /// `null` when absent.
        params: &'a str,
    },
    /// Nothing is expected.
    Notification {
        /// What happened.
        method: String,
        /// `null` when absent.
        params: &'a str,
    },
    /// The reply to the request with this number.
    Response {
        /// Our number.
        id: u64,
        /// What the server answered.
        reply: Reply<'a>,
    },
    /// Neither of these; skipped (SPEC 6.2).
    Ignored,
}

#[derive(Default)]
struct Message<'a> {
    /// Told apart from an id that is `null`.
    id: Option<Value>,
    method: Leaf<'a>,
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Value,
}

impl<'de> Members<'de> for Message<'de> {
    fn take<A: MapAccess<'de>>(&mut self, key: &str, access: &mut A) -> Result<(), A::Error> {
        match key {
            "id" => self.id = Some(access.next_value()?),
            "method" => self.method = access.next_value()?,
            "params" => self.params = Some(access.next_value()?),
            "result" => self.result = Some(access.next_value()?),
            "error" => self.error = access.next_value()?,
            _ => skip(access)?,
        }
        Ok(())
    }
}

/// Sorts a message. The `jsonrpc` member is not looked at: servers leave it out.
///
/// # Errors
/// The text is no JSON value.
pub fn classify(text: &str) -> Result<Inbound<'_>, ParseError> {
    let Object::Found(message) = js_json::read::<Object<Message<'_>>>(text)? else {
        return Ok(Inbound::Ignored);
    };
    if let Leaf::Text(method) = message.method {
        let (method, params) = (
            method.into_owned(),
            message.params.map_or("null", RawValue::get),
        );
        return Ok(match message.id {
            None => Inbound::Notification { method, params },
            Some(id @ (Value::Number(_) | Value::String(_))) => {
                Inbound::Request { id, method, params }
            }
            Some(_) => Inbound::Ignored,
        });
    }
    Ok(match message.id.as_ref().and_then(our_id) {
        Some(id) => Inbound::Response {
            id,
            reply: reply_of(message.error, message.result.map(RawValue::get)),
        },
        None => Inbound::Ignored,
    })
}

/// Our ids are positive integers; a server may write one as `1.0`.
fn our_id(id: &Value) -> Option<u64> {
    let number = id.as_f64()?;
    let whole = number.fract() == 0.0 && (1.0..9e15).contains(&number);
    whole.then_some(number as u64)
}

fn reply_of(error: Value, result: Option<&str>) -> Reply<'_> {
    let Value::Object(mut error) = error else {
        return Ok(result);
    };
    let code = error.get("code").and_then(Value::as_i64);
    let message = match error.remove("message") {
        Some(Value::String(text)) => text,
        _ => NO_MESSAGE.to_owned(),
    };
    Err(RpcError { code, message })
}

/// A request of ours. Without `params` the member is left out, because `null` is no legal value (SPEC 6.4).
pub fn request(id: u64, method: &str, params: Option<Value>) -> String {
    message([
        ("id", Some(id.into())),
        ("method", Some(method.into())),
        ("params", params),
    ])
}

/// A notification of ours.
pub fn notification(method: &str, params: Option<Value>) -> String {
    message([("method", Some(method.into())), ("params", params)])
}

/// Our reply to a request of the server.
pub fn reply(id: &Value, answer: Result<Value, RpcError>) -> String {
    let (member, content) = match answer {
        Ok(result) => ("result", result),
        Err(RpcError { code, message }) => (
            "error",
            object([("code", code.into()), ("message", message.into())]),
        ),
    };
    message([("id", Some(id.clone())), (member, Some(content))])
}

/// A JSON object.
pub fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    let mut object = Map::new();
    for (name, value) in members {
        insert(&mut object, name, value);
    }
    Value::Object(object)
}

#[inline(never)]
fn insert(object: &mut Map<String, Value>, name: &str, value: Value) {
    object.insert(name.to_owned(), value);
}

/// A message with the members that are there.
fn message<const N: usize>(members: [(&str, Option<Value>); N]) -> String {
    let mut message = Map::new();
    insert(&mut message, "jsonrpc", "2.0".into());
    for (name, value) in members {
        if let Some(value) = value {
            insert(&mut message, name, value);
        }
    }
    js_json::stringify(&message)
}
