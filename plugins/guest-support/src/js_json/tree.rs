//! A tree of values that is bounded, and in which no key is special.

use super::{ParseError, read_with};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::cell::Cell;
use std::fmt;

/// Reads one value from a [`text`](super::text) into a tree that takes at most about `room` bytes.
///
/// `serde_json` reads an object with a certain key as what the text beside it says, so that its own `RawValue` can pass through a
/// [`Value`]. In foreign JSON that key is a key like any other, so the tree is built here.
pub fn value(text: &str, room: usize) -> Result<Value, ParseError> {
    let room = Cell::new(room);
    read_with(text, Tree { room: &room }).map_err(|error| match room.get() {
        0 => ParseError::TooLarge,
        _ => ParseError::Syntax(error),
    })
}

/// What a value takes besides its text.
const NODE_BYTES: usize = 64;

#[derive(Clone, Copy)]
struct Tree<'r> {
    room: &'r Cell<usize>,
}

impl Tree<'_> {
    fn take<E: Error>(self, text: &str) -> Result<(), E> {
        let left = self.room.get().saturating_sub(NODE_BYTES + text.len());
        self.room.set(left);
        if left == 0 {
            return Err(E::custom("it is too large"));
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Tree<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        self.take("").map(|()| Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        self.take("").map(|()| value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        self.take("").map(|()| value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        self.take("").map(|()| value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        self.take("")?;
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        self.take(text).map(|()| text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.take("")?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        self.take("")?;
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            self.take::<A::Error>(&key)?;
            object.insert(key, members.next_value_seed(self)?);
        }
        Ok(Value::Object(object))
    }
}
