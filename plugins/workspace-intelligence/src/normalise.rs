//! Reads what a server answered to `workspace/symbol` (SPEC 10.2).
//!
//! Both shapes of LSP are read by one set of rules, and one entry that breaks them fails the whole answer: a silently shortened list would
//! tell the model that something does not exist.

use crate::symbol::{Position, Range, Symbol};
use crate::uri;
use serde_json::{Map, Value};

/// The largest line, column or kind, LSP's `uinteger`.
const MAX_INTEGER: f64 = 2_147_483_647.0;

/// What is wrong with an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MalformedAnswer {
    /// A reply without a result.
    #[error("the answer has no result")]
    NoResult,
    /// A result that is neither null nor a list.
    #[error("the result is neither a list nor null")]
    NotAList,
    /// An entry that is no symbol.
    #[error("entry {index} of the result: {problem}")]
    Entry {
        /// Which, from 0.
        index: usize,
        /// What is wrong with it.
        problem: &'static str,
    },
}

/// The symbols of one answer, in the server's order.
pub fn symbols(result: Option<Value>) -> Result<Vec<Symbol>, MalformedAnswer> {
    match result {
        None => Err(MalformedAnswer::NoResult),
        Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(entries)) => entries
            .into_iter()
            .enumerate()
            .map(|(index, entry)| {
                symbol(entry).map_err(|problem| MalformedAnswer::Entry { index, problem })
            })
            .collect(),
        Some(_) => Err(MalformedAnswer::NotAList),
    }
}

fn symbol(entry: Value) -> Result<Symbol, &'static str> {
    let Value::Object(mut entry) = entry else {
        return Err("not an object");
    };
    let Some(Value::String(name)) = entry.remove("name") else {
        return Err("name must be a string");
    };
    let kind = entry
        .get("kind")
        .and_then(integer)
        .filter(|kind| *kind >= 1)
        .ok_or("kind must be a positive integer")?;
    let Some(Value::Object(mut location)) = entry.remove("location") else {
        return Err("location must be an object");
    };
    let Some(Value::String(raw_uri)) = location.remove("uri") else {
        return Err("location.uri must be a string");
    };
    let range = match location.get("range") {
        None | Some(Value::Null) => None,
        Some(Value::Object(found)) => Some(range(found)?),
        Some(_) => return Err("location.range must be an object"),
    };
    let container_name = match entry.remove("containerName") {
        None | Some(Value::Null) => None,
        Some(Value::String(container)) => Some(container).filter(|container| !container.is_empty()),
        Some(_) => return Err("containerName must be a string"),
    };
    Ok(Symbol {
        name,
        kind,
        uri: uri::canonical(&raw_uri),
        range,
        container_name,
    })
}

fn range(found: &Map<String, Value>) -> Result<Range, &'static str> {
    let at = |end: &str| {
        let place = found.get(end)?;
        Some(Position {
            line: place.get("line").and_then(integer)?,
            character: place.get("character").and_then(integer)?,
        })
    };
    match (at("start"), at("end")) {
        (Some(start), Some(end)) => Ok(Range { start, end }),
        _ => Err("location.range must hold four non-negative integers"),
    }
}

/// A non-negative integer; `1.0` is one.
fn integer(value: &Value) -> Option<u32> {
    let number = value.as_f64()?;
    let fits = number.fract() == 0.0 && (0.0..=MAX_INTEGER).contains(&number);
    fits.then_some(number as u32)
}
