//! JSON-RPC 2.0 messages as language servers send and expect them (SPEC 6).

use crate::loose::{Leaf, Members, Object, skip};
use dsh_guest_support::js_json::{self, ParseError};
use serde::de::MapAccess;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The method is unknown, or not offered.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The parameters cannot be used.
pub const INVALID_PARAMS: i64 = -32602;
/// The server's view of the files changed while it computed.
pub const CONTENT_MODIFIED: i64 = -32801;
/// The server gave the request up by itself.
pub const SERVER_CANCELLED: i64 = -32802;

/// The most memory that parameters or the result of `initialize` may take as values, in bytes (SPEC 6.6).
pub const VALUE_ROOM: usize = 4 << 20;
/// The longest id of a request of the server, in bytes (SPEC 6.6): it is sent back.
const MAX_ID_BYTES: usize = 1_024;
/// How much of an error's message is kept, in bytes. A log record has no more.
const MAX_MESSAGE_BYTES: usize = 10_240;

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
        method: Cow<'a, str>,
        /// `null` when absent.
        params: &'a str,
    },
    /// Nothing is expected.
    Notification {
        /// What happened.
        method: Cow<'a, str>,
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
    id: Option<&'a RawValue>,
    method: Leaf<'a>,
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Object<ErrorReply<'a>>,
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

#[derive(Default)]
struct ErrorReply<'a> {
    code: Leaf<'a>,
    message: Leaf<'a>,
}

impl<'de> Members<'de> for ErrorReply<'de> {
    fn take<A: MapAccess<'de>>(&mut self, key: &str, access: &mut A) -> Result<(), A::Error> {
        match key {
            "code" => self.code = access.next_value()?,
            "message" => self.message = access.next_value()?,
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
    let id = match message.id.map(RawValue::get) {
        None => None,
        Some(id) if id.len() > MAX_ID_BYTES => return Ok(Inbound::Ignored),
        Some(id) => Some(js_json::value(id, usize::MAX)?),
    };
    if let Leaf::Text(method) = message.method {
        let params = message.params.map_or("null", RawValue::get);
        return Ok(match id {
            None => Inbound::Notification { method, params },
            Some(id @ (Value::Number(_) | Value::String(_))) => {
                Inbound::Request { id, method, params }
            }
            Some(_) => Inbound::Ignored,
        });
    }
    Ok(match id.as_ref().and_then(our_id) {
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

fn reply_of<'a>(error: Object<ErrorReply<'_>>, result: Option<&'a str>) -> Reply<'a> {
    let Object::Found(error) = error else {
        return Ok(result);
    };
    let code = match error.code {
        Leaf::Number(code) if code.fract() == 0.0 && code.abs() < 9e15 => Some(code as i64),
        _ => None,
    };
    let message = match error.message {
        Leaf::Text(text) => shortened(&text, MAX_MESSAGE_BYTES).to_owned(),
        _ => NO_MESSAGE.to_owned(),
    };
    Err(RpcError { code, message })
}

/// The beginning of a text that a server chose, in whole characters.
pub fn shortened(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
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

/// Our reply to a request of the server. A result is the text of a JSON value.
pub fn reply(id: &Value, answer: Result<String, RpcError>) -> String {
    match answer {
        Ok(result) => {
            let id = js_json::stringify(id);
            format!("{{\"id\":{id},\"jsonrpc\":\"2.0\",\"result\":{result}}}")
        }
        Err(RpcError { code, message: why }) => {
            let error = object([("code", code.into()), ("message", why.into())]);
            message([("id", Some(id.clone())), ("error", Some(error))])
        }
    }
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
