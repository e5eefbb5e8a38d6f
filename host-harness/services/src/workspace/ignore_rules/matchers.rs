//! Compiled ignore files.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::super::MAX_PATH_BYTES;
use super::dialect;

/// An ignore file that is larger than this, in bytes, is not read.
pub(super) const MAX_FILE_BYTES: usize = 1 << 20;

/// Patterns of one file that count; the rest of a longer file is left out, because compiling takes time for each, about
/// a third of a millisecond for the worst.
const MAX_PATTERNS: usize = 4_096;

/// Text that is remembered in all, in bytes, before everything is forgotten.
const MAX_CACHED_BYTES: usize = 1 << 20;

/// Remembers what ignore files compiled to.
///
/// The key is the text itself: no time stamp is trusted, so an edit always shows, and a file that a hundred packages of
/// a repository share is compiled once.
#[derive(Debug, Default)]
pub(in super::super) struct Matchers {
    cache: Mutex<Cache>,
}

#[derive(Debug, Default)]
struct Cache {
    by_text: HashMap<String, Arc<Gitignore>>,
    bytes: usize,
}

impl Matchers {
    /// The matcher for the text of an ignore file, for paths relative to the directory of that file.
    pub(super) fn compile(&self, text: &str) -> Arc<Gitignore> {
        // A panic elsewhere cannot leave the cache half changed, so a poisoned lock is as good as any.
        if let Some(known) = self
            .cache
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .by_text
            .get(text)
        {
            return Arc::clone(known);
        }
        let matcher = Arc::new(build(text));
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.bytes + text.len() > MAX_CACHED_BYTES {
            *cache = Cache::default();
        }
        cache.bytes += text.len();
        cache.by_text.insert(text.to_owned(), Arc::clone(&matcher));
        matcher
    }
}

fn build(text: &str) -> Gitignore {
    let mut builder = GitignoreBuilder::new("");
    builder.allow_unclosed_class(false);
    let lines = dialect::lines(text).filter(|line| line.len() <= MAX_PATH_BYTES);
    let patterns = lines
        .filter_map(dialect::translate)
        .filter(|pattern| !pattern.is_empty());
    for pattern in patterns.take(MAX_PATTERNS) {
        // A line that is no pattern matches nothing in git either.
        let _ = builder.add_line(None, &pattern);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}
