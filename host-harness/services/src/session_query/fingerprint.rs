//! A fingerprint of everything in a `tool/result` except its block content.
//!
//! A later result may replace an earlier one only if nothing but the content differs (SPEC-sessions 5.4). The check would need
//! both events at once; a fingerprint lets a large log be read in one pass. Member order does not count, as in JSON equality.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::kinds::Format;

/// Two results with equal fingerprints differ in their content at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    /// The message's id. It is apart because old shapes inherit it from the event that they replace.
    pub id: u64,
    /// Everything else.
    pub rest: u64,
}

/// Fingerprints the `data` of a `tool/result`.
pub fn of(data: &str, format: Format) -> Fingerprint {
    let mut id = 0;
    let seed = Seed {
        place: Place::Data,
        format,
        id: &mut id,
    };
    let mut deserializer = serde_json::Deserializer::from_str(data);
    // What is nested too deeply for the parser is compared as text.
    let rest = seed
        .deserialize(&mut deserializer)
        .unwrap_or_else(|_| hash(&data));
    Fingerprint { id, rest }
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Data,
    Message,
    /// Format 0 wraps the content once more.
    Wrapper,
    Inside,
}

struct Seed<'i> {
    place: Place,
    format: Format,
    id: &'i mut u64,
}

fn hash<T: Hash + ?Sized>(value: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn number(value: f64) -> u64 {
    // The two zeros are equal.
    hash(&(value + 0.0).to_bits())
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = u64;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u64, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<u64, E> {
        Ok(1)
    }

    fn visit_bool<E>(self, value: bool) -> Result<u64, E> {
        Ok(2 + u64::from(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<u64, E> {
        Ok(number(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<u64, E> {
        Ok(number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<u64, E> {
        Ok(number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<u64, E> {
        Ok(hash(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<u64, A::Error> {
        let Self { place, format, id } = self;
        let mut hasher = DefaultHasher::new();
        let mut length = 0_usize;
        // Only the first block of a format 0 message is the wrapper; a sound one has no other.
        let place_of = |index: usize| {
            if place == Place::Wrapper && index == 0 {
                Place::Wrapper
            } else {
                Place::Inside
            }
        };
        while let Some(item) = seq.next_element_seed(Seed {
            place: place_of(length),
            format,
            id: &mut *id,
        })? {
            item.hash(&mut hasher);
            length += 1;
        }
        length.hash(&mut hasher);
        Ok(hasher.finish())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<u64, A::Error> {
        let Self { place, format, id } = self;
        let mut sum = 7_u64;
        while let Some(name) = map.next_key::<String>()? {
            let inner = match (place, name.as_str()) {
                (Place::Message, "id") => {
                    *id = map.next_value_seed(Seed {
                        place: Place::Inside,
                        format,
                        id: &mut 0,
                    })?;
                    continue;
                }
                (Place::Message, "content") if format == Format::V4 => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
                (Place::Wrapper, "content") => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
                (Place::Message, "content") => Place::Wrapper,
                (Place::Data, "message") => Place::Message,
                _ => Place::Inside,
            };
            let value = map.next_value_seed(Seed {
                place: inner,
                format,
                id: &mut *id,
            })?;
            sum = sum.wrapping_add(hash(&(name, value)));
        }
        Ok(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const V0: &str = r#"{"turn":1,"step":1,"message":{"id":"m","role":"user","content":[{"type":"tool-result","toolCallId":"c","content":[{"type":"text","text":"long"}],"isError":false}],"source":{"kind":"tool","callId":"c"}},"meta":{"a":[1,2],"b":null}}"#;
    const V4: &str = r#"{"turn":1,"step":1,"message":{"id":"m","role":"tool","toolCallId":"c","content":[{"type":"text","text":"long"}],"source":{"kind":"tool","callId":"c"}},"meta":{"a":[1,2],"b":null}}"#;

    #[test]
    fn the_content_does_not_count_and_everything_else_does() {
        for (data, format) in [(V0, Format::V0), (V4, Format::V4)] {
            let original = of(data, format);
            for same in [
                ("\"long\"", "\"cut\""),
                ("\"turn\":1,\"step\":1", "\"step\":1,\"turn\":1.0"),
            ] {
                assert_eq!(
                    of(&data.replacen(same.0, same.1, 1), format),
                    original,
                    "{same:?}"
                );
            }
            for other in [
                ("\"callId\":\"c\"", "\"callId\":\"d\""),
                ("[1,2]", "[2,1]"),
                ("\"b\":null", "\"b\":false"),
                ("\"step\":1", "\"step\":2"),
                ("\"meta\"", "\"more\""),
                ("\"step\":1,", ""),
            ] {
                assert_ne!(
                    of(&data.replacen(other.0, other.1, 1), format).rest,
                    original.rest,
                    "{other:?}"
                );
            }
            let renamed = of(&data.replacen("\"id\":\"m\"", "\"id\":\"n\"", 1), format);
            assert_eq!(renamed.rest, original.rest);
            assert_ne!(renamed.id, original.id);
        }
        let flagged = V0.replacen("\"isError\":false", "\"isError\":true", 1);
        assert_ne!(of(&flagged, Format::V0).rest, of(V0, Format::V0).rest);
    }
}
