//! Ranking (SPEC 5), done in tiers: each looks only at entries that no better tier took, and none is entered when the
//! answer is already full of better candidates (SPEC 9).

use memchr::memmem;

use crate::index::Index;
use crate::score::{
    DIRECTORY_BONUS, HIGHEST_SUBSEQUENCE, NAME_CONTAINS, NAME_EQUAL, NAME_STARTS, Needle,
    PATH_CONTAINS, State, with_bonus,
};
use crate::top::{Candidate, Key, Top};
use crate::workspace::Kind;

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
        if search.has_use_for(HIGHEST_SUBSEQUENCE) {
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
        Self {
            index,
            needle,
            show_hidden,
            top: Top::new(index, limit),
            hits,
        }
    }

    /// Whether an entry of this score, before the bonus, could still be among the best.
    fn has_use_for(&self, score: u32) -> bool {
        self.top.floor() <= with_bonus(score, Kind::Directory)
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
        inside.push(
            self.index
                .prefix(0)
                .to_lowercase()
                .contains(&self.needle.text),
        );
        for directory in 1..self.index.directory_count() {
            let above = inside[self.index.parent(directory)];
            inside.push(above || self.is_hit(self.index.own_entry(directory)));
        }
        for (directory, inside) in inside.iter().enumerate() {
            if !inside || !self.is_open(directory) {
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
            return self.needle.advance_any(0, &prefix, 0);
        }
        let parent = self.index.parent(directory);
        self.advance(
            states[parent],
            self.index.own_entry(directory),
            parent,
            usize::MAX,
        )
    }

    fn scan_names(&mut self, directory: usize, state: State) {
        let base = self.index.lower_prefix_units(directory);
        let (matched, earliest) = match state {
            State::Ended(at) => (self.needle.count, at),
            // The remaining characters come one after the other at best.
            State::Matched(matched) => (matched, base + self.needle.count - matched - 1),
        };
        // Where the last character has to be found at the latest. Files lack the bonus, so that soon most directories
        // have nothing to offer but directories.
        let floor = self.top.floor();
        let file_reach = self.needle.reach(floor);
        let directory_reach = self.needle.reach(floor.saturating_sub(DIRECTORY_BONUS));
        if earliest > directory_reach {
            return;
        }
        let wanted = self.needle.masks[matched];
        let entries = self.index.entries(directory);
        for (entry, mask) in entries.clone().zip(&self.index.names().masks()[entries]) {
            if mask & wanted != wanted {
                continue;
            }
            let reach = match self.index.kind(entry) {
                Kind::File => file_reach,
                Kind::Directory => directory_reach,
            };
            if earliest > reach || self.is_hit(entry) || !self.is_shown(entry) {
                continue;
            }
            if let State::Ended(at) = self.advance(state, entry, directory, reach) {
                self.offer(self.needle.gap_score(at), entry, directory);
            }
        }
    }

    /// Goes on with the name of an entry, from the state at the end of its holder's prefix, as far as it is of use to find
    /// the last character.
    fn advance(&self, state: State, entry: usize, holder: usize, reach: usize) -> State {
        let State::Matched(matched) = state else {
            return state;
        };
        let names = self.index.names();
        if names.masks()[entry] & self.needle.classes[matched] == 0 {
            return state;
        }
        let base = self.index.lower_prefix_units(holder);
        if self.needle.is_ascii && !self.index.is_wide(entry) {
            let name = names.lower_bytes(entry);
            let useful = name.len().min(reach.saturating_sub(base).saturating_add(1));
            self.needle.advance_ascii(matched, &name[..useful], base)
        } else {
            self.needle.advance_any(matched, names.lower(entry), base)
        }
    }

    fn offer(&mut self, score: u32, entry: usize, holder: usize) {
        let kind = self.index.kind(entry);
        let units = self.index.prefix_units(holder) + self.index.name_units(entry);
        let key = Key::new(
            self.index.is_ignored(entry),
            with_bonus(score, kind),
            kind,
            units,
        );
        self.top.offer(key, entry, holder);
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
