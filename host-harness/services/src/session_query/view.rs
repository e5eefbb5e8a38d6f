//! Reading JSON as a program without types would: a member may have any shape, and only its use decides whether that matters.
//!
//! `serde_json::Value` would do the same and cost several times the time and memory on large logs.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A member of which only a scalar value is of interest.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Scalar<'a> {
    /// The object has no such member.
    #[default]
    Missing,
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// Any number.
    Number(f64),
    /// A string.
    Str(Cow<'a, str>),
    /// An array, whatever it holds.
    Array,
    /// An object, whatever it holds.
    Object,
}

impl Scalar<'_> {
    /// The string, when it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The string, when it is one and not empty.
    pub fn non_empty(&self) -> Option<&str> {
        self.as_str().filter(|text| !text.is_empty())
    }

    /// Whether the member exists.
    pub fn is_present(&self) -> bool {
        *self != Self::Missing
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Scalar::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Scalar::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Scalar::Number(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Scalar::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Scalar::Number(value))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(Scalar::Str(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Scalar::Str(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Array)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Object)
    }
}

impl<'de> Deserialize<'de> for Scalar<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

/// A member's name, borrowed from the text unless it holds escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.deserialize_str(ScalarVisitor)? {
            Scalar::Str(name) => Ok(Self(name)),
            _ => Err(serde::de::Error::custom("a member name must be a string")),
        }
    }
}

/// What is kept of an object.
pub trait View<'de>: Default {
    /// Takes the value of one member from the map; members that do not matter go through [`skip`]. A name that occurs twice is
    /// offered twice: the last one wins, as in JavaScript.
    fn member<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error>;
}

/// Reads and forgets the value of a member.
pub fn skip<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(), A::Error> {
    map.next_value::<IgnoredAny>().map(drop)
}

/// An object, or `None` for anything else.
#[derive(Debug, Clone, PartialEq)]
pub struct Lax<T>(pub Option<T>);

impl<T> Default for Lax<T> {
    fn default() -> Self {
        Self(None)
    }
}

/// The items of an array, or `None` for anything else.
#[derive(Debug, Clone, PartialEq)]
pub struct List<T>(pub Option<Vec<T>>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(None)
    }
}

struct LaxVisitor<T>(PhantomData<T>);
struct ListVisitor<T>(PhantomData<T>);

/// The scalar half of a visitor that gives `None` for every scalar.
macro_rules! scalars_are_none {
    ($wrapper:ident) => {
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("any JSON value")
        }
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok($wrapper(None))
        }
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok($wrapper(None))
        }
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok($wrapper(None))
        }
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok($wrapper(None))
        }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok($wrapper(None))
        }
        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
            Ok($wrapper(None))
        }
    };
}

impl<'de, T: View<'de>> Visitor<'de> for LaxVisitor<T> {
    type Value = Lax<T>;

    scalars_are_none!(Lax);

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Lax(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut view = T::default();
        while let Some(Key(name)) = map.next_key()? {
            view.member(&name, &mut map)?;
        }
        Ok(Lax(Some(view)))
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = List<T>;

    scalars_are_none!(List);

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(List(Some(items)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(List(None))
    }
}

impl<'de, T: View<'de>> Deserialize<'de> for Lax<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LaxVisitor(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ListVisitor(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq)]
    struct Named<'a> {
        name: Scalar<'a>,
        parts: List<Lax<Named<'a>>>,
    }

    impl<'de> View<'de> for Named<'de> {
        fn member<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
            match name {
                "name" => self.name = map.next_value()?,
                "parts" => self.parts = map.next_value()?,
                _ => skip(map)?,
            }
            Ok(())
        }
    }

    fn read(text: &str) -> Lax<Named<'_>> {
        serde_json::from_str(text).expect("valid JSON")
    }

    #[test]
    fn any_shape_is_read() {
        for text in ["null", "true", "-1", "1", "1.5", "\"x\"", "[{\"name\":1}]"] {
            assert_eq!(read(text), Lax(None), "{text}");
        }
        let view = read(
            r#"{"name":"a","n\u0061me":"b","parts":[1,{"name":null},[],{"parts":{}}],"other":{"deep":[1]}}"#,
        );
        let Lax(Some(view)) = view else {
            unreachable!()
        };
        assert_eq!(view.name.as_str(), Some("b"));
        let parts = view.parts.0.expect("a list");
        assert_eq!(parts.len(), 4);
        assert_eq!(
            parts[1].0.as_ref().map(|part| part.name.clone()),
            Some(Scalar::Null)
        );
        assert_eq!(
            parts[3].0.as_ref().map(|part| part.parts.0.is_none()),
            Some(true)
        );
        assert_eq!(parts[0], Lax(None));
    }

    #[test]
    fn skipped_members_may_be_as_deep_as_they_like() {
        let deep = format!(
            "{{\"other\":{}{},\"name\":\"x\"}}",
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        assert_eq!(
            read(&deep)
                .0
                .and_then(|view| view.name.as_str().map(str::to_owned)),
            Some("x".to_owned())
        );
    }
}
