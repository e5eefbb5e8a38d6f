//! Two habits of JavaScript that answers and filters depend on: what counts as white space, and how a number is printed.

/// Whether `\s` and `trim` of JavaScript take the character for white space. U+FEFF is one, U+0085 is not: Rust's own notion
/// (`char::is_whitespace`) has both the other way round (SPEC-sessions 8.3).
#[must_use]
pub fn is_white_space(c: char) -> bool {
    matches!(
        c,
        '\t' | '\n' | '\u{B}' | '\u{C}' | '\r' | ' ' | '\u{A0}' | '\u{1680}' | '\u{2000}'
            ..='\u{200A}'
                | '\u{2028}'
                | '\u{2029}'
                | '\u{202F}'
                | '\u{205F}'
                | '\u{3000}'
                | '\u{FEFF}'
    )
}

/// `String.prototype.trim`.
#[must_use]
pub fn trim(text: &str) -> &str {
    text.trim_matches(is_white_space)
}

/// A number as `String(x)` prints it.
#[must_use]
pub fn number(x: f64) -> String {
    if x.is_nan() {
        return "NaN".to_owned();
    }
    if x.is_infinite() {
        return if x > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let magnitude = x.abs();
    if magnitude == 0.0 {
        return "0".to_owned();
    }
    if (1e-6..1e21).contains(&magnitude) {
        return format!("{x}");
    }
    // Rust writes `1e21` where JavaScript writes `1e+21`; negative exponents agree.
    let text = format!("{x:e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) if !exponent.starts_with('-') => {
            format!("{mantissa}e+{exponent}")
        }
        _ => text,
    }
}

/// Whether the number is one of JavaScript's safe integers.
#[must_use]
pub fn is_safe_integer(x: f64) -> bool {
    x.fract() == 0.0 && x.abs() <= 9_007_199_254_740_991.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_differs_from_rust_in_two_characters() {
        assert!(is_white_space('\u{FEFF}') && !'\u{FEFF}'.is_whitespace());
        assert!(!is_white_space('\u{85}') && '\u{85}'.is_whitespace());
        for c in (0..=0x10FFFF).filter_map(char::from_u32) {
            if c != '\u{FEFF}' && c != '\u{85}' {
                assert_eq!(is_white_space(c), c.is_whitespace(), "U+{:04X}", c as u32);
            }
        }
        assert_eq!(trim("\u{FEFF} a b\u{3000}\n"), "a b");
        assert_eq!(trim("\u{85}a\u{200B}"), "\u{85}a\u{200B}");
    }

    #[test]
    fn numbers_print_as_javascript_prints_them() {
        for (x, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (-1.0, "-1"),
            (1.5, "1.5"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
            (9_007_199_254_740_992.0, "9007199254740992"),
            (1e21, "1e+21"),
            (1.5e300, "1.5e+300"),
            (123e18, "123000000000000000000"),
            (1e-6, "0.000001"),
            (1.5e-7, "1.5e-7"),
        ] {
            assert_eq!(number(x), text);
        }
    }
}
