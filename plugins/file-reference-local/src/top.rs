//! The best candidates of a search, however many there are to choose from.

use std::cmp::Ordering;

use dsh_guest_support::utf16;

use crate::index::Index;
use crate::workspace::Kind;

/// An answer: a path as it would be completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The path, without a trailing slash.
    pub path: String,
    /// What it is.
    pub kind: Kind,
}

/// The sort key of SPEC 5.3 less the path itself, packed so that smaller is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(u64);

/// No score is higher: an equal name of a directory.
const BEST_SCORE: u32 = 1025;

impl Key {
    /// From most to least significant: entries that ignore files exclude come last, a higher score first, a directory
    /// first, a shorter path first.
    pub fn new(ignored: bool, score: u32, kind: Kind, units: usize) -> Self {
        let inverted = u64::from(BEST_SCORE.saturating_sub(score));
        let file = u64::from(kind == Kind::File);
        Self(u64::from(ignored) << 44 | inverted << 33 | file << 32 | units as u64)
    }

    /// The lowest score that another entry needs to be as good. Any is enough against one that comes last.
    fn floor(self) -> u32 {
        let ignored = self.0 >> 44 == 1;
        if ignored {
            0
        } else {
            BEST_SCORE - (self.0 >> 33) as u32
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Item {
    key: Key,
    entry: u32,
    holder: u32,
}

/// Keeps the best `limit` of the entries that are put in.
pub struct Top<'a> {
    index: &'a Index,
    limit: usize,
    /// At most twice the limit: sorting out is put off until it pays.
    items: Vec<Item>,
    /// The last of the best `limit` found so far, once there are as many.
    worst: Option<Item>,
}

impl<'a> Top<'a> {
    /// An empty selection.
    pub fn new(index: &'a Index, limit: u64) -> Self {
        let limit = usize::try_from(limit)
            .unwrap_or(usize::MAX)
            .min(index.len());
        Self {
            index,
            limit,
            items: Vec::new(),
            worst: None,
        }
    }

    /// The score, bonus included, below which no entry can be among the best any more.
    pub fn floor(&self) -> u32 {
        self.worst.map_or(0, |worst| worst.key.floor())
    }

    /// Offers an entry of the directory `holder`. An entry must not be offered twice.
    pub fn offer(&mut self, key: Key, entry: usize, holder: usize) {
        let item = Item {
            key,
            entry: entry as u32,
            holder: holder as u32,
        };
        if self
            .worst
            .is_some_and(|worst| order(self.index, &item, &worst) == Ordering::Greater)
        {
            return;
        }
        self.items.push(item);
        if self.items.len() >= self.limit.saturating_mul(2).max(16) {
            self.sort_out();
        }
    }

    /// Drops what is not among the best. Raises the floor to what was offered so far.
    pub fn sort_out(&mut self) {
        if self.limit == 0 || self.items.len() < self.limit {
            return;
        }
        let index = self.index;
        let (_, worst, _) = self
            .items
            .select_nth_unstable_by(self.limit - 1, |a, b| order(index, a, b));
        self.worst = Some(*worst);
        self.items.truncate(self.limit);
    }

    /// The best, in order.
    pub fn finish(mut self) -> Vec<Candidate> {
        self.sort_out();
        let index = self.index;
        self.items.sort_unstable_by(|a, b| order(index, a, b));
        self.items
            .iter()
            .map(|item| candidate(index, item))
            .collect()
    }
}

fn candidate(index: &Index, item: &Item) -> Candidate {
    let (prefix, name) = parts(index, item);
    Candidate {
        path: [prefix, name].concat(),
        kind: index.kind(item.entry as usize),
    }
}

fn parts<'a>(index: &'a Index, item: &Item) -> (&'a str, &'a str) {
    (
        index.prefix(item.holder as usize),
        index.names().original(item.entry as usize),
    )
}

/// The whole order of SPEC 5.3. Paths are compared only when all else is equal.
fn order(index: &Index, a: &Item, b: &Item) -> Ordering {
    a.key.cmp(&b.key).then_with(|| {
        if a.holder == b.holder {
            // The entries of one directory come in the order of their names.
            return a.entry.cmp(&b.entry);
        }
        cmp_joined(parts(index, a), parts(index, b))
    })
}

/// Compares two paths that are given as a prefix and a name each, without joining them.
fn cmp_joined<'a>(a: (&'a str, &'a str), b: (&'a str, &'a str)) -> Ordering {
    let shared = a.0.len().min(b.0.len());
    let differing = a.0.bytes().zip(b.0.bytes()).position(|(x, y)| x != y);
    if differing.is_some() {
        return utf16::cmp(a.0, b.0);
    }
    // One prefix begins with the other, so that both may be cut at the shorter one's end.
    let rest = |(prefix, name): (&'a str, &'a str)| prefix.bytes().skip(shared).chain(name.bytes());
    utf16::cmp_utf8(rest(a), rest(b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn joined_paths_compare_as_one_text(a in "([a/\u{e000}😀]{0,3}/)?", b in "[a/\u{e000}😀]{0,3}", c in "([a/\u{e000}😀]{0,3}/)?", d in "[a/\u{e000}😀]{0,3}") {
            let wide = |x: &str, y: &str| [x, y].concat().encode_utf16().collect::<Vec<u16>>();
            prop_assert_eq!(cmp_joined((&a, &b), (&c, &d)), wide(&a, &b).cmp(&wide(&c, &d)));
        }
    }
}
