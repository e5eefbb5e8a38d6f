//! The text condition (SPEC-sessions 8.3): literal words, white space between them, Unicode simple case folding.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

use super::error::SessionQueryError;
use super::js;

/// JavaScript's white space. `\s` of the regex crate differs from it in two characters.
const WHITE_SPACE: &str = r"[\t\n\x0B\x0C\r \u{A0}\u{1680}\u{2000}-\u{200A}\u{2028}\u{2029}\u{202F}\u{205F}\u{3000}\u{FEFF}]+";

/// Longer texts cost memory out of proportion and are no search.
const MAX_BYTES: usize = 8 * 1024;

/// A compiled text condition.
#[derive(Debug)]
pub struct Matcher(Regex);

impl Matcher {
    /// Compiles a text.
    ///
    /// # Errors
    /// [`SessionQueryError::InvalidFilter`] for a blank text and for one beyond 8 KiB.
    pub fn new(text: &str) -> Result<Self, SessionQueryError> {
        let invalid = |what: &str| SessionQueryError::InvalidFilter(format!("text filter {what}"));
        let trimmed = js::trim(text);
        if trimmed.is_empty() {
            return Err(invalid("must contain non-whitespace text"));
        }
        if trimmed.len() > MAX_BYTES {
            return Err(invalid(&format!(
                "text must be at most {MAX_BYTES} bytes long"
            )));
        }
        let words: Vec<String> = trimmed
            .split(js::is_white_space)
            .filter(|word| !word.is_empty())
            .map(regex::escape)
            .collect();
        RegexBuilder::new(&words.join(WHITE_SPACE))
            .case_insensitive(true)
            .size_limit(256 << 20)
            .build()
            .map(Self)
            .map_err(|error| invalid(&format!("cannot be searched: {error}")))
    }

    /// Whether the text holds a match.
    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// The first match.
    pub fn find(&self, text: &str) -> Option<Range<usize>> {
        self.0.find(text).map(|found| found.range())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(query: &str, text: &str) -> bool {
        Matcher::new(query).expect("not blank").is_match(text)
    }

    #[test]
    fn words_are_literal_and_anywhere() {
        assert!(matches("ytes", "run pytest"));
        assert!(matches(".*", "a .* b") && !matches(".*", "ab"));
        for odd in ["(", "[", "\\", "a{2}", "^$", "#", "a-b", "&&", "~"] {
            assert!(
                matches(odd, &format!("x{odd}y")) && !matches(odd, "q"),
                "{odd}"
            );
        }
    }

    #[test]
    fn white_space_in_the_query_needs_some_in_the_text() {
        assert!(matches(" flaky   test\n", "Find the  flaky\n test"));
        assert!(!matches("flakytest", "flaky test") && !matches("flaky test", "flakytest"));
        for (text, hit) in [
            ("a\u{A0}b", true),
            ("a\u{FEFF}b", true),
            ("a\u{85}b", false),
            ("a\u{200B}b", false),
            ("ab", false),
        ] {
            assert_eq!(matches("a b", text), hit, "{text:?}");
        }
        assert!(Matcher::new("\u{FEFF} \n").is_err() && Matcher::new("\u{85}").is_ok());
    }

    #[test]
    fn case_folding_is_simple() {
        for (query, text, hit) in [
            ("k", "\u{212A}", true),
            ("s", "\u{17F}", true),
            ("\u{DF}", "\u{1E9E}", true),
            ("\u{3C3}", "\u{3C2}", true),
            ("\u{3A9}", "\u{2126}", true),
            ("\u{1C6}", "\u{1C5}", true),
            ("\u{3B8}", "\u{3F4}", true),
            ("\u{B5}", "\u{3BC}", true),
            ("ss", "\u{DF}", false),
            ("fi", "\u{FB01}", false),
            ("i", "\u{130}", false),
            ("i", "\u{131}", false),
            ("\u{E9}", "e\u{301}", false),
            ("CAFÉ", "café", true),
        ] {
            assert_eq!(matches(query, text), hit, "{query} in {text}");
        }
    }

    #[test]
    fn long_texts_are_compiled_or_refused() {
        assert!(matches(
            &"é".repeat(MAX_BYTES / 2),
            &"É".repeat(MAX_BYTES / 2)
        ));
        assert!(Matcher::new(&"x".repeat(MAX_BYTES + 1)).is_err());
    }
}
