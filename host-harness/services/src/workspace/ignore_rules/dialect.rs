//! Where the matcher's patterns differ from git's.

use std::borrow::Cow;

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
/// - A backslash takes the special meaning from the next character in git, inside brackets too; the matcher knows that
///   outside brackets only.
/// - A backslash with nothing after it makes git's pattern match nothing.
pub(super) fn translate(line: &str) -> Option<Cow<'_, str>> {
    if line.starts_with('#') {
        return None;
    }
    if !line.contains(['{', '}', '\\', '[']) {
        return Some(Cow::Borrowed(line));
    }
    let mut pattern = String::with_capacity(line.len() + 8);
    let mut rest = line.chars();
    while let Some(character) = rest.next() {
        match character {
            '{' | '}' => pattern.extend(['\\', character]),
            '\\' => pattern.extend(['\\', rest.next()?]),
            other => pattern.push(other),
        }
    }
    Some(Cow::Owned(pattern))
}
