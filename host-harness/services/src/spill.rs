//! Who may read which spill file (SPEC-sessions 10).
//!
//! DSH moves long tool output into files and leaves their paths in the log. A plugin that is asked to search such a file asks
//! here first: the model names the path, so the path alone proves nothing.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::session_query::{Cancel, EventFilter, PageLimits, SessionQuery, SessionQueryError};

/// What is said of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// The caller may search this file; links are resolved.
    Granted(PathBuf),
    /// The path lies where the caller's spill files are, but there is no such file any more.
    Vanished,
    /// Not a spill file of the caller, whether it exists or not.
    Denied,
}

/// Where spill files lie. Nothing is listed beforehand: a directory that a DSH process makes later counts too.
#[derive(Debug, Clone, Default)]
pub struct SpillRoots {
    /// Directories that hold a `session-<hash>` directory for each session, as DSH's configuration names them.
    pub sessions: Vec<PathBuf>,
    /// Directories in which DSH processes make such a directory for themselves, `dsh-spill-*`, when none is configured. Those of
    /// earlier processes count as well, since their paths are still in the logs.
    pub temporary: Vec<PathBuf>,
    /// Directories that hold `dsh-subprocess-*` directories: output of commands, not kept apart by session.
    pub subprocess: Vec<PathBuf>,
}

impl SpillRoots {
    /// The places that DSH uses when nothing is configured: `dsh-spill-*` and `dsh-subprocess-*` in the temporary directory.
    #[must_use]
    pub fn in_temporary_directory() -> Self {
        Self::under(std::env::temp_dir())
    }

    /// The same in another temporary directory, which is that of a DSH process with an environment of its own.
    #[must_use]
    pub fn under(temporary: PathBuf) -> Self {
        Self {
            sessions: Vec::new(),
            temporary: vec![temporary.clone()],
            subprocess: vec![temporary],
        }
    }

    /// The directories with session directories that could hold this path.
    fn for_path(&self, asked: &Path) -> Vec<PathBuf> {
        let mut roots = self.sessions.clone();
        let resolved = asked.canonicalize().ok();
        let above = asked
            .ancestors()
            .chain(resolved.iter().flat_map(|path| path.ancestors()));
        roots.extend(
            above
                .filter(|directory| is_made_by_dsh(directory, "dsh-spill-", &self.temporary))
                .map(Path::to_owned),
        );
        roots
    }
}

/// Whether this is a directory that a DSH process has made in one of these places, or made there before it was cleaned up. Everybody may
/// write to a temporary directory, so links there and what belongs to others lead nowhere.
fn is_made_by_dsh(directory: &Path, prefix: &str, places: &[PathBuf]) -> bool {
    let named = directory
        .file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.starts_with(prefix));
    if !named {
        return false;
    }
    let place = directory.parent();
    let is_there =
        place.is_some_and(|place| places.iter().any(|known| same_directory(known, place)));
    is_there
        && match fs::symlink_metadata(directory) {
            Ok(metadata) => metadata.is_dir() && is_ours(&metadata),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
}

#[cfg(unix)]
fn is_ours(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    metadata.uid() == rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn is_ours(_: &fs::Metadata) -> bool {
    true
}

/// Judges paths for sessions.
pub struct SpillGuard {
    roots: SpillRoots,
    sessions: Arc<dyn SessionQuery>,
}

impl SpillGuard {
    /// A guard of these places. The session service tells a session's ancestors and what its tools have printed.
    #[must_use]
    pub fn new(roots: SpillRoots, sessions: Arc<dyn SessionQuery>) -> Self {
        Self { roots, sessions }
    }

    /// Judges a path that a caller in a session wants to search. A directory, a special file, a relative path and a path of
    /// another session are denied alike, so that an answer tells nothing about files that are not the caller's.
    ///
    /// # Errors
    /// [`SessionQueryError::Cancelled`] only: a session whose history cannot be read has the spill files of its own id.
    pub fn authorize(
        &self,
        session_id: &str,
        path: &str,
        cancel: &Cancel,
    ) -> Result<Access, SessionQueryError> {
        cancel.check()?;
        let asked = Path::new(path);
        let plain = asked
            .components()
            .all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        if !asked.is_absolute() || !plain || path.contains('\0') {
            return Ok(Access::Denied);
        }
        if let Some(access) = self.in_session_directory(session_id, asked, cancel)? {
            return Ok(access);
        }
        if let Some(access) = self.in_subprocess_directory(session_id, asked, path, cancel)? {
            return Ok(access);
        }
        Ok(Access::Denied)
    }

    /// Judges a path inside the spill directory of the caller or of an ancestor: a fork keeps the paths of its parent.
    fn in_session_directory(
        &self,
        session_id: &str,
        asked: &Path,
        cancel: &Cancel,
    ) -> Result<Option<Access>, SessionQueryError> {
        let roots = self.roots.for_path(asked);
        let in_roots = |id: &str| {
            let directory = format!("session-{}", short_hash(id));
            roots
                .iter()
                .map(move |root| root.join(&directory))
                .find_map(|place| judge(asked, &place))
        };
        if let Some(access) = in_roots(session_id) {
            return Ok(Some(access));
        }
        for ancestor in self.ancestors(session_id, cancel)? {
            if let Some(access) = in_roots(&ancestor) {
                return Ok(Some(access));
            }
        }
        Ok(None)
    }

    fn ancestors(
        &self,
        session_id: &str,
        cancel: &Cancel,
    ) -> Result<Vec<String>, SessionQueryError> {
        let records = match self.sessions.list_sessions(cancel) {
            Ok(records) => records,
            Err(SessionQueryError::Cancelled) => return Err(SessionQueryError::Cancelled),
            Err(_) => return Ok(Vec::new()),
        };
        let parent = |id: &str| {
            records
                .iter()
                .find(|record| record.header.id == id)
                .and_then(|record| record.header.parent_session.clone())
        };
        let mut chain = Vec::new();
        let mut seen = HashSet::from([session_id.to_owned()]);
        let mut next = parent(session_id);
        // A log may claim any parent, so the chain may be a ring.
        while let Some(id) = next.filter(|id| seen.insert(id.clone())) {
            next = parent(&id);
            chain.push(id);
        }
        Ok(chain)
    }

    /// Judges a file that a command's output was moved to. Such files belong to no session; a session may read those whose
    /// exact path one of its own tool results shows.
    fn in_subprocess_directory(
        &self,
        session_id: &str,
        asked: &Path,
        text: &str,
        cancel: &Cancel,
    ) -> Result<Option<Access>, SessionQueryError> {
        let inside = asked
            .parent()
            .filter(|parent| is_made_by_dsh(parent, "dsh-subprocess-", &self.roots.subprocess));
        let Some(directory) = inside else {
            return Ok(None);
        };
        if !self.was_printed(session_id, text, cancel)? {
            return Ok(Some(Access::Denied));
        }
        Ok(judge(asked, directory))
    }

    fn was_printed(
        &self,
        session_id: &str,
        path: &str,
        cancel: &Cancel,
    ) -> Result<bool, SessionQueryError> {
        let filters = [
            EventFilter::Types(BTreeSet::from(["tool/result".to_owned()])),
            EventFilter::Text(path.to_owned()),
        ];
        match self
            .sessions
            .filter_page(session_id, &filters, &PageLimits::NONE, cancel)
        {
            // The search ignores case, and `/a` is found in `/a/b`: neither is the same path.
            Ok(page) => Ok(page
                .documents
                .iter()
                .any(|document| holds_path(&document.text, path))),
            Err(SessionQueryError::Cancelled) => Err(SessionQueryError::Cancelled),
            Err(_) => Ok(false),
        }
    }
}

/// Whether the text holds the path as a whole.
fn holds_path(text: &str, path: &str) -> bool {
    let ends_name = |c: char| !(c.is_alphanumeric() || matches!(c, '/' | '-' | '_' | '.' | '~'));
    text.match_indices(path).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let mut after = text[at + path.len()..].chars();
        let ended = match after.next() {
            // The full stop of a sentence, not of a longer name.
            Some('.') => after.next().is_none_or(ends_name),
            next => next.is_none_or(ends_name),
        };
        before.is_none_or(ends_name) && ended
    })
}

/// The first twelve digits of the hash that stands for a session in a spill directory's name.
fn short_hash(session_id: &str) -> String {
    Sha256::digest(session_id.as_bytes())
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn same_directory(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// Judges a path by the directory that it must lie in; none when it does not even claim to.
fn judge(asked: &Path, place: &Path) -> Option<Access> {
    let place = match place.canonicalize() {
        Ok(place) => place,
        // Without its directory the file cannot be there either.
        Err(_) => return asked.starts_with(place).then_some(Access::Vanished),
    };
    match asked.canonicalize() {
        Ok(resolved) if resolved.starts_with(&place) => {
            // Resolved, so this is no link: only a regular file will do.
            let regular = fs::symlink_metadata(&resolved).is_ok_and(|metadata| metadata.is_file());
            Some(if regular {
                Access::Granted(resolved)
            } else {
                Access::Denied
            })
        }
        Ok(_) => None,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let parent = asked.parent().and_then(|parent| parent.canonicalize().ok());
            // A dangling link is something else than a file that is gone.
            let absent = fs::symlink_metadata(asked).is_err();
            let inside = parent.is_some_and(|parent| parent.starts_with(&place));
            inside.then_some(if absent {
                Access::Vanished
            } else {
                Access::Denied
            })
        }
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_short() {
        // The beginning of SHA-256 of "session-1", as `sha256sum` prints it.
        assert_eq!(short_hash("session-1").len(), 12);
        assert_eq!(short_hash(""), "e3b0c44298fc");
    }

    #[test]
    fn only_the_whole_path_counts() {
        let path = "/tmp/dsh-subprocess-a/b.log";
        for (text, hit) in [
            (
                "[output truncated; full output: /tmp/dsh-subprocess-a/b.log]",
                true,
            ),
            ("/tmp/dsh-subprocess-a/b.log", true),
            ("see /tmp/dsh-subprocess-a/b.log.", true),
            ("see /tmp/dsh-subprocess-a/b.log.gz", false),
            ("/x/tmp/dsh-subprocess-a/b.log", false),
            ("/tmp/dsh-subprocess-a/b.log2", false),
            ("/TMP/dsh-subprocess-a/b.log", false),
            (
                "x/tmp/dsh-subprocess-a/b.log2 then /tmp/dsh-subprocess-a/b.log\n",
                true,
            ),
        ] {
            assert_eq!(holds_path(text, path), hit, "{text}");
        }
    }
}
