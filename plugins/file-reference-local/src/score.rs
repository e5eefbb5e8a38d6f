//! Scores of a single path (SPEC 5.1 and 5.2).

use crate::names::{Mask, mask};
use crate::workspace::Kind;

pub(crate) const NAME_EQUAL: u32 = 1000;
pub(crate) const NAME_STARTS: u32 = 900;
pub(crate) const NAME_CONTAINS: u32 = 700;
pub(crate) const PATH_CONTAINS: u32 = 500;
const SUBSEQUENCE: u32 = 300;
/// What a subsequence without a gap earns beyond the bare one.
const NO_GAP_BONUS: u32 = 100;
pub(crate) const DIRECTORY_BONUS: u32 = 25;
/// The score of a subsequence without a gap.
pub(crate) const HIGHEST_SUBSEQUENCE: u32 = SUBSEQUENCE + NO_GAP_BONUS;

/// A score with what a directory earns beyond a file.
pub(crate) fn with_bonus(score: u32, kind: Kind) -> u32 {
    if kind == Kind::Directory {
        score + DIRECTORY_BONUS
    } else {
        score
    }
}

/// The state of a greedy subsequence scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// So many characters of the needle are matched, not all.
    Matched(usize),
    /// All are matched, the last one at this position in UTF-16 code units.
    Ended(usize),
}

/// A lower-cased pattern.
pub(crate) struct Needle {
    pub(crate) text: String,
    pub(crate) is_ascii: bool,
    /// How many characters it has.
    pub(crate) count: usize,
    /// For each count of characters, the classes of those after it.
    pub(crate) masks: Vec<Mask>,
    /// The class of each character.
    pub(crate) classes: Vec<Mask>,
    chars: Vec<char>,
}

impl Needle {
    pub(crate) fn new(pattern: &str) -> Self {
        let text = pattern.to_lowercase();
        let chars: Vec<char> = text.chars().collect();
        let classes: Vec<Mask> = chars
            .iter()
            .map(|c| mask(c.encode_utf8(&mut [0; 4])))
            .collect();
        let mut masks = vec![0; classes.len() + 1];
        for (at, class) in classes.iter().enumerate().rev() {
            masks[at] = masks[at + 1] | class;
        }
        Self {
            count: chars.len(),
            is_ascii: text.is_ascii(),
            text,
            masks,
            chars,
            classes,
        }
    }

    /// Goes on with lower-cased ASCII that begins `base` code units into the path. The needle must be ASCII too.
    pub(crate) fn advance_ascii(&self, mut matched: usize, text: &[u8], base: usize) -> State {
        let needle = self.text.as_bytes();
        for (at, byte) in text.iter().enumerate() {
            if *byte == needle[matched] {
                matched += 1;
                if matched == needle.len() {
                    return State::Ended(base + at);
                }
            }
        }
        State::Matched(matched)
    }

    /// The same for any text and any needle.
    pub(crate) fn advance_any(&self, mut matched: usize, text: &str, base: usize) -> State {
        let mut at = base;
        for c in text.chars() {
            if c == self.chars[matched] {
                matched += 1;
                if matched == self.count {
                    return State::Ended(at);
                }
            }
            at += c.len_utf16();
        }
        State::Matched(matched)
    }

    /// The score of a subsequence by where its last character is. The gaps before each character add up to everything
    /// up to the last one that is no hit, because the scan goes on one code unit after each hit (SPEC 5.2).
    pub(crate) fn gap_score(&self, last: usize) -> u32 {
        let gap = u32::try_from(last + 1 - self.count).unwrap_or(u32::MAX);
        SUBSEQUENCE + NO_GAP_BONUS.saturating_sub(gap)
    }

    /// The last position whose [`Needle::gap_score`] is at least `floor`.
    pub(crate) fn reach(&self, floor: u32) -> usize {
        match floor.checked_sub(SUBSEQUENCE) {
            None | Some(0) => usize::MAX,
            Some(bonus) => (NO_GAP_BONUS.saturating_sub(bonus) as usize) + self.count - 1,
        }
    }

    /// The score of a file whose path is this lower-cased name alone, without the tier of the path (SPEC 5.2).
    pub(crate) fn score_name(&self, name: &str) -> Option<u32> {
        if name == self.text {
            Some(NAME_EQUAL)
        } else if name.starts_with(&self.text) {
            Some(NAME_STARTS)
        } else if name.contains(&self.text) {
            Some(NAME_CONTAINS)
        } else if let State::Ended(at) = self.advance_any(0, name, 0) {
            Some(self.gap_score(at))
        } else {
            None
        }
    }
}
