//! Bracket expressions, the part of a pattern that git and the matcher read most differently.

use std::str::Chars;

/// The classes that both know by name. Any other name makes git's pattern match nothing.
const NAMED: [&str; 12] = [
    "alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "xdigit",
];

/// Characters that have a meaning of their own between brackets, where the matcher knows no escape.
const SPECIAL: [char; 5] = [']', '-', '[', '^', '!'];

/// What is between two brackets.
#[derive(Debug, Default)]
struct Set {
    negated: bool,
    ranges: Vec<(char, char)>,
    named: String,
}

/// Reads the rest of a bracket expression as git does and spells it for the matcher; nothing when git's pattern matches
/// nothing, as one without an end does.
pub(super) fn translate(rest: &mut Chars<'_>) -> Option<String> {
    Some(read(rest)?.spell())
}

fn read(rest: &mut Chars<'_>) -> Option<Set> {
    let mut set = Set::default();
    if let Some(after) = rest.as_str().strip_prefix(['!', '^']) {
        set.negated = true;
        *rest = after.chars();
    }
    let mut first = true;
    let mut range_start = None;
    loop {
        let character = rest.next()?;
        match character {
            ']' if !first => return Some(set),
            // git has counted the start as a character of its own by now, so a range the wrong way round is that alone.
            '-' if range_start.is_some() && !rest.as_str().starts_with(']') => {
                let end = unescape(rest.next()?, rest)?;
                set.ranges
                    .extend(range_start.take().map(|start| (start, end)));
            }
            '[' if rest.as_str().starts_with(':') && named(rest.as_str()).is_some() => {
                let (name, after) = named(rest.as_str())?;
                if !NAMED.contains(&name) {
                    return None;
                }
                set.named.extend(["[:", name, ":]"]);
                *rest = after.chars();
                range_start = None;
            }
            other => {
                let literal = unescape(other, rest)?;
                set.ranges.push((literal, literal));
                range_start = Some(literal);
            }
        }
        first = false;
    }
}

/// The character that a backslash stands before, or the character itself.
fn unescape(character: char, rest: &mut Chars<'_>) -> Option<char> {
    if character == '\\' {
        rest.next()
    } else {
        Some(character)
    }
}

/// The name in `:name:]`, and what comes after. A bracket that ends earlier belongs to the expression around.
fn named(text: &str) -> Option<(&str, &str)> {
    let (name, after) = text.strip_prefix(':')?.split_once(']')?;
    Some((name.strip_suffix(':')?, after))
}

impl Set {
    /// The matcher has no escape between brackets, so every special character goes where it has no meaning: `]` comes
    /// first, `-` first or last, and `^` and `!` never come first.
    fn spell(&self) -> String {
        let [close, dash, open, caret, bang] = SPECIAL.map(|character| self.contains(character));
        let ranges: String = self
            .ranges
            .iter()
            .flat_map(|range| without_special(*range))
            .map(spell_range)
            .collect();
        let others = close || dash || open || !ranges.is_empty() || !self.named.is_empty();
        if !self.negated && !others {
            // Nothing could keep `^` or `!` from coming first.
            let alternatives = [(caret, "\\^"), (bang, "\\!")];
            let wanted: Vec<&str> = alternatives
                .iter()
                .filter(|(wanted, _)| *wanted)
                .map(|(_, what)| *what)
                .collect();
            return format!("{{{}}}", wanted.join(","));
        }
        [
            (true, "["),
            (self.negated, "!"),
            (close, "]"),
            (dash && !close, "-"),
            (true, ranges.as_str()),
            (true, self.named.as_str()),
            (open, "["),
            (caret, "^"),
            (bang, "!"),
            (dash && close, "-"),
            (true, "]"),
        ]
        .into_iter()
        .filter(|(wanted, _)| *wanted)
        .map(|(_, what)| what)
        .collect()
    }

    fn contains(&self, character: char) -> bool {
        self.ranges
            .iter()
            .any(|(start, end)| (*start..=*end).contains(&character))
    }
}

/// The parts of a range between its special characters.
fn without_special((start, end): (char, char)) -> Vec<(char, char)> {
    let mut cuts: Vec<char> = SPECIAL
        .into_iter()
        .filter(|special| (start..=end).contains(special))
        .collect();
    cuts.sort_unstable();
    let mut parts = Vec::new();
    let mut from = Some(start);
    for cut in cuts {
        // The part before the cut has no character when the cut is its first.
        parts.extend(from.and_then(|from| (from..cut).next_back().map(|to| (from, to))));
        from = (cut..=char::MAX).nth(1);
    }
    parts.extend(from.filter(|from| *from <= end).map(|from| (from, end)));
    parts
}

fn spell_range((start, end): (char, char)) -> String {
    if start == end {
        start.to_string()
    } else {
        format!("{start}-{end}")
    }
}

#[cfg(test)]
mod tests {
    use ignore::gitignore::GitignoreBuilder;
    use proptest::prelude::*;

    use super::*;

    /// Whether the matcher finds a character in an expression that was translated.
    fn finds(expression: &str, character: char) -> bool {
        let mut rest = expression.chars();
        assert_eq!(rest.next(), Some('['));
        let Some(pattern) = translate(&mut rest) else {
            return false;
        };
        assert_eq!(rest.as_str(), "", "{expression} is read to its end");
        let mut builder = GitignoreBuilder::new("");
        builder.add_line(None, &format!("x{pattern}")).unwrap();
        builder
            .build()
            .unwrap()
            .matched(format!("x{character}"), false)
            .is_ignore()
    }

    #[test]
    fn special_characters_are_found_wherever_they_stand() {
        for (expression, inside, outside) in [
            ("[]]", "]", "[a"),
            ("[\\]]", "]", "\\a"),
            ("[\\]a]", "]a", "\\b"),
            ("[a\\-c]", "a-c", "b\\"),
            ("[a-c]", "abc", "-d"),
            ("[a\\-]", "a-", "\\b"),
            ("[-a]", "-a", "b"),
            ("[a-]", "a-", "b"),
            ("[\\^]", "^", "\\a!"),
            ("[\\!]", "!", "\\a^"),
            ("[\\!\\^]", "!^", "\\,{}"),
            ("[\\^-]", "^-", "\\a"),
            ("[\\^[]", "^[", "\\a"),
            ("[!\\]]", "a-", "]"),
            ("[^\\^]", "a!", "^"),
            ("[!!]", "a^", "!"),
            ("[!-a]", "b!", "-a"),
            ("[\\\\]", "\\", "a"),
            ("[+--]", "+,-", ".*"),
            ("[\\[-\\]]", "[\\]", "Z^"),
            ("[ -~]", " !-[]^~", "é"),
            ("[[:digit:]]", "09", "a:["),
            ("[[:digit:]\\-]", "09-", "a:["),
            ("[^[:digit:]]", "a:[", "09"),
            ("[[:]", "[:", "a]"),
            ("[[:a]", "[:a", "]"),
            ("[b-a]", "b", "a-"),
            ("[!b-a]", "a-", "b"),
            ("[b-ac]", "bc", "a-"),
            ("[[:nothing:]]", "", "[:n"),
        ] {
            for character in inside.chars() {
                assert!(
                    finds(expression, character),
                    "{expression} finds {character}"
                );
            }
            for character in outside.chars() {
                assert!(
                    !finds(expression, character),
                    "{expression} finds {character}"
                );
            }
        }
    }

    #[test]
    fn an_expression_without_an_end_is_none() {
        for expression in ["", "]", "!]", "a", "a\\]", "\\", "a-", "[:alpha:]"] {
            assert!(
                translate(&mut expression.chars()).is_none(),
                "[{expression}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_set_of_escaped_characters_is_that_set(set in proptest::collection::btree_set("[\\]\\[\\-^!\\\\:a-c,{}*?]", 1..8), negated: bool) {
            let set: String = set.into_iter().collect();
            let escaped: String = set.chars().flat_map(|character| ['\\', character]).collect();
            let expression = format!("[{}{escaped}]", if negated { "!" } else { "" });
            for character in "][-^!\\:abcd,{}*?~".chars() {
                prop_assert_eq!(finds(&expression, character), set.contains(character) != negated, "{} {}", expression, character);
            }
        }
    }
}
