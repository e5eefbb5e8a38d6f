//! JSON as JavaScript reads and writes it.
//!
//! The other end of every text here is a JavaScript program or a program written for one, and `serde_json` differs from `JSON` in three ways
//! that real data meets: unpaired surrogate escapes, nesting below 128 levels, and how numbers are printed.

mod tree;

pub use tree::value;

use memchr::{memchr, memchr2};
use serde::de::DeserializeSeed;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::ser::{CompactFormatter, Formatter};
use std::borrow::Cow;
use std::io;
use std::marker::PhantomData;

/// How deeply arrays and objects may nest. JavaScript has no such bound; a component's stack has, and overrunning it is a trap.
pub const MAX_DEPTH: usize = 600;

/// Why a text is no JSON value.
#[derive(Debug)]
pub enum ParseError {
    /// The text breaks the grammar, or holds a number beyond the range of a double.
    Syntax(serde_json::Error),
    /// Arrays and objects nest deeper than [`MAX_DEPTH`].
    TooDeep,
    /// The value takes more memory than the reader has room for.
    TooLarge,
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ParseError::Syntax(error) => error.fmt(f),
            ParseError::TooDeep => write!(f, "nesting is deeper than {MAX_DEPTH} levels"),
            ParseError::TooLarge => f.write_str("it is too large"),
        }
    }
}

impl std::error::Error for ParseError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ParseError::Syntax(error) => Some(error),
            ParseError::TooDeep | ParseError::TooLarge => None,
        }
    }
}

/// Parses one JSON value as `JSON.parse` would read the decoded text.
///
/// Bytes that are not UTF-8 and unpaired surrogate escapes become U+FFFD. Of equal keys the last one wins.
pub fn parse(bytes: &[u8]) -> Result<Value, ParseError> {
    value(&text(bytes)?, usize::MAX)
}

/// The text that [`parse`] reads, decoded and repaired, and known not to nest too deeply. It need not be JSON.
pub fn text(bytes: &[u8]) -> Result<Cow<'_, str>, ParseError> {
    let text = match str::from_utf8(bytes) {
        Ok(text) => repair_surrogates(text),
        Err(_) => {
            let text = String::from_utf8_lossy(bytes);
            match repair_surrogates(&text) {
                Cow::Owned(repaired) => Cow::Owned(repaired),
                // A large text is not copied once more.
                Cow::Borrowed(_) => Cow::Owned(text.into_owned()),
            }
        }
    };
    if depth(text.as_bytes()) > MAX_DEPTH {
        return Err(ParseError::TooDeep);
    }
    Ok(text)
}

/// Reads one value from a [`text`], without a bound of its own on nesting.
pub fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, ParseError> {
    read_with(text, PhantomData).map_err(ParseError::Syntax)
}

fn read_with<'a, S: DeserializeSeed<'a>>(text: &'a str, seed: S) -> serde_json::Result<S::Value> {
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.disable_recursion_limit();
    let value = seed.deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// Replaces every escape of an unpaired surrogate by `\ufffd`, which is as long: positions and UTF-16 lengths stay what they were.
fn repair_surrogates(text: &str) -> Cow<'_, str> {
    let mut bytes = Cow::Borrowed(text.as_bytes());
    let mut at = 0;
    while let Some(ahead) = bytes.get(at..).and_then(|rest| memchr(b'\\', rest)) {
        at += ahead;
        match escaped_unit(&bytes, at) {
            Some(0xD800..=0xDBFF)
                if matches!(escaped_unit(&bytes, at + 6), Some(0xDC00..=0xDFFF)) =>
            {
                at += 12
            }
            Some(0xD800..=0xDFFF) => {
                bytes.to_mut()[at + 2..at + 6].copy_from_slice(b"fffd");
                at += 6;
            }
            Some(_) => at += 6,
            None => at += 2,
        }
    }
    match bytes {
        Cow::Borrowed(_) => Cow::Borrowed(text),
        // Only ASCII was replaced by ASCII, so nothing is lost here.
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

/// The UTF-16 unit that the escape `\uXXXX` at `at` stands for.
fn escaped_unit(bytes: &[u8], at: usize) -> Option<u16> {
    let escape = bytes.get(at..at + 6)?;
    let digits = escape.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit, digit| {
        Some(unit * 16 + char::from(*digit).to_digit(16)? as u16)
    })
}

/// The deepest nesting of brackets outside strings.
fn depth(bytes: &[u8]) -> usize {
    let (mut now, mut deepest, mut at) = (0_usize, 0, 0);
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => at += string_length(bytes.get(at..).unwrap_or_default()),
            b'[' | b'{' => {
                now += 1;
                deepest = deepest.max(now);
            }
            b']' | b'}' => now = now.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// How many bytes are left of a string, its closing quote included. Most of a message is strings, so they are leapt over.
fn string_length(rest: &[u8]) -> usize {
    let mut at = 0;
    while let Some(ahead) = rest.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += ahead + 1;
        if rest.get(at - 1) == Some(&b'"') {
            return at;
        }
        // Whatever is escaped does not end the string.
        at += 1;
    }
    rest.len()
}

/// The text that `JSON.stringify` gives for a value that serialises to plain JSON: strings, numbers, lists and string-keyed maps.
///
/// Keys come in the order in which `value` names them. A value that refuses to be serialised gives `null`, as JavaScript does for what it
/// cannot express inside an array.
pub fn stringify<T: Serialize + ?Sized>(value: &T) -> String {
    let mut out = Vec::with_capacity(256);
    write(&mut out, value);
    String::from_utf8(out).unwrap_or_else(|_| NULL.to_owned())
}

/// Appends what [`stringify()`] gives.
pub fn write<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let before = out.len();
    let mut writer = serde_json::Serializer::with_formatter(&mut *out, JsFormatter);
    if value.serialize(&mut writer).is_err() {
        out.truncate(before);
        out.extend_from_slice(NULL.as_bytes());
    }
}

const NULL: &str = "null";

/// Compact JSON whose numbers are doubles printed as `Number.prototype.toString` prints them.
struct JsFormatter;

impl Formatter for JsFormatter {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(number(value).as_bytes())
    }

    fn write_f32<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f32) -> io::Result<()> {
        self.write_f64(writer, f64::from(value))
    }

    fn write_u64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: u64) -> io::Result<()> {
        if value < SAFE_INTEGERS {
            CompactFormatter.write_u64(writer, value)
        } else {
            self.write_f64(writer, value as f64)
        }
    }

    fn write_i64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: i64) -> io::Result<()> {
        if value.unsigned_abs() < SAFE_INTEGERS {
            CompactFormatter.write_i64(writer, value)
        } else {
            self.write_f64(writer, value as f64)
        }
    }
}

/// Integers below this are exact in a double, and print the same either way.
const SAFE_INTEGERS: u64 = 1 << 53;

/// `Number.prototype.toString`: the shortest digits that read back as the same double, plain from 1e-6 up to 1e21.
pub fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{:e}", value.abs());
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return "null".to_owned();
    };
    let digits: String = digits.chars().filter(char::is_ascii_digit).collect();
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if value < 0.0 { "-" } else { "" };
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    // The decimal point stands after this many digits.
    let point = exponent + 1;
    let body = if count <= point && point <= 21 {
        format!("{digits}{}", zeros(point - count))
    } else if 0 < point && point <= 21 {
        let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or(0));
        format!("{whole}.{fraction}")
    } else if -6 < point && point <= 0 {
        format!("0.{}{digits}", zeros(-point))
    } else {
        let (first, rest) = digits.split_at(1);
        let dot = if rest.is_empty() { "" } else { "." };
        format!("{first}{dot}{rest}e{exponent:+}")
    };
    format!("{sign}{body}")
}

fn zeros(count: i32) -> String {
    "0".repeat(usize::try_from(count).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn parsed(text: &str) -> Value {
        parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn unpaired_surrogate_escapes_become_the_replacement_character() {
        for (text, expected) in [
            (r#""\ud800""#, "\u{fffd}"),
            (r#""\uDFFF""#, "\u{fffd}"),
            (r#""\ud83d\ude00""#, "\u{1f600}"),
            (r#""\uD83D\uDE00""#, "\u{1f600}"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
            (r#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
            (r#""\ud83dx""#, "\u{fffd}x"),
            (r#""\ud83d\n""#, "\u{fffd}\n"),
            (r#""\\ud83d""#, "\\ud83d"),
            (r#""\\\ud83d""#, "\\\u{fffd}"),
            (r#""\u00e9\ud800""#, "é\u{fffd}"),
        ] {
            assert_eq!(parsed(text), json!(expected), "{text}");
        }
    }

    #[test]
    fn a_truncated_escape_stays_an_error() {
        for text in [r#""\ud8"#, r#""\ud83"#, r#""\ud83d"#, r#""\ud83g""#, "\"\\"] {
            assert!(
                matches!(parse(text.as_bytes()), Err(ParseError::Syntax(_))),
                "{text}"
            );
        }
    }

    #[test]
    fn ill_formed_utf8_is_replaced() {
        assert_eq!(
            parse(b"\"a\xff\xc3b\"").unwrap(),
            json!("a\u{fffd}\u{fffd}b")
        );
    }

    #[test]
    fn text_after_the_value_is_refused() {
        assert!(parse(b"1 2").is_err());
        assert!(parse(b"").is_err());
        assert_eq!(parsed(" 1 \n"), json!(1));
    }

    #[test]
    fn nesting_is_accepted_up_to_the_bound_and_refused_beyond() {
        let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        assert!(parse(nested(MAX_DEPTH).as_bytes()).is_ok());
        assert!(matches!(
            parse(nested(MAX_DEPTH + 1).as_bytes()),
            Err(ParseError::TooDeep)
        ));
        // A bracket inside a string opens nothing, and escaped quotes do not end a string.
        let text = format!("\"\\\"{}\"", "[".repeat(MAX_DEPTH * 2));
        assert!(parse(text.as_bytes()).is_ok());
    }

    #[test]
    fn numbers_print_as_in_javascript() {
        for (value, expected) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (100.0, "100"),
            (0.1, "0.1"),
            (123_456.789, "123456.789"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1.5e21, "1.5e+21"),
            (1e-6, "0.000001"),
            (1e-7, "1e-7"),
            (1.25e-7, "1.25e-7"),
            (-1e-7, "-1e-7"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::INFINITY, "null"),
            (f64::NAN, "null"),
        ] {
            assert_eq!(number(value), expected);
        }
    }

    #[test]
    fn integers_beyond_the_exact_range_are_rounded_as_doubles_are() {
        assert_eq!(
            stringify(&json!([
                9_007_199_254_740_991_u64,
                9_007_199_254_740_993_u64,
                -5
            ])),
            "[9007199254740991,9007199254740992,-5]"
        );
        assert_eq!(stringify(&json!(u64::MAX)), "18446744073709552000");
        assert_eq!(stringify(&json!(i64::MIN)), "-9223372036854776000");
    }

    #[test]
    fn strings_are_escaped_as_in_javascript() {
        assert_eq!(
            stringify("\"\\/\u{8}\u{c}\n\r\t\u{1}\u{1f}\u{7f}\u{2028}é😀"),
            "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\u{7f}\u{2028}é😀\""
        );
    }

    /// Any JSON, and the key that `serde_json` keeps to itself.
    fn values() -> impl Strategy<Value = Value> {
        let key = prop_oneof![Just(RAW_KEY.to_owned()), "[ab]"];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-1_i64 << 53..1 << 53).prop_map(Value::from),
            "[a\"5{}]{0,3}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 3, move |part| {
            prop_oneof![
                proptest::collection::vec(part.clone(), 0..3).prop_map(Value::from),
                proptest::collection::btree_map(key.clone(), part, 0..3)
                    .prop_map(|members| json!(members)),
            ]
        })
    }

    const RAW_KEY: &str = "$serde_json::private::RawValue";

    #[test]
    fn a_value_takes_no_more_than_its_room() {
        let read = |text: &str, room| value(text, room).map_err(|error| error.to_string());
        let large = Err("it is too large".to_owned());
        for text in [
            format!("[{}0]", "0,".repeat(1_000)),
            format!("[{}{{}}]", "{\"\":0},".repeat(500)),
            format!("{{\"{}\":1}}", "k".repeat(60_000)),
            format!("\"{}\"", "x".repeat(60_000)),
        ] {
            assert!(read(&text, 1 << 20).is_ok(), "{text:.40}");
            assert_eq!(read(&text, 30_000), large, "{text:.40}");
        }
        assert!(matches!(value("[1", 1 << 20), Err(ParseError::Syntax(_))));
    }

    proptest! {
        #[test]
        fn every_key_is_only_a_key(value in values()) {
            let text = value.to_string();
            prop_assert_eq!(parsed(&text), value);
            prop_assert_eq!(stringify(&parsed(&text)), text);
        }

        #[test]
        fn what_is_written_reads_back(text in any::<String>(), value in any::<f64>()) {
            prop_assert_eq!(parsed(&stringify(&text)), Value::from(text));
            if value.is_finite() {
                prop_assert_eq!(number(value).parse::<f64>().unwrap(), value);
            }
        }

        #[test]
        fn any_bytes_are_judged_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = parse(&bytes);
        }

        #[test]
        fn any_mixture_of_surrogate_escapes_reads_as_javascript_decodes_it(units in proptest::collection::vec(0xD7F0_u16..0xE010, 0..8)) {
            let text: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let expected = String::from_utf16_lossy(&units);
            prop_assert_eq!(parsed(&format!("\"{text}\"")), Value::from(expected));
        }
    }
}
