//! Cuts long texts to a number of UTF-8 bytes without splitting a character (SPEC 7).

use std::ops::Range;

/// The longest beginning of `text` that has at most `max` bytes.
pub fn prefix(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

/// At most `max` bytes of `text` around the hit at the byte range `hit`.
///
/// A hit that fits is wholly inside and, away from both ends, in the middle; of a longer one the excerpt shows the beginning. Offsets that
/// fall inside a character or beyond the end are moved to the nearest place where they make sense.
pub fn excerpt(text: &str, hit: Range<usize>, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let start = text.floor_char_boundary(hit.start);
    let end = text.ceil_char_boundary(hit.end).max(start);
    let lead = max.saturating_sub(end - start) / 2;
    let earliest = start.saturating_sub(lead).min(text.len() - max);
    let from = text.ceil_char_boundary(earliest);
    &text[from..text.floor_char_boundary(from + max)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_prefix_stops_before_the_character_that_does_not_fit() {
        assert_eq!(prefix("aé😀", 7), "aé😀");
        assert_eq!(prefix("aé😀", 6), "aé");
        assert_eq!(prefix("aé😀", 2), "a");
        assert_eq!(prefix("😀", 0), "");
    }

    #[test]
    fn an_excerpt_is_centred_on_the_hit() {
        let text = format!("{}HIT{}", "a".repeat(100), "b".repeat(100));
        assert_eq!(excerpt(&text, 100..103, 9), "aaaHITbbb");
    }

    #[test]
    fn an_excerpt_stays_inside_the_text() {
        let text = format!("HIT{}END", "a".repeat(100));
        assert_eq!(excerpt(&text, 0..3, 6), "HITaaa");
        assert_eq!(excerpt(&text, 103..106, 6), "aaaEND");
        assert_eq!(excerpt(&text, 500..900, 6), "aaaEND");
    }

    #[test]
    fn a_hit_that_is_too_long_is_shown_from_its_beginning() {
        let text = format!("aaa{}bbb", "H".repeat(50));
        assert_eq!(excerpt(&text, 3..53, 4), "HHHH");
    }

    proptest! {
        #[test]
        fn cuts_are_parts_of_the_text_within_the_bound(text in "\\PC{0,80}", from in 0usize..400, width in 0usize..400, max in 0usize..100) {
            let head = prefix(&text, max);
            prop_assert!(text.starts_with(head) && head.len() <= max);
            // Only a character that would not fit may have stopped it.
            prop_assert!(head.len() == text.len() || head.len() + 4 > max);
            let part = excerpt(&text, from..from + width, max);
            prop_assert!(text.contains(part) && part.len() <= max.max(text.len().min(max)));
            prop_assert!(part.len() == text.len() || part.len() + 8 > max);
        }

        #[test]
        fn a_hit_that_fits_is_shown_whole(before in "\\PC{0,60}", hit in "\\PC{1,10}", after in "\\PC{0,60}") {
            let text = format!("{before}{hit}{after}");
            let part = excerpt(&text, before.len()..before.len() + hit.len(), 40);
            prop_assert!(part.contains(&hit));
        }
    }
}
