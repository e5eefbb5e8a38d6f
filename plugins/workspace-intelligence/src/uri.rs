//! One spelling for each file URI (SPEC 9). Pure: no file is looked at, because servers may run in another world than the plugin.

use std::fmt::Write as _;

/// The canonical spelling of a URI. What is no well-formed `file:` URI comes back as it is. Idempotent.
pub fn canonical(uri: &str) -> String {
    if is_plainly_canonical(uri) {
        return uri.to_owned();
    }
    canonical_file(uri).unwrap_or_else(|| uri.to_owned())
}

/// Whether there is nothing to do: no authority, no escape, no dot segment, no drive. Most URIs are so, and there may be very many.
fn is_plainly_canonical(uri: &str) -> bool {
    let Some(path) = uri.strip_prefix("file://") else {
        return false;
    };
    let mut before = 0;
    let plain = path.bytes().all(|byte| {
        let dot_segment = before == b'/' && byte == b'.';
        before = byte;
        is_plain(byte) && !dot_segment
    });
    plain && path.starts_with('/') && drive_letter(path).is_none()
}

/// What is not encoded in a path.
fn is_plain(byte: u8) -> bool {
    PLAIN.get(usize::from(byte)) == Some(&true)
}

/// By byte, because every byte of every URI is looked up.
static PLAIN: [bool; 256] = {
    const MARKS: &[u8] = b"-._~!$&'()*+,;=:@/";
    let mut plain = [false; 256];
    let mut byte = 0_u8;
    while byte < 0x80 {
        plain[byte as usize] = byte.is_ascii_alphanumeric();
        byte += 1;
    }
    let mut at = 0;
    while at < MARKS.len() {
        plain[MARKS[at] as usize] = true;
        at += 1;
    }
    plain
};

fn canonical_file(uri: &str) -> Option<String> {
    let (scheme, rest) = uri.split_once(':')?;
    if !scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    let (hierarchy, suffix) = rest.split_at(end);
    let (authority, raw_path) = match hierarchy.strip_prefix("//") {
        Some(after) => after.split_at(after.find('/')?),
        None => ("", hierarchy),
    };
    if !raw_path.starts_with('/') {
        return None;
    }
    let authority = match authority.to_ascii_lowercase() {
        name if name == "localhost" => String::new(),
        name => name,
    };
    let Decoded {
        path,
        escaped_backslash,
    } = decode(raw_path)?;
    let windows = !authority.is_empty() || drive_letter(&path).is_some();
    if windows && escaped_backslash {
        return None;
    }
    let path = upper_case_drive(remove_dot_segments(&path));
    Some(format!("file://{authority}{}{suffix}", encode(&path)))
}

struct Decoded {
    path: String,
    /// Windows would take it for a separator, which an escaped one never is.
    escaped_backslash: bool,
}

/// Undoes percent-encoding; `None` when the outcome would not name the same path: a broken escape, a NUL, bytes that are not UTF-8, or an
/// escaped `/`, which is no separator.
fn decode(path: &str) -> Option<Decoded> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut escaped_backslash = false;
    let mut rest = path.as_bytes().iter();
    while let Some(&byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(*rest.next()?).to_digit(16);
        let decoded = u8::try_from(digit()? * 16 + digit()?).ok()?;
        if decoded == b'/' {
            return None;
        }
        escaped_backslash |= decoded == b'\\';
        bytes.push(decoded);
    }
    let path = String::from_utf8(bytes).ok()?;
    (!path.contains('\0')).then_some(Decoded {
        path,
        escaped_backslash,
    })
}

/// The drive letter of a path like `/c:` or `/c:/…`.
fn drive_letter(path: &str) -> Option<char> {
    let mut chars = path.strip_prefix('/')?.chars();
    let letter = chars.next().filter(char::is_ascii_alphabetic)?;
    let is_drive = chars.next() == Some(':') && matches!(chars.next(), None | Some('/'));
    is_drive.then_some(letter)
}

/// Resolves `.` and `..` without leaving the root or the drive. A trailing slash stays, and what ends in a dot segment gets one.
fn remove_dot_segments(path: &str) -> String {
    let floor = usize::from(drive_letter(path).is_some());
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let dots = matches!(segment, "." | "..");
        if segment == ".." && kept.len() > floor {
            kept.pop();
        }
        if !dots {
            kept.push(segment);
        } else if segments.peek().is_none() {
            kept.push("");
        }
    }
    format!("/{}", kept.join("/"))
}

fn upper_case_drive(mut path: String) -> String {
    if drive_letter(&path).is_some()
        && let Some(letter) = path.get_mut(1..2)
    {
        letter.make_ascii_uppercase();
    }
    path
}

fn encode(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if is_plain(byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}
