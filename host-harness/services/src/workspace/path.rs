//! Which paths may be asked for at all.

use super::{ListError, MAX_PATH_BYTES, MAX_SEGMENT_BYTES};

/// Checks that a path is a plain way down from the directory, or empty for the directory itself.
///
/// # Errors
/// [`ListError::InvalidPath`] for every other spelling.
pub(super) fn check(path: &str) -> Result<(), ListError> {
    if path.is_empty() {
        return Ok(());
    }
    let fine = path.len() <= MAX_PATH_BYTES && path.split('/').all(is_plain_segment);
    if fine {
        Ok(())
    } else {
        Err(ListError::InvalidPath)
    }
}

/// Whether this is one real name: an absolute path shows as an empty first segment.
fn is_plain_segment(segment: &str) -> bool {
    // Windows knows a second separator, drive letters and named streams.
    let foreign = cfg!(windows) && segment.contains(['\\', ':']);
    let special = matches!(segment, "" | "." | "..") || segment.contains('\0') || foreign;
    !special && segment.len() <= MAX_SEGMENT_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_ways_down_are_accepted() {
        for path in [
            "",
            "a",
            "a/b/c",
            "...",
            ".hidden",
            "a b/\u{e9}",
            "~",
            "-",
            "a\nb",
            &"x".repeat(255),
        ] {
            assert_eq!(check(path), Ok(()), "{path:?}");
        }
        assert_eq!(check(&format!("{}x", "a/".repeat(2_047))), Ok(()));
    }

    #[test]
    fn every_other_spelling_is_refused() {
        let long = "x".repeat(256);
        let deep = format!("{}xx", "a/".repeat(2_047));
        let spellings = [
            "/", "/etc", "//", ".", "..", "a/..", "../a", "a/../b", "a/./b", "./a", "a//b", "a/",
            "a\0", "\0", "a/\0/b", &long, &deep,
        ];
        for path in spellings {
            assert_eq!(check(path), Err(ListError::InvalidPath), "{path:?}");
        }
    }
}
