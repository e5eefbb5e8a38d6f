//! One line of a log as JSON, before anything is asked of it (SPEC-sessions 4.1).

use std::borrow::Cow;

use serde::de::MapAccess;
use serde_json::value::RawValue;

use super::view::{Lax, View, skip};

/// The members of a line. Every value is still text: which of them matter depends on the event's type.
#[derive(Debug, Default)]
pub struct Row<'a> {
    pub kind: Option<&'a RawValue>,
    pub seq: Option<&'a RawValue>,
    pub time: Option<&'a RawValue>,
    pub data: Option<&'a RawValue>,
    pub surface_op: Option<&'a RawValue>,
    pub sources: Option<&'a RawValue>,
    pub ignorable: Option<&'a RawValue>,
    pub seq0: Option<&'a RawValue>,
    pub time0: Option<&'a RawValue>,
    /// The first member that no envelope knows.
    pub unexpected: Option<String>,
}

impl<'de> View<'de> for Row<'de> {
    fn member<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        let slot = match name {
            "type" => &mut self.kind,
            "seq" => &mut self.seq,
            "time" => &mut self.time,
            "data" => &mut self.data,
            "surfaceOp" => &mut self.surface_op,
            "sourceEventSeqs" => &mut self.sources,
            "ignorable" => &mut self.ignorable,
            "seq0" => &mut self.seq0,
            "time0" => &mut self.time0,
            _ => {
                self.unexpected.get_or_insert_with(|| name.to_owned());
                return skip(map);
            }
        };
        *slot = Some(map.next_value()?);
        Ok(())
    }
}

/// What a line turned out to be.
pub enum Line<'a> {
    /// Not JSON.
    Unparsable,
    /// JSON, but not an object.
    NotObject {
        /// Whether it is `null`, at which one of the engines stumbles.
        null: bool,
    },
    /// An object.
    Row(Row<'a>),
}

/// Reads one line. The text has been through [`repair`](super::repair::lone_surrogates).
pub fn parse(text: &str) -> Line<'_> {
    match serde_json::from_str::<Lax<Row<'_>>>(text) {
        Ok(Lax(Some(row))) => Line::Row(row),
        Ok(Lax(None)) => Line::NotObject {
            null: text.trim_matches([' ', '\t', '\r', '\n']) == "null",
        },
        // A scalar that serde_json cannot hold, such as 1e400, is still JSON.
        Err(_) if serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() => {
            Line::NotObject { null: false }
        }
        Err(_) => Line::Unparsable,
    }
}

/// The number, when the value is one. A number beyond a double is infinite, as in JavaScript.
pub fn number(value: Option<&RawValue>) -> Option<f64> {
    let text = value?.get();
    if !text.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
        return None;
    }
    match text.parse::<i64>() {
        Ok(whole) if whole != 0 => Some(whole as f64),
        _ => text.parse().ok(),
    }
}

/// The string, when the value is one.
pub fn string(value: Option<&RawValue>) -> Option<Cow<'_, str>> {
    let text = value?.get();
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        serde_json::from_str(text).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inner))
    }
}

/// Whether the value is exactly `true`.
pub fn is_true(value: Option<&RawValue>) -> bool {
    value.is_some_and(|value| value.get() == "true")
}
