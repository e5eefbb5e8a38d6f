//! White space as JavaScript sees it: the class `\s`, which is also what `String.prototype.trim` removes.

/// Whether JavaScript's `\s` matches the character.
///
/// It differs from [`char::is_whitespace`] in two characters: the byte order mark U+FEFF is space, the control U+0085 is not.
pub fn is_js_space(c: char) -> bool {
    match c {
        '\u{feff}' => true,
        '\u{85}' => false,
        _ => c.is_whitespace(),
    }
}

/// The text without leading and trailing JavaScript white space, like `String.prototype.trim`.
pub fn trim(text: &str) -> &str {
    text.trim_matches(is_js_space)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The class as ECMA-262 lists it, written out so that a new Unicode table in the standard library cannot shift it unseen.
    const JS_SPACE: &[u32] = &[
        0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x20, 0xa0, 0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004,
        0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000,
        0xfeff,
    ];

    #[test]
    fn every_character_is_classed_as_in_javascript() {
        let found: Vec<u32> = ('\0'..=char::MAX)
            .filter(|c| is_js_space(*c))
            .map(u32::from)
            .collect();
        assert_eq!(found, JS_SPACE);
    }

    #[test]
    fn trim_removes_the_byte_order_mark_and_keeps_next_line() {
        assert_eq!(trim("\u{feff} a b\u{a0}\n"), "a b");
        assert_eq!(trim("\u{85}a\u{85}"), "\u{85}a\u{85}");
        assert_eq!(trim(" \t"), "");
    }
}
