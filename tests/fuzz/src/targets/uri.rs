//! One spelling for each file URI.

use dsh_workspace_intelligence::uri::canonical;

/// Splits `file://authority/path?suffix` into what precedes the path, the path, and what follows it.
fn split(uri: &str) -> Option<(&str, &str, &str)> {
    let rest = uri.strip_prefix("file://")?;
    let from = "file://".len() + rest.find('/')?;
    let to = uri.find(['?', '#']).unwrap_or(uri.len());
    (from < to).then(|| (&uri[..from], &uri[from..to], &uri[to..]))
}

/// Whether a path is spelled as SPEC 9 spells it.
fn is_canonical(path: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/".contains(&byte);
    let mut rest = path.as_bytes();
    let mut decoded = Vec::new();
    while let Some((first, after)) = rest.split_first() {
        if *first != b'%' {
            decoded.push(*first);
            rest = after;
            if !plain(*first) {
                return false;
            }
            continue;
        }
        let Some(digits) = after
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok())
        else {
            return false;
        };
        let upper = digits
            .bytes()
            .all(|digit| matches!(digit, b'0'..=b'9' | b'A'..=b'F'));
        match u8::from_str_radix(digits, 16) {
            Ok(byte) if upper && byte != 0 && !plain(byte) => decoded.push(byte),
            _ => return false,
        }
        rest = &after[2..];
    }
    let segments = path.split('/');
    String::from_utf8(decoded).is_ok() && !segments.into_iter().any(|s| matches!(s, "." | ".."))
}

/// A canonical URI is its own canonical form; a file URI's path has no escape that it does not need and no dot segment; and a path that is
/// escaped more than it has to be, or that goes round a corner, is the same path.
pub fn uri(data: &[u8]) {
    let given = String::from_utf8_lossy(data);
    let once = canonical(&given);
    assert_eq!(canonical(&once), once, "idempotent");
    if once == given && !given.starts_with("file:///") {
        return;
    }
    let Some((front, path, suffix)) = split(&once) else {
        assert_eq!(once, given, "what is no file URI stays");
        return;
    };
    if once != given {
        assert!(is_canonical(path), "{path}");
        assert_ne!(front, "file://localhost");
    }
    // A backslash is a separator to Windows, so an escaped one is left alone.
    if !is_canonical(path) || path.contains("%5C") {
        return;
    }
    let escaped: String = path
        .bytes()
        .map(|byte| match byte {
            byte if byte.is_ascii_alphanumeric() && !path.contains('%') => format!("%{byte:02x}"),
            byte => char::from(byte).to_string(),
        })
        .collect();
    assert_eq!(
        canonical(&format!("FILE:{}{escaped}{suffix}", &front[5..])),
        once,
        "escaped"
    );
    let drive = path.as_bytes().get(2) == Some(&b':');
    if !drive {
        assert_eq!(
            canonical(&format!("{front}/./x/..{path}{suffix}")),
            once,
            "around"
        );
    }
}
