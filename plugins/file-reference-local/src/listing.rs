//! Queries that name a directory: which one is meant (SPEC 4.1).

use crate::config::Config;

/// A query as the user typed it, with every `\` turned into `/`, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Query<'a> {
    /// The entries of one directory.
    Listing {
        /// The text up to and including the last `/`.
        directory: &'a str,
        /// The rest.
        fragment: &'a str,
    },
    /// A fuzzy search over the index; never empty and without `/`.
    Fuzzy(&'a str),
}

impl<'a> Query<'a> {
    /// Takes a query apart. Its `\` must have been replaced.
    pub fn parse(text: &'a str) -> Self {
        match text.rfind('/') {
            Some(slash) => {
                let (directory, fragment) = text.split_at(slash + 1);
                Self::Listing {
                    directory,
                    fragment,
                }
            }
            None if text.is_empty() => Self::Listing {
                directory: "",
                fragment: "",
            },
            None => Self::Fuzzy(text),
        }
    }

    /// The part that entries are ranked by: the fragment of a listing, or the whole query.
    pub fn pattern(self) -> &'a str {
        match self {
            Self::Listing { fragment, .. } => fragment,
            Self::Fuzzy(query) => query,
        }
    }
}

/// The path relative to `root` of the directory that `typed` means, or none when it lies outside the root or a typed
/// segment is excluded. Purely lexical: nothing is looked at, so `missing/../` is the root.
pub fn resolve(root: &str, typed: &str, config: &Config) -> Option<String> {
    if typed.split('/').any(|segment| config.excludes(segment)) {
        return None;
    }
    let root = fold(root.split('/'));
    let start: &[&str] = if typed.starts_with('/') { &[] } else { &root };
    let meant = fold(start.iter().copied().chain(typed.split('/')));
    meant
        .strip_prefix(root.as_slice())
        .map(|inside| inside.join("/"))
}

/// Folds `.`, `..` and empty segments of an absolute path; `..` at the top stays at the top.
fn fold<'a>(segments: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut folded = Vec::new();
    for segment in segments {
        match segment {
            "" | "." => {}
            ".." => {
                folded.pop();
            }
            name => folded.push(name),
        }
    }
    folded
}
