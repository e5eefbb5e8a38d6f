//! Near misses, for a pattern that matches nothing (SPEC 8.3).

use std::borrow::Cow;

use icu_normalizer::ComposingNormalizerBorrowed;

use crate::index::Index;
use crate::names::{Mask, mask};
use crate::rank::shows_hidden;
use crate::score::Needle;
use crate::top::{Candidate, Key, Top};

/// Shorter patterns are near to too much.
const MIN_CHARACTERS: usize = 3;
const MAX_DISTANCE: usize = 3;
/// Above every distance and below every score of the ranking.
const TYPO: u32 = 100;

/// The nearest entries by name, at most `limit`; `pattern` must not contain `/`.
pub fn suggest(index: &Index, pattern: &str, limit: u64) -> Vec<Candidate> {
    let mut top = Top::new(index, limit);
    let matcher = Matcher::new(pattern);
    if pattern.chars().count() < MIN_CHARACTERS {
        return top.finish();
    }
    let show_hidden = shows_hidden(pattern);
    for holder in 0..index.directory_count() {
        for entry in index.entries(holder) {
            if !show_hidden && index.is_hidden(entry) {
                continue;
            }
            if let Some(score) = matcher.score(index, entry) {
                let units = index.prefix_units(holder) + index.name_units(entry);
                let key = Key::new(index.is_ignored(entry), score, index.kind(entry), units);
                top.offer(key, entry, holder);
            }
        }
    }
    top.finish()
}

struct Matcher {
    needle: Needle,
    /// Whether composition can make a difference to names that are ASCII, too.
    composes: bool,
    mask: Mask,
    distance: usize,
}

impl Matcher {
    fn new(pattern: &str) -> Self {
        let needle = Needle::new(&compose(&pattern.to_lowercase()));
        let distance = (needle.count / 4).clamp(1, MAX_DISTANCE);
        let composes = !pattern.is_ascii();
        Self {
            mask: mask(&needle.text),
            needle,
            composes,
            distance,
        }
    }

    /// How near an entry is: a score of the ranking when only composition stood in the way, else less for each typo.
    fn score(&self, index: &Index, entry: usize) -> Option<u32> {
        let wide = index.is_wide(entry);
        let lower = index.names().lower(entry);
        let name = if wide {
            compose(lower)
        } else {
            Cow::Borrowed(lower)
        };
        if (wide || self.composes)
            && let Some(score) = self.needle.score_name(&name)
        {
            return Some(score);
        }
        // What the whole name lacks its stem lacks too.
        if !wide && self.lacking(index.names().masks()[entry]) > self.distance {
            return None;
        }
        let distance = [self.distance(&name), self.distance(stem(&name))]
            .into_iter()
            .flatten()
            .min();
        distance.map(|distance| TYPO - distance as u32)
    }

    /// How many classes of characters of the pattern are not among those of a name.
    fn lacking(&self, name: Mask) -> usize {
        (self.mask & !name).count_ones() as usize
    }

    fn distance(&self, name: &str) -> Option<usize> {
        // Each character more costs an edit at least, as does each class of characters that one of the two lacks.
        let length = if name.is_ascii() {
            name.len()
        } else {
            name.chars().count()
        };
        if length.abs_diff(self.needle.count) > self.distance {
            return None;
        }
        let foreign = (mask(name) & !self.mask).count_ones() as usize;
        if foreign.max(self.lacking(mask(name))) > self.distance {
            return None;
        }
        let distance = strsim::osa_distance(&self.needle.text, name);
        (distance <= self.distance).then_some(distance)
    }
}

fn compose(text: &str) -> Cow<'_, str> {
    ComposingNormalizerBorrowed::new_nfc().normalize(text)
}

/// The name without its last extension; a leading dot begins none.
fn stem(name: &str) -> &str {
    match name.rfind('.') {
        None | Some(0) => name,
        Some(dot) => &name[..dot],
    }
}
