//! Reading foreign JSON as a tree in which no key is special.
//!
//! Session logs are read with `serde_json`'s `RawValue`. The feature that gives it changes how [`Value`] reads: an object whose first key is
//! `$serde_json::private::RawValue` is then taken for JSON text that waits to be parsed, so that it becomes another value or an error. A key in
//! a session log, in a model's arguments or in a tool's answer may be any text, this one included. So JSON that this program did not write is
//! never read as a [`Value`], nor is a type that holds one: it is read as a [`Tree`].

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// A value that was read without special keys. In everything else it reads as [`Value`] does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree(pub Value);

/// Reads JSON text.
///
/// # Errors
/// The text is no JSON, holds a number beyond a double or half a surrogate pair, or nests too deeply.
pub fn parse(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(text).map(|Tree(value)| value)
}

/// Reads JSON text that is yet to be found valid UTF-8.
///
/// # Errors
/// As [`parse`], and the strings are no UTF-8.
pub fn parse_slice(text: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(text).map(|Tree(value)| value)
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_any(TreeVisitor).map(Self)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    // YAML has integers of this size. What does not fit into 64 bits is refused, as it is for `Value`.
    fn visit_u128<E: Error>(self, value: u128) -> Result<Value, E> {
        let number = Number::from_u128(value);
        number.map(Value::Number).ok_or_else(out_of_range)
    }

    fn visit_i128<E: Error>(self, value: i128) -> Result<Value, E> {
        let number = Number::from_i128(value);
        number.map(Value::Number).ok_or_else(out_of_range)
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(Tree(item)) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some((name, Tree(value))) = map.next_entry()? {
            members.insert(name, value);
        }
        Ok(Value::Object(members))
    }
}

fn out_of_range<E: Error>() -> E {
    E::custom("JSON number out of range")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;
    use serde_json::value::RawValue;

    const KEY: &str = "$serde_json::private::RawValue";

    fn values(keys: &'static [&'static str]) -> impl Strategy<Value = Value> {
        let scalar = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,4}".prop_map(Value::from),
            // Texts that would be JSON themselves.
            prop::sample::select(vec!["5", "{}", "[1", "null"]).prop_map(Value::from),
        ];
        scalar.prop_recursive(5, 32, 4, move |part| {
            let key = prop::sample::select(keys.to_vec());
            prop_oneof![
                prop::collection::vec(part.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(key, part, 0..3).prop_map(|members| json!(members)),
            ]
        })
    }

    proptest! {
        #[test]
        fn other_texts_read_as_they_do_for_serde_json(
            value in values(&["", "a", "b", "$serde_json::private::Number"]),
            at in any::<prop::sample::Index>(),
            byte in prop::option::of(prop::sample::select(b"{}[],:\"\\u0eE.-9 a\x00".to_vec())),
        ) {
            let mut text = value.to_string().into_bytes();
            let at = at.index(text.len());
            if let Some(byte) = byte {
                text[at] = byte;
            }
            let expected = serde_json::from_slice::<Value>(&text).map_err(|error| error.to_string());
            prop_assert_eq!(parse_slice(&text).map_err(|error| error.to_string()), expected.clone());
            if let Ok(text) = std::str::from_utf8(&text) {
                prop_assert_eq!(parse(text).map_err(|error| error.to_string()), expected);
            }
        }

        #[test]
        fn no_key_is_special(value in values(&["a", KEY, "z"])) {
            let text = value.to_string();
            prop_assert_eq!(parse(&text).unwrap().to_string(), text.as_str());
            prop_assert_eq!(&parse_slice(text.as_bytes()).unwrap(), &value);
            // A tree that is built already is read by the same rules.
            prop_assert_eq!(serde_json::from_value::<Tree>(value.clone()).unwrap().0, value);
        }
    }

    #[test]
    fn the_key_is_an_ordinary_one_at_every_place_and_for_every_member() {
        for member in ["5", "\"5\"", "\"[\"", "null", "true", "{}", "[1]", "1.5"] {
            for text in [
                format!(r#"{{"{KEY}":{member}}}"#),
                format!(r#"[{{"{KEY}":{member}}}]"#),
                format!(r#"{{"{KEY}":{{"{KEY}":{member}}}}}"#),
            ] {
                assert_eq!(parse(&text).unwrap().to_string(), text);
            }
            let escaped = format!(r#"{{"\u0024serde_json::private::RawValue":{member}}}"#);
            assert!(parse(&escaped).unwrap().get(KEY).is_some(), "{escaped}");
        }
        let twice = format!(r#"{{"{KEY}":"1","{KEY}":"2"}}"#);
        assert_eq!(parse(&twice).unwrap(), json!({ KEY: "2" }));
    }

    /// Why this module is needed, and why the rows of a log are not read through it.
    #[test]
    fn serde_json_takes_the_key_for_raw_text_in_values_alone() {
        let text = format!(r#"{{"{KEY}":"5"}}"#);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), 5);
        assert!(serde_json::from_str::<Value>(&format!(r#"{{"{KEY}":5}}"#)).is_err());
        let raw: &RawValue = serde_json::from_str(&text).unwrap();
        assert_eq!(raw.get(), text);

        #[derive(serde::Deserialize)]
        struct Row<'a> {
            #[serde(borrow)]
            data: &'a RawValue,
        }
        for member in ["5", "\"5\"", "{}"] {
            let data = format!(r#"{{"{KEY}":{member}}}"#);
            let row = format!(r#"{{"data":{data}}}"#);
            assert_eq!(
                serde_json::from_str::<Row<'_>>(&row).unwrap().data.get(),
                data
            );
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(parse(&deep(127)).is_ok());
        for levels in [128, 1 << 20] {
            assert!(
                parse(&deep(levels))
                    .unwrap_err()
                    .to_string()
                    .contains("recursion limit")
            );
        }
    }
}
