//! Ranking (SPEC 5), done in tiers: each looks only at entries that no better tier took, and none is entered when the
//! answer is already full of better candidates (SPEC 9).

use memchr::memmem;

use crate::index::Index;
use crate::names::{Mask, mask};
use crate::top::{Candidate, Key, Top};
use crate::workspace::Kind;

const NAME_EQUAL: u32 = 1000;
const NAME_STARTS: u32 = 900;
const NAME_CONTAINS: u32 = 700;
const PATH_CONTAINS: u32 = 500;
const SUBSEQUENCE: u32 = 300;
/// What a subsequence without a gap earns beyond the bare one.
const NO_GAP_BONUS: u32 = 100;
const DIRECTORY_BONUS: u32 = 25;

/// The best `limit` entries of an index for a pattern, which must not contain `/`.
pub fn rank(index: &Index, pattern: &str, limit: u64) -> Vec<Candidate> {
    let needle = Needle::new(pattern);
    let mut search = Search::new(index, &needle, shows_hidden(pattern), limit);
    if pattern.is_empty() {
        search.take_all();
        return search.top.finish();
    }
    search.by_name();
    if search.has_use_for(PATH_CONTAINS) {
        let inside = search.by_path();
        if search.has_use_for(SUBSEQUENCE + NO_GAP_BONUS) {
            search.by_subsequence(&inside);
        }
    }
    search.top.finish()
}

/// Whether entries whose path has a segment beginning with `.` may be shown.
pub fn shows_hidden(pattern: &str) -> bool {
    pattern.starts_with('.')
}

struct Search<'a> {
    index: &'a Index,
    needle: &'a Needle,
    show_hidden: bool,
    top: Top<'a>,
    /// Entries whose name contains the needle, one bit each.
    hits: Vec<u64>,
}

impl<'a> Search<'a> {
    fn new(index: &'a Index, needle: &'a Needle, show_hidden: bool, limit: u64) -> Self {
        let hits = vec![0; index.len().div_ceil(64)];
        Self { index, needle, show_hidden, top: Top::new(index, limit), hits }
    }

    /// Whether an entry of this score, before the bonus, could still be among the best.
    fn has_use_for(&self, score: u32) -> bool {
        !self.top.is_beyond(Key::best_of(score + DIRECTORY_BONUS))
    }

    /// The empty pattern: everything, in the order of the paths.
    fn take_all(&mut self) {
        for directory in 0..self.index.directory_count() {
            for entry in self.index.entries(directory) {
                if self.is_shown(entry) {
                    let key = Key::new(self.index.is_ignored(entry), 0, self.index.kind(entry), 0);
                    self.top.offer(key, entry, directory);
                }
            }
        }
    }

    /// The tiers of the name, in one pass over all names.
    fn by_name(&mut self) {
        let names = self.index.names();
        let text = names.text().as_bytes();
        let finder = memmem::Finder::new(self.needle.text.as_bytes());
        let (mut from, mut entry, mut holder) = (0, 0, 0);
        while let Some(found) = finder.find(&text[from..]) {
            let position = from + found;
            entry = names.at(position, entry);
            from = names.start(entry + 1);
            self.hits[entry / 64] |= 1 << (entry % 64);
            if !self.is_shown(entry) {
                continue;
            }
            while !self.index.entries(holder).contains(&entry) {
                holder += 1;
            }
            let score = if position != names.start(entry) {
                NAME_CONTAINS
            } else if position + self.needle.text.len() + 1 == from {
                NAME_EQUAL
            } else {
                NAME_STARTS
            };
            self.offer(score, entry, holder);
        }
        self.top.sort_out();
    }

    /// The tier of the path: everything below a directory whose prefix contains the needle. Returns which directories do.
    fn by_path(&mut self) -> Vec<bool> {
        let mut inside = Vec::with_capacity(self.index.directory_count());
        inside.push(self.index.prefix(0).to_lowercase().contains(&self.needle.text));
        for directory in 1..self.index.directory_count() {
            let above = inside[self.index.parent(directory)];
            inside.push(above || self.is_hit(self.index.own_entry(directory)));
        }
        for directory in 0..self.index.directory_count() {
            if !inside[directory] || !self.is_open(directory) {
                continue;
            }
            for entry in self.index.entries(directory) {
                if !self.is_hit(entry) && self.is_shown(entry) {
                    self.offer(PATH_CONTAINS, entry, directory);
                }
            }
        }
        self.top.sort_out();
        inside
    }

    /// The tier of the subsequence. A greedy scan from the left is in the same state after a directory's prefix for all of
    /// its entries, so that each directory is scanned once and each name once.
    fn by_subsequence(&mut self, inside: &[bool]) {
        let mut states: Vec<State> = Vec::with_capacity(self.index.directory_count());
        for (directory, inside) in inside.iter().enumerate() {
            let state = self.enter(directory, &states);
            states.push(state);
            if !inside && self.is_open(directory) {
                self.scan_names(directory, state);
            }
        }
    }

    /// How far the needle is matched at the end of a directory's prefix.
    fn enter(&self, directory: usize, states: &[State]) -> State {
        if directory == 0 {
            let prefix = self.index.prefix(0).to_lowercase();
            return self.needle.advance(State::Matched(0), &prefix, 0);
        }
        let parent = self.index.parent(directory);
        let entry = self.index.own_entry(directory);
        let name = self.index.names().lower(entry);
        self.needle.advance(states[parent], name, self.index.lower_prefix_units(parent))
    }

    fn scan_names(&mut self, directory: usize, state: State) {
        let base = self.index.lower_prefix_units(directory);
        let (matched, highest) = match state {
            State::Ended(at) => (self.needle.count, self.needle.gap_score(at)),
            // The remaining characters come one after the other at best.
            State::Matched(matched) => {
                (matched, self.needle.gap_score(base + self.needle.count - matched - 1))
            }
        };
        if !self.has_use_for(highest) {
            return;
        }
        let wanted = self.needle.masks[matched];
        let names = self.index.names();
        for entry in self.index.entries(directory) {
            if names.masks()[entry] & wanted != wanted || self.is_hit(entry) || !self.is_shown(entry) {
                continue;
            }
            if let State::Ended(at) = self.needle.advance(state, names.lower(entry), base) {
                self.offer(self.needle.gap_score(at), entry, directory);
            }
        }
    }

    fn offer(&mut self, score: u32, entry: usize, holder: usize) {
        let kind = self.index.kind(entry);
        let score = score + if kind == Kind::Directory { DIRECTORY_BONUS } else { 0 };
        let units = self.index.prefix_units(holder) + self.index.name_units(entry);
        self.top.offer(Key::new(self.index.is_ignored(entry), score, kind, units), entry, holder);
    }

    fn is_hit(&self, entry: usize) -> bool {
        self.hits[entry / 64] >> (entry % 64) & 1 == 1
    }

    fn is_shown(&self, entry: usize) -> bool {
        self.show_hidden || !self.index.is_hidden(entry)
    }

    /// Whether entries of the directory can be shown at all.
    fn is_open(&self, directory: usize) -> bool {
        directory == 0 || self.is_shown(self.index.own_entry(directory))
    }
}

/// The state of a greedy subsequence scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// So many characters of the needle are matched, not all.
    Matched(usize),
    /// All are matched, the last one at this position in UTF-16 code units.
    Ended(usize),
}

/// A lower-cased pattern.
pub(crate) struct Needle {
    text: String,
    /// How many characters it has.
    count: usize,
    /// For each count of characters, the classes of those after it.
    masks: Vec<Mask>,
    chars: Vec<char>,
}

impl Needle {
    pub(crate) fn new(pattern: &str) -> Self {
        let text = pattern.to_lowercase();
        let chars: Vec<char> = text.chars().collect();
        let mut masks: Vec<Mask> = text.char_indices().map(|(at, _)| mask(&text[at..])).collect();
        masks.push(0);
        Self { count: chars.len(), text, masks, chars }
    }

    /// Goes on with lower-cased text that begins `base` code units into the path.
    fn advance(&self, state: State, text: &str, base: usize) -> State {
        let State::Matched(matched) = state else { return state };
        if self.text.is_ascii() && text.is_ascii() {
            self.advance_ascii(matched, text, base)
        } else {
            self.advance_any(matched, text, base)
        }
    }

    fn advance_ascii(&self, mut matched: usize, text: &str, base: usize) -> State {
        let needle = self.text.as_bytes();
        for (at, byte) in text.bytes().enumerate() {
            if byte == needle[matched] {
                matched += 1;
                if matched == needle.len() {
                    return State::Ended(base + at);
                }
            }
        }
        State::Matched(matched)
    }

    fn advance_any(&self, mut matched: usize, text: &str, base: usize) -> State {
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
    fn gap_score(&self, last: usize) -> u32 {
        let gap = u32::try_from(last + 1 - self.count).unwrap_or(u32::MAX);
        SUBSEQUENCE + NO_GAP_BONUS.saturating_sub(gap)
    }

    /// The score of a file whose path is this lower-cased name alone, without the tier of the path (SPEC 5.2).
    pub(crate) fn score_name(&self, name: &str) -> Option<u32> {
        if name == self.text {
            Some(NAME_EQUAL)
        } else if name.starts_with(&self.text) {
            Some(NAME_STARTS)
        } else if name.contains(&self.text) {
            Some(NAME_CONTAINS)
        } else if let State::Ended(at) = self.advance(State::Matched(0), name, 0) {
            Some(self.gap_score(at))
        } else {
            None
        }
    }

    /// The pattern in lower case.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// How many characters it has.
    pub(crate) fn count(&self) -> usize {
        self.count
    }
}
