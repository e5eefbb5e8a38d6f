//! JSON that JavaScript writes and other parsers refuse: lone surrogate escapes, and numbers beyond a double (SPEC-sessions 4.6).

use std::borrow::Cow;

use memchr::memmem;

/// The text with every `\uD8xx`…`\uDFxx` escape that has no partner replaced by `\uFFFD`. Borrowed when there is none.
pub fn lone_surrogates(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &bytes[at..]) {
        let escape = at + found;
        match surrogate(bytes, escape) {
            Some(Half::High) if matches!(surrogate(bytes, escape + 6), Some(Half::Low)) => {
                at = escape + 12
            }
            Some(_) => {
                out.push_str(&text[copied..escape]);
                out.push_str("\\uFFFD");
                at = escape + 6;
                copied = at;
            }
            // An escaped backslash must not be taken for the start of the next escape.
            None => at = (escape + 2).min(bytes.len()),
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// Whether [`lone_surrogates`] could have anything to do: a cheap test for the common case.
pub fn may_have_surrogates(text: &str) -> bool {
    memmem::find_iter(text.as_bytes(), b"\\u").any(|at| {
        text.as_bytes()
            .get(at + 2)
            .is_some_and(|b| b | 0x20 == b'd')
    })
}

enum Half {
    High,
    Low,
}

fn surrogate(bytes: &[u8], at: usize) -> Option<Half> {
    let escape = bytes.get(at..at + 6)?;
    if !escape.starts_with(b"\\u")
        || !escape[2..].iter().all(u8::is_ascii_hexdigit)
        || escape[2] | 0x20 != b'd'
    {
        return None;
    }
    match escape[3] | 0x20 {
        b'8' | b'9' | b'a' | b'b' => Some(Half::High),
        b'c'..=b'f' => Some(Half::Low),
        _ => None,
    }
}

/// The JSON text with every number that no double can hold replaced by `null`, as `JSON.stringify` writes them.
pub fn infinite_numbers(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = end_of_string(bytes, at),
            b'-' | b'0'..=b'9' => {
                let end = bytes[at..]
                    .iter()
                    .position(|b| !matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
                    .map_or(bytes.len(), |length| at + length);
                if text[at..end].parse::<f64>().is_ok_and(f64::is_infinite) {
                    out.push_str(&text[copied..at]);
                    out.push_str("null");
                    copied = end;
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
        if bytes[at + found] == b'"' {
            return at + found + 1;
        }
        at += found + 2;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lone_halves_are_replaced() {
        for (text, repaired) in [
            (r#""plain""#, r#""plain""#),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\uD83D\uDE00""#, r#""\uD83D\uDE00""#),
            (r#""a\ud83d z""#, r#""a\uFFFD z""#),
            (r#""\ude00\ud83d""#, r#""\uFFFD\uFFFD""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\uFFFD\ud83d\ude00""#),
            (r#""\ud83d\u0041""#, r#""\uFFFD\u0041""#),
            (r#""\\ud83d""#, r#""\\ud83d""#),
            (r#""\\\ud83d""#, r#""\\\uFFFD""#),
            (r#""\ud83d"#, r#""\uFFFD"#),
            (r#""\ud8"#, r#""\ud8"#),
            (r#""\uD7FF\uE000""#, r#""\uD7FF\uE000""#),
        ] {
            assert_eq!(lone_surrogates(text), repaired);
            assert!(may_have_surrogates(text) || lone_surrogates(text) == text);
        }
    }

    #[test]
    fn only_infinite_numbers_are_replaced() {
        for (text, repaired) in [
            (
                r#"{"a":1e400,"b":[-1e999,1]}"#,
                r#"{"a":null,"b":[null,1]}"#,
            ),
            (
                r#"{"1e400":"1e400 \" 1e400","b":1.5e3}"#,
                r#"{"1e400":"1e400 \" 1e400","b":1.5e3}"#,
            ),
            ("1e400", "null"),
            ("\"1e400", "\"1e400"),
        ] {
            assert_eq!(infinite_numbers(text), repaired);
        }
    }

    proptest::proptest! {
        #[test]
        fn a_repaired_string_parses_and_well_formed_ones_are_untouched(
            parts in proptest::collection::vec(
                proptest::sample::select(vec!["a", "\\\\", "\\ud83d", "\\ude00", "\\uDBFF", "\\uDC00", "\\n", "\\u0041", "é"]), 0..12)
        ) {
            let text = format!("\"{}\"", parts.concat());
            let repaired = lone_surrogates(&text);
            proptest::prop_assert!(serde_json::from_str::<String>(&repaired).is_ok(), "{repaired}");
            if serde_json::from_str::<String>(&text).is_ok() {
                proptest::prop_assert_eq!(&repaired, &text);
            }
        }
    }
}
