//! The two members of an envelope that place an event on the surface: `surfaceOp` and `sourceEventSeqs` (SPEC-sessions 5.1).

use std::collections::HashSet;

use serde_json::Value;
use serde_json::value::RawValue;

use super::js::is_safe_integer;
use super::kinds::Format;
use crate::json;

/// What an event does to the surface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SurfaceOp {
    /// The envelope has no marker.
    Missing,
    /// The event goes to the end.
    Append,
    /// The event takes the place of the nodes from `start` to `end`.
    Replace { start: u64, end: u64 },
    /// A marker that is none of these; the text says how it fails.
    Invalid(&'static str),
}

/// The events that an event was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sources {
    /// The envelope names none.
    Missing,
    /// Their numbers, in recorded order, each earlier than the event and none twice.
    List(Vec<u64>),
    /// A list that breaks a rule.
    Invalid(String),
}

fn count(value: &Value) -> Option<u64> {
    value
        .as_f64()
        .filter(|number| is_safe_integer(*number) && *number >= 0.0)
        .map(|number| number as u64)
}

/// Reads a `surfaceOp`. The formats name the ends of a replaced range differently.
pub fn surface_op(value: Option<&RawValue>, format: Format) -> SurfaceOp {
    let Some(text) = value.map(RawValue::get) else {
        return SurfaceOp::Missing;
    };
    if text == "\"append\"" {
        return SurfaceOp::Append;
    }
    match json::parse(text) {
        Ok(Value::String(name)) if name == "append" => SurfaceOp::Append,
        Ok(Value::Object(op)) => {
            let (start, end) = match format {
                Format::V0 => ("start", "end"),
                Format::V4 => ("startSeq", "endSeq"),
            };
            let seq = |name: &str| op.get(name).and_then(count);
            match (seq(start), seq(end)) {
                (Some(start), Some(end))
                    if op.len() == 3 && op.get("op").is_some_and(|op| op == "replace") =>
                {
                    SurfaceOp::Replace { start, end }
                }
                _ => SurfaceOp::Invalid("an invalid replace surfaceOp"),
            }
        }
        _ => SurfaceOp::Invalid("an invalid surfaceOp"),
    }
}

/// Reads the sources of the event with the given number. In format 4 an entry may be an inclusive range.
pub fn sources(value: Option<&RawValue>, format: Format, seq: u64) -> Sources {
    let Some(text) = value.map(RawValue::get) else {
        return Sources::Missing;
    };
    // Nearly every list is plain and ascending.
    if let Ok(list) = serde_json::from_str::<Vec<u64>>(text)
        && list.is_sorted_by(|a, b| a < b)
        && list.last().is_none_or(|last| *last < seq)
    {
        return Sources::List(list);
    }
    match expand(text, format, seq) {
        Ok(list) => Sources::List(list),
        Err(why) => Sources::Invalid(why),
    }
}

fn expand(text: &str, format: Format, seq: u64) -> Result<Vec<u64>, String> {
    let Ok(Value::Array(entries)) = json::parse(text) else {
        return Err(format!(
            "sourceEventSeqs on event at seq {seq} must be an array when present"
        ));
    };
    let not_a_number = "sourceEventSeqs must densely contain non-negative safe integers";
    let mut list = Vec::with_capacity(entries.len());
    let mut has_range = false;
    for entry in &entries {
        match entry {
            Value::Array(range) if format == Format::V4 => {
                let &[start, end] = range
                    .iter()
                    .map(count)
                    .collect::<Option<Vec<_>>>()
                    .unwrap_or_default()
                    .as_slice()
                else {
                    return Err("sourceEventSeqs range must be a [start, end] pair".to_owned());
                };
                // Checked before it is expanded: a range may claim any length.
                if start > end || end >= seq || end - start >= seq.saturating_sub(list.len() as u64)
                {
                    return Err("sourceEventSeqs range exceeds its event seq".to_owned());
                }
                list.extend(start..=end);
                has_range = true;
            }
            _ => list.push(count(entry).ok_or(not_a_number)?),
        }
    }
    let mut seen = HashSet::with_capacity(list.len());
    if !list.iter().all(|source| seen.insert(source)) {
        return Err("sourceEventSeqs must not contain duplicates".to_owned());
    }
    if let Some(source) = list.iter().find(|source| **source >= seq) {
        return Err(format!(
            "sourceEventSeqs must reference earlier events: {source} >= current seq {seq}"
        ));
    }
    if has_range && !list.is_sorted() {
        return Err("sourceEventSeqs ranges must be strictly increasing".to_owned());
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        serde_json::from_str(text).expect("JSON")
    }

    #[test]
    fn markers() {
        let op = |text: &str, format| surface_op(Some(&raw(text)), format);
        assert_eq!(surface_op(None, Format::V0), SurfaceOp::Missing);
        assert_eq!(op("\"append\"", Format::V0), SurfaceOp::Append);
        assert_eq!(op("\"\\u0061ppend\"", Format::V0), SurfaceOp::Append);
        let v0 = r#"{"op":"replace","start":3,"end":4.0}"#;
        let v4 = r#"{"op":"replace","startSeq":3,"endSeq":4}"#;
        assert_eq!(op(v0, Format::V0), SurfaceOp::Replace { start: 3, end: 4 });
        assert_eq!(op(v4, Format::V4), SurfaceOp::Replace { start: 3, end: 4 });
        for (text, format) in [
            (v0, Format::V4),
            (v4, Format::V0),
            ("null", Format::V0),
            ("\"prepend\"", Format::V4),
            ("[]", Format::V4),
            (r#"{"op":"replace","start":3,"end":4,"more":1}"#, Format::V0),
            (r#"{"op":"replace","start":-3,"end":4}"#, Format::V0),
            (r#"{"op":"cut","start":3,"end":4}"#, Format::V0),
            (
                r#"{"$serde_json::private::RawValue":"\"append\""}"#,
                Format::V4,
            ),
        ] {
            assert!(matches!(op(text, format), SurfaceOp::Invalid(_)), "{text}");
        }
    }

    #[test]
    fn source_lists() {
        let list = |text: &str, format| sources(Some(&raw(text)), format, 10);
        assert_eq!(sources(None, Format::V0, 10), Sources::Missing);
        assert_eq!(list("[]", Format::V0), Sources::List(vec![]));
        assert_eq!(list("[5,3]", Format::V0), Sources::List(vec![5, 3]));
        assert_eq!(
            list("[1,[3,5],9.0]", Format::V4),
            Sources::List(vec![1, 3, 4, 5, 9])
        );
        for (text, format) in [
            ("{}", Format::V0),
            ("[[1,2]]", Format::V0),
            ("[1,1]", Format::V4),
            ("[10]", Format::V4),
            ("[-1]", Format::V0),
            ("[1.5]", Format::V4),
            ("[[5,3]]", Format::V4),
            ("[[3,10]]", Format::V4),
            ("[[3]]", Format::V4),
            ("[5,[1,2]]", Format::V4),
            ("[[1,3],[2,4]]", Format::V4),
            ("[[0,9007199254740990]]", Format::V4),
            (r#"{"$serde_json::private::RawValue":"[3]"}"#, Format::V4),
        ] {
            assert!(matches!(list(text, format), Sources::Invalid(_)), "{text}");
        }
    }
}
