//! Which ignore files count for a directory, and what they say together.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ignore::Match;
use ignore::gitignore::Gitignore;

use super::super::EntryKind;
use super::super::confined::{Purpose, Root};
use super::super::folder::Folder;
use super::above::Above;
use super::matchers::{MAX_FILE_BYTES, Matchers};

/// The three kinds of ignore files, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    DotIgnore,
    Gitignore,
    Exclude,
}

impl Source {
    const ALL: [Self; 3] = [Self::DotIgnore, Self::Gitignore, Self::Exclude];
}

/// The texts of the ignore files of one directory, empty where there is none.
#[derive(Debug, Default)]
pub(super) struct Texts {
    by_source: [String; 3],
    repository: bool,
}

impl Texts {
    pub(super) fn read(folder: &Folder) -> Self {
        let text = |name| folder.small_file(name, MAX_FILE_BYTES).unwrap_or_default();
        let repository = folder.has(".git");
        let exclude = if repository {
            // In a linked work tree `.git` is a file that names a place elsewhere, which is not for us to visit.
            folder
                .below(".git/info")
                .ok()
                .and_then(|info| info.small_file("exclude", MAX_FILE_BYTES))
                .unwrap_or_default()
        } else {
            String::new()
        };
        Self {
            by_source: [text(".ignore"), text(".gitignore"), exclude],
            repository,
        }
    }

    pub(super) fn get_mut(&mut self, source: Source) -> Option<&mut String> {
        self.by_source.get_mut(source as usize)
    }
}

/// The compiled ignore files of one directory.
#[derive(Debug)]
pub(super) struct Level {
    /// Bytes that lead to this directory in a full path, its `/` included.
    base: usize,
    by_source: [Option<Arc<Gitignore>>; 3],
    repository: bool,
}

impl Level {
    pub(super) fn compile(path: &str, texts: &Texts, matchers: &Matchers) -> Self {
        let compile = |text: &String| (!text.is_empty()).then(|| matchers.compile(text));
        Self {
            base: if path.is_empty() { 0 } else { path.len() + 1 },
            by_source: texts.by_source.each_ref().map(compile),
            repository: texts.repository,
        }
    }

    fn says_nothing(&self) -> bool {
        !self.repository && self.by_source.iter().all(Option::is_none)
    }
}

/// What the ignore files say of one path, regardless of the directories that it lies in.
#[derive(Debug)]
pub(super) enum Verdict<'a> {
    Ignored(Culprit<'a>),
    Included,
    Unknown,
}

/// The line that excludes a path.
#[derive(Debug)]
pub(super) struct Culprit<'a> {
    /// Which of the levels it belongs to.
    pub(super) level: usize,
    pub(super) source: Source,
    /// The pattern in the matcher's dialect.
    pub(super) pattern: &'a str,
}

/// Asks the levels, topmost first in `levels`, about a full path.
pub(super) fn verdict<'a>(levels: &'a [Arc<Level>], path: &str, is_directory: bool) -> Verdict<'a> {
    for source in Source::ALL {
        for (position, level) in levels.iter().enumerate().rev() {
            if let Some(matcher) = level
                .by_source
                .get(source as usize)
                .and_then(Option::as_ref)
            {
                match matcher.matched(path.get(level.base..).unwrap_or_default(), is_directory) {
                    Match::None => {}
                    Match::Whitelist(_) => return Verdict::Included,
                    Match::Ignore(glob) => {
                        return Verdict::Ignored(Culprit {
                            level: position,
                            source,
                            pattern: glob.original(),
                        });
                    }
                }
            }
            // git's own files do not reach into another repository.
            if level.repository && source != Source::DotIgnore {
                break;
            }
        }
    }
    Verdict::Unknown
}

/// The ignore rules of one call.
#[derive(Debug)]
pub(in super::super) struct Rules<'a> {
    root: &'a Root<'a>,
    matchers: &'a Matchers,
    above: Above,
    /// What is known of directories that others lie in, by path.
    parents: Mutex<HashMap<String, State>>,
}

/// What holds in one directory.
#[derive(Debug, Clone)]
struct State {
    levels: Arc<Vec<Arc<Level>>>,
    /// Whether the directory itself is ignored, and all that lies in it.
    ignored: bool,
}

impl<'a> Rules<'a> {
    pub(in super::super) fn new(
        root_path: &str,
        root: &'a Root<'a>,
        matchers: &'a Matchers,
    ) -> Self {
        Self {
            root,
            matchers,
            above: Above::find(root_path, matchers),
            parents: Mutex::default(),
        }
    }

    /// The rules for the entries of an open directory.
    pub(in super::super) fn verdicts(&self, path: &str, folder: &Folder) -> Verdicts {
        let state = match path.rsplit_once('/') {
            _ if path.is_empty() => self.enter(None, path, Some(folder)),
            Some((parent, _)) => self.enter(Some(self.parent(parent)), path, Some(folder)),
            None => self.enter(Some(self.parent("")), path, Some(folder)),
        };
        let mut path = join(&self.above.prefix, path);
        if !path.is_empty() {
            path.push('/');
        }
        Verdicts {
            base: path.len(),
            path,
            state,
        }
    }

    /// What holds in a directory that is not open, from the root down to it.
    fn parent(&self, path: &str) -> State {
        if let Some(known) = self.known(path) {
            return known;
        }
        let mut state = self
            .known("")
            .unwrap_or_else(|| self.remember("", self.enter(None, "", None)));
        let ends = path
            .match_indices('/')
            .map(|(at, _)| at)
            .chain((!path.is_empty()).then_some(path.len()));
        for folder in ends.filter_map(|end| path.get(..end)) {
            state = self
                .known(folder)
                .unwrap_or_else(|| self.remember(folder, self.enter(Some(state), folder, None)));
        }
        state
    }

    fn known(&self, path: &str) -> Option<State> {
        self.parents
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(path)
            .cloned()
    }

    fn remember(&self, path: &str, state: State) -> State {
        self.parents
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(path.to_owned(), state.clone());
        state
    }

    /// Goes from a directory, or from above the root, into the one at `path`.
    fn enter(&self, parent: Option<State>, path: &str, open: Option<&Folder>) -> State {
        let parent = parent.unwrap_or_else(|| State {
            levels: Arc::new(self.above.levels.clone()),
            ignored: false,
        });
        let full = join(&self.above.prefix, path);
        // The root is never ignored as a whole.
        let ignored = parent.ignored
            || (!path.is_empty()
                && matches!(verdict(&parent.levels, &full, true), Verdict::Ignored(_)));
        if ignored {
            // Nothing further down can bring anything back.
            return State { ignored, ..parent };
        }
        let texts = match open {
            Some(folder) => Texts::read(folder),
            None => self
                .root
                .folder(path, Purpose::Search)
                .map(|folder| Texts::read(&folder))
                .unwrap_or_default(),
        };
        let level = Level::compile(&full, &texts, self.matchers);
        if level.says_nothing() {
            return State { ignored, ..parent };
        }
        let mut levels = Vec::clone(&parent.levels);
        levels.push(Arc::new(level));
        State {
            levels: Arc::new(levels),
            ignored,
        }
    }
}

/// The rules for the entries of one directory.
#[derive(Debug)]
pub(in super::super) struct Verdicts {
    /// The full path of the directory, and room for a name behind it.
    path: String,
    base: usize,
    state: State,
}

impl Verdicts {
    pub(in super::super) fn is_ignored(&mut self, name: &str, kind: EntryKind) -> bool {
        if self.state.ignored || self.state.levels.is_empty() {
            return self.state.ignored;
        }
        self.path.truncate(self.base);
        self.path.push_str(name);
        matches!(
            verdict(&self.state.levels, &self.path, kind == EntryKind::Directory),
            Verdict::Ignored(_)
        )
    }
}

/// Joins two relative paths, either of which may be empty.
pub(super) fn join(folder: &str, rest: &str) -> String {
    match (folder, rest) {
        ("", path) | (path, "") => path.to_owned(),
        _ => format!("{folder}/{rest}"),
    }
}
