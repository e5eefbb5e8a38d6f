//! Trees in memory, and what the specification says about them, told without any cleverness.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use dsh_file_reference_local::builder::{Builder, Built};
use dsh_file_reference_local::workspace::{Kind, ListError, Listing, Outcome};

#[derive(Debug, Clone)]
pub struct Entry {
    pub path: String,
    pub kind: Kind,
    pub ignored: bool,
}

impl Entry {
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap()
    }

    fn parent(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(parent, _)| parent)
    }
}

/// Entries by path; a parent is a directory and is there.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    entries: BTreeMap<String, Entry>,
}

fn units(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

impl Memory {
    pub fn new(files: Vec<(Vec<String>, bool, bool)>) -> Self {
        let mut memory = Self::default();
        for (segments, directory, ignored) in files {
            for depth in 1..=segments.len() {
                let last = depth == segments.len();
                let kind = if last && !directory {
                    Kind::File
                } else {
                    Kind::Directory
                };
                let path = segments[..depth].join("/");
                let entry = Entry {
                    path: path.clone(),
                    kind,
                    ignored: last && ignored,
                };
                let there = memory.entries.entry(path).or_insert(entry);
                if there.kind == Kind::File && !last {
                    break;
                }
            }
        }
        memory
    }

    /// What a host answers for one directory.
    pub fn list(&self, path: &str, limit: u64) -> Outcome {
        if !path.is_empty() && self.entries.get(path).is_none_or(|e| e.kind == Kind::File) {
            return Outcome::Failed(ListError::NotFound);
        }
        let mut inside: Vec<&Entry> = self
            .entries
            .values()
            .filter(|e| e.parent() == path)
            .collect();
        inside.sort_by_key(|entry| units(entry.name()));
        let kept = inside
            .len()
            .min(usize::try_from(limit).unwrap_or(usize::MAX));
        let mut listing = Listing {
            omitted: (inside.len() - kept) as u64,
            ..Listing::default()
        };
        for (position, entry) in inside[..kept].iter().enumerate() {
            listing.names += &format!("{}/", entry.name());
            listing.kinds.push(entry.kind);
            if entry.ignored {
                listing.ignored.push(position as u32);
            }
        }
        Outcome::Listed(listing)
    }

    /// The first `limit` entries in breadth-first order; what lies under a marked directory is marked.
    pub fn breadth_first(&self, limit: usize) -> Vec<Entry> {
        let mut found: Vec<Entry> = Vec::new();
        let mut queue = std::collections::VecDeque::from([(String::new(), false)]);
        while let Some((path, marked)) = queue.pop_front() {
            let mut inside: Vec<&Entry> = self
                .entries
                .values()
                .filter(|e| e.parent() == path)
                .collect();
            inside.sort_by_key(|entry| units(entry.name()));
            for entry in inside {
                let entry = Entry {
                    ignored: entry.ignored || marked,
                    ..entry.clone()
                };
                if entry.kind == Kind::Directory {
                    queue.push_back((entry.path.clone(), entry.ignored));
                }
                found.push(entry);
            }
        }
        found.truncate(limit);
        found
    }

    /// Builds an index with a host that reads at most `most` directories of a batch.
    pub fn build(&self, limit: u64, most: usize) -> Built {
        let mut builder = Builder::new(limit);
        while let Some(batch) = builder.request() {
            let outcome = |(at, path): (usize, &String)| {
                if at < most {
                    self.list(path, batch.limit)
                } else {
                    Outcome::Skipped
                }
            };
            let outcomes: Vec<Outcome> = batch.paths.iter().enumerate().map(outcome).collect();
            builder.feed(&batch, &outcomes);
        }
        builder.finish()
    }
}

/// The score of SPEC 5.1 over the whole path.
pub fn score(path: &str, kind: Kind, query: &str) -> Option<u32> {
    let (path, query) = (path.to_lowercase(), query.to_lowercase());
    let name = path.rsplit('/').next().unwrap();
    if query.is_empty() {
        return Some(0);
    }
    let score = if name == query {
        1000
    } else if name.starts_with(&query) {
        900
    } else if name.contains(&query) {
        700
    } else if path.contains(&query) {
        500
    } else {
        300 + 100_usize.saturating_sub(gap(&units(&path), &query)?) as u32
    };
    Some(score + if kind == Kind::Directory { 25 } else { 0 })
}

/// The gap of SPEC 5.2, summed up as it is defined.
fn gap(path: &[u16], query: &str) -> Option<usize> {
    let (mut from, mut gap) = (0, 0);
    for c in query.chars() {
        let wanted = units(&c.to_string());
        let found = (from..path.len()).find(|at| path[*at..].starts_with(&wanted))?;
        gap += found - from;
        from = found + 1;
    }
    Some(gap)
}

/// SPEC 5, over a plain list of entries.
pub fn rank(entries: &[Entry], query: &str, limit: usize) -> Vec<String> {
    let hidden =
        |e: &&Entry| query.starts_with('.') || !e.path.split('/').any(|s| s.starts_with('.'));
    let scored = entries.iter().filter(hidden);
    let mut scored: Vec<(u32, &Entry)> = scored
        .filter_map(|e| Some((score(&e.path, e.kind, query)?, e)))
        .collect();
    scored.sort_by(|(a_score, a), (b_score, b)| {
        let lengths = units(&a.path).len().cmp(&units(&b.path).len());
        a.ignored
            .cmp(&b.ignored)
            .then(b_score.cmp(a_score))
            .then(b.kind.cmp(&a.kind))
            .then(if query.is_empty() {
                Ordering::Equal
            } else {
                lengths
            })
            .then_with(|| units(&a.path).cmp(&units(&b.path)))
    });
    scored
        .iter()
        .take(limit)
        .map(|(_, entry)| entry.path.clone())
        .collect()
}
