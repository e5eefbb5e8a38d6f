//! JSON read for a few of its members, without building the rest. A language server may answer with tens of thousands of symbols, and a tree of
//! values would take many times the memory of the text.
//!
//! Nothing here is an error of the reader: what has another shape than expected is told apart, and judged where the rules are. Of equal keys
//! the last one wins.

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// A member that is no structure.
#[derive(Debug, Default)]
pub enum Leaf<'a> {
    /// There is no such member.
    #[default]
    Missing,
    /// `null`.
    Null,
    /// A text.
    Text(Cow<'a, str>),
    /// A number.
    Number(f64),
    /// Anything else.
    Other,
}

/// A member that should be an object.
#[derive(Debug, Default)]
pub enum Object<T> {
    /// There is no such member.
    #[default]
    Missing,
    /// `null`.
    Null,
    /// An object.
    Found(T),
    /// Anything else.
    Other,
}

/// What is read of an object.
pub trait Members<'de>: Default {
    /// Takes in one member: reads its value from `access`, or has it [skipped](skip).
    ///
    /// # Errors
    /// The reader's.
    fn take<A: MapAccess<'de>>(&mut self, key: &str, access: &mut A) -> Result<(), A::Error>;
}

/// Reads over the value of a member.
///
/// # Errors
/// The reader's.
pub fn skip<'de, A: MapAccess<'de>>(access: &mut A) -> Result<(), A::Error> {
    access.next_value::<IgnoredAny>().map(drop)
}

impl<'de> Deserialize<'de> for Leaf<'de> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_any(LeafVisitor)
    }
}

struct LeafVisitor;

impl<'de> Visitor<'de> for LeafVisitor {
    type Value = Leaf<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Leaf::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Leaf::Other)
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Leaf::Number(number as f64))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Leaf::Number(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Leaf::Number(number))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Leaf::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Leaf::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
        IgnoredAny.visit_seq(items).map(|_| Leaf::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
        IgnoredAny.visit_map(members).map(|_| Leaf::Other)
    }
}

impl<'de, T: Members<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_any(ObjectVisitor(PhantomData))
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Members<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = Object<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Object::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Object::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Object::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Object::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Object::Other)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(Object::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
        IgnoredAny.visit_seq(items).map(|_| Object::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut found = T::default();
        while let Some(Key(key)) = members.next_key()? {
            found.take(&key, &mut members)?;
        }
        Ok(Object::Found(found))
    }
}

/// A key, copied only when it is written with escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_str(LeafVisitor).map(|leaf| match leaf {
            Leaf::Text(text) => Key(text),
            _ => Key(Cow::Borrowed("")),
        })
    }
}
