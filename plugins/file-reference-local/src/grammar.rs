//! The grammar of `@path` mentions (SPEC 7).

use dsh_guest_support::js_space::is_js_space;
use dsh_guest_support::utf16;

use crate::workspace::Kind;

/// A mention that is being typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtToken {
    /// From the `@` to the cursor. Half of a surrogate pair at its end stands as U+FFFD.
    pub prefix: String,
    /// What follows `@` or `@"`, likewise.
    pub query: String,
    /// Whether the mention began with `@"`.
    pub quoted: bool,
    /// The half that the cursor cut off, when it stands inside a character of two code units.
    pub split_surrogate: Option<u16>,
}

/// The mention that ends at the cursor, which is counted in UTF-16 code units (SPEC 7.1).
pub fn active_at_token(line: &str, cursor: usize) -> Option<AtToken> {
    let cut = utf16::cut(line, cursor);
    let head = &line[..cut.bytes];
    let (at, query_at, quoted) = match quoted_mention(head) {
        Some(at) => (at, at + 2, true),
        None => {
            let at = plain_mention(head)?;
            (at, at + 1, false)
        }
    };
    let text = |from: usize| {
        let mut text = head[from..].to_owned();
        text.extend(cut.split.map(|_| char::REPLACEMENT_CHARACTER));
        text
    };
    Some(AtToken {
        prefix: text(at),
        query: text(query_at),
        quoted,
        split_surrogate: cut.split,
    })
}

/// Where the `@"` stands whose quote is still open at the end of `head`.
fn quoted_mention(head: &str) -> Option<usize> {
    let before_quote = &head[..head.rfind('"')?];
    let before = before_quote.strip_suffix('@')?;
    ends_a_word(before).then_some(before.len())
}

/// Where the `@` stands that begins the last run of non-space in `head`.
fn plain_mention(head: &str) -> Option<usize> {
    let run = head.char_indices().rfind(|(_, c)| is_js_space(*c));
    let start = run.map_or(0, |(at, c)| at + c.len_utf8());
    head[start..].starts_with('@').then_some(start)
}

fn ends_a_word(before: &str) -> bool {
    before.chars().next_back().is_none_or(is_js_space)
}

/// The text that mentions a path, or none when it cannot be written as a mention (SPEC 7.2).
pub fn format_file_mention(path: &str, kind: Kind, preserve_quote: bool) -> Option<String> {
    // `char::is_control` is the general category Cc: U+0000 to U+001F and U+007F to U+009F.
    if path.contains(|c: char| c == '"' || c.is_control()) {
        return None;
    }
    let slash = if kind == Kind::Directory { "/" } else { "" };
    if !preserve_quote && !path.contains(is_js_space) {
        return Some(format!("@{path}{slash}"));
    }
    // The quote of a directory stays open, so that typing goes on inside it.
    let close = if kind == Kind::Directory { "" } else { "\"" };
    Some(format!("@\"{path}{slash}{close}"))
}
