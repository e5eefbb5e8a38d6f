use std::path::Path;

/// The path, absolute and canonical, as a `file:` URL, encoded as Node's `pathToFileURL` does.
pub(super) fn file_url(path: &Path) -> String {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        posix_url(path.as_os_str().as_bytes())
    }
    #[cfg(not(unix))]
    {
        windows_url(&path.to_string_lossy())
    }
}

#[cfg(any(unix, test))]
fn posix_url(path: &[u8]) -> String {
    let mut url = String::from("file://");
    encode(path, &mut url);
    url
}

/// `C:\a` becomes `file:///C:/a`, a share `\\server\share` becomes `file://server/share`; the prefix of a verbatim path
/// (`\\?\`), which canonical paths have on Windows, is dropped.
#[cfg(any(not(unix), test))]
fn windows_url(path: &str) -> String {
    let (prefix, rest) = if let Some(share) = path.strip_prefix(r"\\?\UNC\") {
        ("file://", share)
    } else if let Some(local) = path.strip_prefix(r"\\?\") {
        ("file:///", local)
    } else if let Some(share) = path.strip_prefix(r"\\") {
        ("file://", share)
    } else {
        ("file:///", path)
    };
    let mut url = String::from(prefix);
    encode(rest.replace('\\', "/").as_bytes(), &mut url);
    url
}

/// Writes every byte that Node 20 leaves alone as it is, and the others as `%HH`. The set is larger than the URL
/// standard's: `~`, `[`, `]`, `^` and `|` are encoded too.
fn encode(bytes: &[u8], url: &mut String) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for &byte in bytes {
        let plain = byte.is_ascii_alphanumeric() || b"!$&'()*+,-./:;=@_".contains(&byte);
        if plain {
            url.push(char::from(byte));
        } else {
            url.push('%');
            url.push(char::from(HEX[usize::from(byte >> 4)]));
            url.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every printable character, as Node v20.20.2 encodes it inside a path.
    #[test]
    fn posix_paths_are_encoded_as_by_node() {
        let printable: Vec<u8> = (0x20..0x7f).filter(|byte| *byte != b'/').collect();
        assert_eq!(
            posix_url(&printable),
            "file://%20!%22%23$%25&'()*+,-.0123456789:;%3C=%3E%3F@ABCDEFGHIJKLMNOPQRSTUVWXYZ%5B%5C%5D%5E_%60\
             abcdefghijklmnopqrstuvwxyz%7B%7C%7D%7E"
        );
        assert_eq!(posix_url(b"/"), "file:///");
        assert_eq!(posix_url(b"/\x01\t\n\r\x7f"), "file:///%01%09%0A%0D%7F");
        assert_eq!(posix_url("/é/𐐷".as_bytes()), "file:///%C3%A9/%F0%90%90%B7");
        assert_eq!(posix_url(b"/\xff"), "file:///%FF");
    }

    #[test]
    fn windows_paths_keep_drive_and_share() {
        assert_eq!(windows_url(r"C:\a b"), "file:///C:/a%20b");
        assert_eq!(windows_url(r"\\?\C:\a"), "file:///C:/a");
        assert_eq!(windows_url(r"\\srv\share\a"), "file://srv/share/a");
        assert_eq!(windows_url(r"\\?\UNC\srv\share\a"), "file://srv/share/a");
        assert_eq!(windows_url(r"c:\x%y#z"), "file:///c:/x%25y%23z");
    }
}
