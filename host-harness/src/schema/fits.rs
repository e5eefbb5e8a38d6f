//! Whether a text is JSON that fits a schema, read once and without a tree of its values: an answer may have tens of thousands of them.

use super::violations::{MAX_DEPTH, Rules, validate_value};
use dsh_services::json::Tree;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;

/// Whether `text` is a value of this schema. A `true` is certain: [`parse`] reads the text, and [`violations`] finds nothing in its value.
/// A `false` only means that they have to look: they alone can say why, and judge a text whose equal keys contradict each other.
///
/// [`parse`]: dsh_services::json::parse
/// [`violations`]: super::violations
pub fn fits(schema: &Value, text: &str) -> bool {
    let mut reader = serde_json::Deserializer::from_str(text);
    let root = Described { schema, depth: 0 };
    root.deserialize(&mut reader).is_ok() && reader.end().is_ok()
}

/// A value that a schema describes. What does not fit is an error of the reader, because nothing after it matters.
struct Described<'s> {
    schema: &'s Value,
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Described<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        let Self { schema, depth } = self;
        if depth > MAX_DEPTH {
            return Err(unfit());
        }
        let Value::Object(members) = schema else {
            return anything(reader);
        };
        let rules = Rules::of(members);
        match rules.kind {
            Some(kind) if rules.is_of_types_alone() => {
                reader.deserialize_any(Typed { kind, rules, depth })
            }
            // Shapes to choose from and values to compare with are rare and small.
            _ if validate_value(schema, &Tree::deserialize(reader)?.0, depth) => Ok(()),
            _ => Err(unfit()),
        }
    }
}

/// Reads a value that nothing is said about. It is built, not skipped: skipping lets pass what cannot be read.
fn anything<'de, D: Deserializer<'de>>(reader: D) -> Result<(), D::Error> {
    Tree::deserialize(reader).map(drop)
}

fn unfit<E: Error>() -> E {
    E::custom("it does not fit")
}

/// The next value has a type, and its parts may be described.
struct Typed<'s> {
    kind: &'s str,
    rules: Rules<'s>,
    depth: usize,
}

impl Typed<'_> {
    fn must_be<E: Error>(&self, kinds: &[&str]) -> Result<(), E> {
        if kinds.contains(&self.kind) {
            Ok(())
        } else {
            Err(unfit())
        }
    }
}

impl<'de> Visitor<'de> for Typed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind)
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.must_be(&["null"])
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.must_be(&["boolean"])
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        self.must_be(&["integer", "number"])
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        self.must_be(&["integer", "number"])
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        if number.fract() == 0.0 {
            self.must_be(&["integer", "number"])
        } else {
            self.must_be(&["number"])
        }
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        self.must_be(&["string"])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.must_be(&["array"])?;
        let Some(schema) = self.rules.items else {
            while items.next_element::<Tree>()?.is_some() {}
            return Ok(());
        };
        let depth = self.depth + 1;
        while items
            .next_element_seed(Described { schema, depth })?
            .is_some()
        {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        self.must_be(&["object"])?;
        let Self { rules, depth, .. } = self;
        let mut missing: Vec<&str> = rules.required.iter().filter_map(Value::as_str).collect();
        while let Some(Key(name)) = members.next_key()? {
            missing.retain(|required| *required != name);
            let property = rules.properties.and_then(|known| known.get(name.as_ref()));
            match property {
                Some(schema) => members.next_value_seed(Described {
                    schema,
                    depth: depth + 1,
                })?,
                None if rules.closed => return Err(unfit()),
                None => members.next_value::<Tree>().map(drop)?,
            }
        }
        if missing.is_empty() {
            Ok(())
        } else {
            Err(unfit())
        }
    }
}

/// A key, copied only when it is written with escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_str(KeyVisitor).map(Self)
    }
}

struct KeyVisitor;

impl<'de> Visitor<'de> for KeyVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::violations;
    use proptest::prelude::*;
    use serde_json::json;

    /// The judgement that a tree of values gets.
    fn judged(schema: &Value, text: &str) -> bool {
        dsh_services::json::parse(text)
            .is_ok_and(|value| violations(schema, &value, "value").is_empty())
    }

    fn scalars() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-2_i64..3).prop_map(Value::from),
            prop_oneof![Just(0.5), Just(2.0), Just(1e300)].prop_map(Value::from),
            "[ab\"\\\\]{0,2}".prop_map(Value::from),
        ]
    }

    /// Now and then the one key that would be special in a [`Value`].
    fn keys() -> impl Strategy<Value = String> {
        prop_oneof![6 => "[abc]", 1 => Just("$serde_json::private::RawValue".to_owned())]
    }

    fn values() -> impl Strategy<Value = Value> {
        scalars().prop_recursive(4, 24, 3, |part| {
            prop_oneof![
                prop::collection::vec(part.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map(keys(), part, 0..3).prop_map(|members| json!(members)),
            ]
        })
    }

    fn schemas() -> impl Strategy<Value = Value> {
        let kinds = [
            "null", "boolean", "integer", "number", "string", "array", "object",
        ];
        let kind = move || prop::sample::select(kinds.to_vec());
        let leaf = prop_oneof![
            4 => kind().prop_map(|kind| json!({"type": kind})),
            1 => (kind(), scalars()).prop_map(|(kind, one)| json!({"type": kind, "enum": [one]})),
            1 => (kind(), values()).prop_map(|(kind, one)| json!({"type": kind, "const": one})),
            1 => prop::collection::vec(scalars(), 1..4).prop_map(|all| json!({"enum": all})),
            1 => values().prop_map(|value| json!({"const": value})),
        ];
        leaf.prop_recursive(3, 16, 3, |part| {
            let properties = prop::collection::btree_map(keys(), part.clone(), 0..3);
            let required = prop::collection::btree_set(keys(), 0..2);
            prop_oneof![
                part.clone()
                    .prop_map(|items| json!({"type": "array", "items": items})),
                prop::collection::vec(part, 2..4).prop_map(|choices| json!({"oneOf": choices})),
                (properties, required, any::<bool>()).prop_map(|(properties, required, open)| {
                    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": open})
                }),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn a_text_fits_when_its_tree_has_no_violations(schema in schemas(), value in values()) {
            prop_assert_eq!(fits(&schema, &value.to_string()), judged(&schema, &value.to_string()));
        }

        #[test]
        fn damaged_text_fits_only_when_its_tree_does(
            schema in schemas(), value in values(), at in any::<prop::sample::Index>(), byte in prop::sample::select(b"{}[],:\"\\u0eE.-9 a".to_vec()),
        ) {
            let mut text = value.to_string().into_bytes();
            let at = at.index(text.len());
            text[at] = byte;
            let text = String::from_utf8_lossy(&text);
            prop_assert!(!fits(&schema, &text) || judged(&schema, &text), "{} {}", schema, text);
        }
    }

    /// Whatever the schema says of a place, and if it says nothing.
    #[test]
    fn what_cannot_be_read_as_a_value_never_fits() {
        let open = json!({"type": "object"});
        let list = json!({"type": "array"});
        let typed = json!({"type": "object", "properties": {"a": {"type": "string"}, "n": {"type": "number"}}});
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(fits(&list, &deep(127)));
        for (schema, text) in [
            (&open, r#"{"x": 1e999}"#.to_owned()),
            (&open, r#"{"x": "\ud800"}"#.to_owned()),
            (&open, r#"{"\ud800": 1}"#.to_owned()),
            (&typed, r#"{"n": 1e999}"#.to_owned()),
            (&typed, r#"{"a": "\ud800"}"#.to_owned()),
            (&open, format!("{{\"x\": {}}}", deep(128))),
            (&list, deep(128)),
            (&list, deep(1 << 20)),
            (&open, "{} {}".to_owned()),
            (&open, String::new()),
        ] {
            let start = text.get(..40).unwrap_or(&text);
            assert!(!judged(schema, &text), "{start}");
            assert!(!fits(schema, &text), "{start}");
        }
    }

    #[test]
    fn no_key_is_special() {
        let key = "$serde_json::private::RawValue";
        let open = json!({"type": "object"});
        let number = json!({"type": "number"});
        let typed = json!({"type": "object", "properties": {"x": {"type": "object"}}});
        let listed = json!({"type": "object", "properties": {"x": {"type": "array"}}});
        let chosen = json!({"oneOf": [open, number]});
        let closed = json!({"type": "object", "properties": {key: number}, "required": [key], "additionalProperties": false});
        for member in ["5", "\"5\"", "\"x\"", "{}", "[5]"] {
            let text = format!(r#"{{"{key}":{member}}}"#);
            let inner = format!(r#"{{"x":{text}}}"#);
            for (schema, text, expected) in [
                (&open, &text, true),
                (&open, &inner, true),
                (&number, &text, false),
                (&typed, &inner, true),
                (&listed, &inner, false),
                (&chosen, &text, true),
                (&closed, &text, member == "5"),
                (&json!({}), &inner, true),
                (&json!({"enum": [5, "5"]}), &text, false),
            ] {
                assert_eq!(judged(schema, text), expected, "{schema} {text}");
                assert_eq!(fits(schema, text), expected, "{schema} {text}");
            }
        }
    }

    #[test]
    fn nothing_is_judged_deeper_than_the_tree_is() {
        let nested = |levels: usize| {
            let list = |items: Value, _| json!({"type": "array", "items": items});
            let schema = (0..levels).fold(json!({"type": "null"}), list);
            (
                schema,
                format!("{}null{}", "[".repeat(levels), "]".repeat(levels)),
            )
        };
        for levels in [MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1, MAX_DEPTH + 2] {
            let (schema, text) = nested(levels);
            assert_eq!(judged(&schema, &text), levels <= MAX_DEPTH);
            assert_eq!(fits(&schema, &text), levels <= MAX_DEPTH);
        }
    }

    #[test]
    fn of_equal_keys_none_may_be_unfit() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        assert!(fits(&schema, r#"{"a": "1", "a": "2"}"#));
        assert!(!fits(&schema, r#"{"a": 1, "a": "2"}"#));
        assert!(!fits(&schema, r#"{"a": "1", "a": 2}"#));
    }
}
