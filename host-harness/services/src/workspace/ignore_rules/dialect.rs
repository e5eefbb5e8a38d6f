//! Where the matcher's patterns differ from git's.

use std::borrow::Cow;

use super::brackets;

/// The lines of an ignore file. A byte order mark at the start and a carriage return at the end of a line are no part of them.
pub(super) fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.strip_prefix('\u{feff}')
        .unwrap_or(text)
        .split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
}

/// Spells a line of an ignore file for the matcher, nothing when git lets it match nothing.
///
/// - Braces are alternatives to the matcher and plain characters to git.
/// - Three stars or more are two to git.
/// - Between brackets git knows escapes, and the matcher does not.
/// - A backslash with nothing to escape makes git's pattern match nothing.
///
/// Where git differs from its own documentation (stars after a literal start, as in `a**/b`), this follows the latter.
pub(super) fn translate(line: &str) -> Option<Cow<'_, str>> {
    if line.starts_with('#') {
        return None;
    }
    let line = without_trailing_spaces(line);
    if !line.contains(['{', '}', '\\', '[']) && !line.contains("***") {
        return Some(Cow::Borrowed(line));
    }
    let mut pattern = String::with_capacity(line.len() + 8);
    let mut rest = line.chars();
    while let Some(character) = rest.next() {
        match character {
            '{' | '}' => pattern.extend(['\\', character]),
            '[' => pattern.push_str(&brackets::translate(&mut rest)?),
            '*' if pattern.ends_with("**") && !pattern.ends_with("\\**") => {}
            // The slash at the end asks for a directory and is no part of the pattern.
            '\\' if rest.as_str() == "/" => return None,
            '\\' => pattern.extend(['\\', rest.next()?]),
            other => pattern.push(other),
        }
    }
    if is_path(line) && !is_path(&pattern) {
        // The only slash was between brackets, where it finds nothing, but it ties the pattern to its directory.
        pattern.insert(usize::from(pattern.starts_with('!')), '/');
    }
    Some(Cow::Owned(pattern))
}

/// Spaces at the end are no part of a pattern, unless a backslash keeps the first of them.
fn without_trailing_spaces(line: &str) -> &str {
    let kept = line.trim_end_matches(' ');
    let backslashes = kept.len() - kept.trim_end_matches('\\').len();
    let escaped = backslashes % 2 == 1 && kept.len() < line.len();
    line.get(..kept.len() + usize::from(escaped))
        .unwrap_or(kept)
}

/// Whether a pattern is for a path from its own directory on, and not for a name at any depth.
fn is_path(pattern: &str) -> bool {
    pattern.strip_suffix('/').unwrap_or(pattern).contains('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_as_git_cuts_them() {
        let cut: Vec<&str> = lines("\u{feff}a\r\n b \n\n\rc\nd").collect();
        assert_eq!(cut, ["a", " b ", "", "\rc", "d"]);
    }

    #[test]
    fn what_both_read_alike_stays() {
        for line in ["", "a", "!/a/**/b*?.o/", "a#", " a"] {
            assert_eq!(translate(line).as_deref(), Some(line));
        }
    }

    #[test]
    fn what_they_read_differently_is_spelled_anew() {
        for (line, pattern) in [
            ("# a", None),
            ("{a,b}", Some("\\{a,b\\}")),
            ("\\{\\a\\\\", Some("\\{\\a\\\\")),
            ("a\\", None),
            ("a\\/", None),
            ("a\\/  ", None),
            ("a\\  ", Some("a\\ ")),
            ("a\\/b", Some("a\\/b")),
            ("[a/]", Some("[a/]")),
            ("![a-/]", Some("!/[a]")),
            ("[a-/]/", Some("/[a]/")),
            ("***/a****b", Some("**/a**b")),
            ("\\***/\\****", Some("\\***/\\***")),
            ("a[\\]b]{", Some("a[]b]\\{")),
            ("a[b", None),
        ] {
            assert_eq!(translate(line).as_deref(), pattern, "{line}");
        }
    }
}
