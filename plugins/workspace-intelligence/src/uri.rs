//! One spelling for each file URI (SPEC 9). Pure: no file is looked at, because servers may run in another world than the plugin.

/// The longest URI that is looked at, in bytes (SPEC 9.1). No file has so long a path, and a canonical spelling may be three times as long.
const MAX_BYTES: usize = 65_536;

/// The canonical spelling of a URI. What is no well-formed `file:` URI comes back as it is. Idempotent.
pub fn canonical(uri: &str) -> String {
    if uri.len() > MAX_BYTES || is_plainly_canonical(uri) {
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
    let mut kept = String::with_capacity(path.len());
    let mut depth = 0;
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let dots = matches!(segment, "." | "..");
        if segment == ".." && depth > floor {
            kept.truncate(kept.rfind('/').unwrap_or(0));
            depth -= 1;
        }
        if !dots {
            kept.push('/');
            kept.push_str(segment);
            depth += 1;
        } else if segments.peek().is_none() {
            kept.push('/');
        }
    }
    if kept.is_empty() {
        kept.push('/');
    }
    kept
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
            out.push('%');
            for digit in [byte >> 4, byte & 0xf] {
                let digit = char::from_digit(digit.into(), 16).unwrap_or_default();
                out.push(digit.to_ascii_uppercase());
            }
        }
    }
    out
}
