//! Reads what a server answered to `workspace/symbol` (SPEC 10.2).
//!
//! Both shapes of LSP are read by one set of rules, and one entry that breaks them fails the whole answer: a silently shortened list would
//! tell the model that something does not exist.

use crate::loose::{Leaf, Members, Object, skip};
use crate::symbol::{Position, Range, Symbol};
use crate::uri;
use dsh_guest_support::js_json::{self, ParseError};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

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
pub type Symbols = Result<Vec<Symbol>, MalformedAnswer>;

/// Reads a result, the text of a JSON value.
///
/// # Errors
/// It is no JSON after all.
pub fn symbols(result: Option<&str>) -> Result<Symbols, ParseError> {
    match result {
        None => Ok(Err(MalformedAnswer::NoResult)),
        Some(text) => js_json::read(text).map(|Answer(symbols)| symbols),
    }
}

struct Answer(Symbols);

impl<'de> Deserialize<'de> for Answer {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_any(AnswerVisitor).map(Answer)
    }
}

struct AnswerVisitor;

impl<'de> Visitor<'de> for AnswerVisitor {
    type Value = Symbols;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Ok(Vec::new()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Err(MalformedAnswer::NotAList))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Err(MalformedAnswer::NotAList))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Err(MalformedAnswer::NotAList))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Err(MalformedAnswer::NotAList))
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(Err(MalformedAnswer::NotAList))
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
        IgnoredAny.visit_map(members)?;
        Ok(Err(MalformedAnswer::NotAList))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut symbols = Vec::new();
        while let Some(entry) = entries.next_element::<Object<Entry>>()? {
            match symbol(entry) {
                Ok(symbol) => symbols.push(symbol),
                Err(problem) => {
                    IgnoredAny.visit_seq(entries)?;
                    let index = symbols.len();
                    return Ok(Err(MalformedAnswer::Entry { index, problem }));
                }
            }
        }
        Ok(Ok(symbols))
    }
}

#[derive(Default)]
struct Entry<'a> {
    name: Leaf<'a>,
    kind: Leaf<'a>,
    location: Object<Location<'a>>,
    container_name: Leaf<'a>,
}

impl<'de> Members<'de> for Entry<'de> {
    fn take<A: MapAccess<'de>>(&mut self, key: &str, access: &mut A) -> Result<(), A::Error> {
        match key {
            "name" => self.name = access.next_value()?,
            "kind" => self.kind = access.next_value()?,
            "location" => self.location = access.next_value()?,
            "containerName" => self.container_name = access.next_value()?,
            _ => skip(access)?,
        }
        Ok(())
    }
}

#[derive(Default)]
struct Location<'a> {
    uri: Leaf<'a>,
    range: Object<Ends<'a>>,
}

impl<'de> Members<'de> for Location<'de> {
    fn take<A: MapAccess<'de>>(&mut self, key: &str, access: &mut A) -> Result<(), A::Error> {
        match key {
            "uri" => self.uri = access.next_value()?,
            "range" => self.range = access.next_value()?,
            _ => skip(access)?,
        }
        Ok(())
    }
}

#[derive(Default)]
struct Ends<'a> {
    start: Object<Place<'a>>,
    end: Object<Place<'a>>,
}

impl<'de> Members<'de> for Ends<'de> {
    fn take<A: MapAccess<'de>>(&mut self, key: &str, access: &mut A) -> Result<(), A::Error> {
        match key {
            "start" => self.start = access.next_value()?,
            "end" => self.end = access.next_value()?,
            _ => skip(access)?,
        }
        Ok(())
    }
}

#[derive(Default)]
struct Place<'a> {
    line: Leaf<'a>,
    character: Leaf<'a>,
}

impl<'de> Members<'de> for Place<'de> {
    fn take<A: MapAccess<'de>>(&mut self, key: &str, access: &mut A) -> Result<(), A::Error> {
        match key {
            "line" => self.line = access.next_value()?,
            "character" => self.character = access.next_value()?,
            _ => skip(access)?,
        }
        Ok(())
    }
}

fn symbol(entry: Object<Entry<'_>>) -> Result<Symbol, &'static str> {
    let Object::Found(entry) = entry else {
        return Err("not an object");
    };
    let Leaf::Text(name) = entry.name else {
        return Err("name must be a string");
    };
    let kind = integer(&entry.kind)
        .filter(|kind| *kind >= 1)
        .ok_or("kind must be a positive integer")?;
    let Object::Found(location) = entry.location else {
        return Err("location must be an object");
    };
    let Leaf::Text(raw_uri) = location.uri else {
        return Err("location.uri must be a string");
    };
    let range = match location.range {
        Object::Missing | Object::Null => None,
        Object::Found(ends) => Some(range(&ends)?),
        Object::Other => return Err("location.range must be an object"),
    };
    let container_name = match entry.container_name {
        Leaf::Missing | Leaf::Null => None,
        Leaf::Text(container) => Some(container).filter(|container| !container.is_empty()),
        Leaf::Number(_) | Leaf::Other => return Err("containerName must be a string"),
    };
    Ok(Symbol {
        name: name.into_owned(),
        kind,
        uri: uri::canonical(&raw_uri),
        range,
        container_name: container_name.map(Cow::into_owned),
    })
}

fn range(ends: &Ends<'_>) -> Result<Range, &'static str> {
    let at = |end: &Object<Place<'_>>| match end {
        Object::Found(place) => Some(Position {
            line: integer(&place.line)?,
            character: integer(&place.character)?,
        }),
        _ => None,
    };
    match (at(&ends.start), at(&ends.end)) {
        (Some(start), Some(end)) => Ok(Range { start, end }),
        _ => Err("location.range must hold four non-negative integers"),
    }
}

/// A non-negative integer; `1.0` is one.
fn integer(value: &Leaf<'_>) -> Option<u32> {
    let Leaf::Number(number) = *value else {
        return None;
    };
    let fits = number.fract() == 0.0 && (0.0..=MAX_INTEGER).contains(&number);
    fits.then_some(number as u32)
}
