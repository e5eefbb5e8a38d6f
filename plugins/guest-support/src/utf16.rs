//! Measures and order of text in UTF-16 code units, which is how JavaScript counts and compares strings.

use std::cmp::Ordering;

/// The length in UTF-16 code units, JavaScript's `length`.
pub fn len(text: &str) -> usize {
    // Most texts are ASCII, and to see it takes a machine word at a time.
    if text.is_ascii() {
        return text.len();
    }
    // One unit per character, two for those of four UTF-8 bytes. Counted over bytes, because that loop vectorises.
    text.bytes()
        .map(|b| usize::from(!is_continuation(b)) + usize::from(b >= 0xf0))
        .sum()
}

/// Order by UTF-16 code units, JavaScript's `<`.
///
/// It is the order of the UTF-8 bytes, but for one thing: U+E000 to U+FFFF come after the characters beyond them,
/// which are written with surrogates.
pub fn cmp(a: &str, b: &str) -> Ordering {
    cmp_utf8(a.bytes(), b.bytes())
}

/// The same for texts that are given as their UTF-8 bytes, such as those of several pieces one after the other.
pub fn cmp_utf8(a: impl Iterator<Item = u8>, mut b: impl Iterator<Item = u8>) -> Ordering {
    for x in a {
        match b.next() {
            None => return Ordering::Greater,
            Some(y) if x != y => return unit_rank(x).cmp(&unit_rank(y)),
            Some(_) => {}
        }
    }
    if b.next().is_none() {
        Ordering::Equal
    } else {
        Ordering::Less
    }
}

/// Where a position counted in UTF-16 code units falls in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Bytes of whole characters before the position; always a character boundary.
    pub bytes: usize,
    /// The high surrogate before the position when it stands inside a character of two units. That character
    /// begins at `bytes`.
    pub split: Option<u16>,
}

/// Finds the position `units` code units into `text`; a position past the end is the end.
pub fn cut(text: &str, units: usize) -> Cut {
    let mut left = units;
    for (bytes, c) in text.char_indices() {
        let width = c.len_utf16();
        if left < width {
            let split = (left == 1).then(|| c.encode_utf16(&mut [0; 2])[0]);
            return Cut { bytes, split };
        }
        left -= width;
    }
    Cut {
        bytes: text.len(),
        split: None,
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

/// Ranks the first differing byte of two texts: lead bytes 0xEE and 0xEF (U+E000 to U+FFFF) go behind 0xF0 to 0xF4.
fn unit_rank(byte: u8) -> u8 {
    if byte == 0xee || byte == 0xef {
        byte + 0x10
    } else {
        byte
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn astral_characters_sort_before_the_end_of_the_basic_plane() {
        assert_eq!(cmp("\u{1f600}", "\u{ff5e}"), Ordering::Less);
        assert_eq!(cmp("\u{1f600}", "\u{d7ff}"), Ordering::Greater);
        assert_eq!(cmp("a", "a\u{1f600}"), Ordering::Less);
    }

    #[test]
    fn a_cut_inside_a_pair_gives_its_first_half() {
        assert_eq!(
            cut("a😀b", 2),
            Cut {
                bytes: 1,
                split: Some(0xd83d)
            }
        );
        assert_eq!(
            cut("a😀b", 3),
            Cut {
                bytes: 5,
                split: None
            }
        );
        assert_eq!(
            cut("a😀b", 99),
            Cut {
                bytes: 6,
                split: None
            }
        );
        assert_eq!(
            cut("", 0),
            Cut {
                bytes: 0,
                split: None
            }
        );
    }

    proptest! {
        #[test]
        fn measures_agree_with_the_encoding(a in "\\PC*|[a\u{e000}-\u{10ffff}]{0,6}", b in "\\PC*|[a\u{e000}-\u{10ffff}]{0,6}", at in 0usize..40) {
            let (wide_a, wide_b): (Vec<u16>, Vec<u16>) = (a.encode_utf16().collect(), b.encode_utf16().collect());
            prop_assert_eq!(len(&a), wide_a.len());
            prop_assert_eq!(cmp(&a, &b), wide_a.cmp(&wide_b));
            let found = cut(&a, at);
            let mut head: Vec<u16> = a[..found.bytes].encode_utf16().collect();
            head.extend(found.split);
            prop_assert_eq!(&head[..], &wide_a[..at.min(wide_a.len())]);
        }
    }
}
