//! The ignore files above the root.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::super::folder::Folder;
use super::dialect;
use super::matchers::Matchers;
use super::rules::{Level, Texts, Verdict, join, verdict};

/// Patterns that are left out one by one before their file is left out as a whole.
const MAX_ROUNDS: usize = 64;

/// What counts before the root's own files are looked at.
#[derive(Debug, Default)]
pub(super) struct Above {
    /// The root relative to the repository that it lies in; empty when it is the top itself.
    pub(super) prefix: String,
    /// The files from the repository down to the root's parent.
    pub(super) levels: Vec<Arc<Level>>,
}

impl Above {
    /// Looks for the repository at or above the root. Everything here uses plain paths: where the root is, is the
    /// host's own choice, and so are its parents.
    pub(super) fn find(root: &str, matchers: &Matchers) -> Self {
        let Ok(root) = fs::canonicalize(root) else {
            return Self::default();
        };
        let Some(repository) = root
            .ancestors()
            .find(|folder| folder.join(".git").symlink_metadata().is_ok())
        else {
            return Self::default();
        };
        let Ok(way) = root.strip_prefix(repository) else {
            return Self::default();
        };
        let mut above = Self::default();
        let mut texts = Vec::new();
        let mut folder = repository.to_path_buf();
        for segment in way {
            texts.push((above.prefix.clone(), read(&folder)));
            folder.push(segment);
            above.prefix = join(&above.prefix, &segment.to_string_lossy());
        }
        above.levels = without_patterns_for_the_root(&above.prefix, texts, matchers);
        above
    }
}

fn read(folder: &Path) -> Texts {
    Folder::ambient(folder)
        .map(|folder| Texts::read(&folder))
        .unwrap_or_default()
}

/// Compiles the levels, without the patterns that ignore the root or a directory on the way to it: whoever works there
/// does not mean to see it ignored as a whole, and the other patterns still count.
fn without_patterns_for_the_root(
    root: &str,
    mut texts: Vec<(String, Texts)>,
    matchers: &Matchers,
) -> Vec<Arc<Level>> {
    for round in 0.. {
        let levels: Vec<Arc<Level>> = texts
            .iter()
            .map(|(path, texts)| Arc::new(Level::compile(path, texts, matchers)))
            .collect();
        let culprit = ways_down(root).find_map(|(depth, path)| {
            match verdict(levels.get(..depth).unwrap_or_default(), path, true) {
                Verdict::Ignored(found) => Some(found),
                Verdict::Included | Verdict::Unknown => None,
            }
        });
        let Some(culprit) = culprit else {
            return levels;
        };
        let Some(text) = texts
            .get_mut(culprit.level)
            .and_then(|(_, texts)| texts.get_mut(culprit.source))
        else {
            return levels;
        };
        *text = if round < MAX_ROUNDS {
            without(text, culprit.pattern)
        } else {
            String::new()
        };
    }
    Vec::new()
}

/// Every directory on the way from the repository to the root, the root included, with the number of levels above it.
fn ways_down(root: &str) -> impl Iterator<Item = (usize, &str)> {
    let ends = root
        .match_indices('/')
        .map(|(at, _)| at)
        .chain((!root.is_empty()).then_some(root.len()));
    (1..).zip(ends.filter_map(|end| root.get(..end)))
}

/// The text without the lines that spell a pattern, which the matcher reports as it was translated.
fn without(text: &str, pattern: &str) -> String {
    dialect::lines(text)
        .filter(|line| dialect::translate(line).as_deref() != Some(pattern))
        .flat_map(|line| [line, "\n"])
        .collect()
}
