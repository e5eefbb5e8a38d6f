//! Workspaces that a test controls.

use dsh_host::{Directory, Workspaces};
use dsh_services::workspace::{
    self, EntryKind, ListError, ListOptions, Listing, LocalDirectory, Outcome,
};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// How long a test waits for a state that must come. Nothing depends on how long it takes.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Gives every agent the tree at one place, whatever the agent's directory is called.
pub struct Redirected {
    /// Where the tree is.
    pub tree: PathBuf,
}

impl Workspaces for Redirected {
    fn directory(&self, path: &str) -> Directory {
        Arc::new(Renamed {
            name: path.to_owned(),
            local: local(&self.tree),
        })
    }
}

struct Renamed {
    name: String,
    local: LocalDirectory,
}

impl workspace::Directory for Renamed {
    fn path(&self) -> &str {
        &self.name
    }

    fn list(&self, paths: &[String], options: &ListOptions, stop: &AtomicBool) -> Vec<Outcome> {
        self.local.list(paths, options, stop)
    }
}

/// The directories of this machine behind a gate. While it is shut, listings wait at it.
#[derive(Clone, Default)]
pub struct Gated(Arc<Gate>);

#[derive(Default)]
struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    shut: bool,
    /// Listings that were asked for, those that wait included.
    arrived: usize,
    /// Listings that were given up while they waited.
    given_up: usize,
}

impl Gated {
    /// Holds up the listings that arrive from now on.
    pub fn shut(&self) {
        self.0.state.lock().unwrap().shut = true;
    }

    /// Lets everything through.
    pub fn open(&self) {
        self.0.state.lock().unwrap().shut = false;
        self.0.changed.notify_all();
    }

    /// How many listings were asked for so far.
    pub fn arrived(&self) -> usize {
        self.0.state.lock().unwrap().arrived
    }

    /// Resolves when so many listings have been asked for.
    pub async fn until_arrived(&self, count: usize) {
        self.until(move |state| state.arrived >= count).await;
    }

    /// Resolves when so many listings were given up at the gate.
    pub async fn until_given_up(&self, count: usize) {
        self.until(move |state| state.given_up >= count).await;
    }

    async fn until(&self, reached: impl Fn(&State) -> bool) {
        let start = Instant::now();
        while !reached(&self.0.state.lock().unwrap()) {
            assert!(start.elapsed() < PATIENCE, "the state did not come");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

impl Workspaces for Gated {
    fn directory(&self, path: &str) -> Directory {
        Arc::new(Behind {
            gate: self.0.clone(),
            local: local(Path::new(path)),
        })
    }
}

struct Behind {
    gate: Arc<Gate>,
    local: LocalDirectory,
}

impl workspace::Directory for Behind {
    fn path(&self) -> &str {
        self.local.path()
    }

    fn list(&self, paths: &[String], options: &ListOptions, stop: &AtomicBool) -> Vec<Outcome> {
        let mut state = self.gate.state.lock().unwrap();
        state.arrived += 1;
        while state.shut {
            if stop.load(Ordering::Relaxed) {
                state.given_up += 1;
                return vec![Outcome::Skipped; paths.len()];
            }
            // The flag wakes nobody, so it is looked at now and then.
            let pause = Duration::from_millis(2);
            state = self.gate.changed.wait_timeout(state, pause).unwrap().0;
        }
        drop(state);
        self.local.list(paths, options, stop)
    }
}

/// A tree that only exists in the answers about it: folders of empty files, for sizes that no disk should have to hold for a test.
#[derive(Clone)]
pub struct Imagined(Arc<Tree>);

struct Tree {
    /// Names in order, each with the number of files in it.
    folders: Vec<(String, usize)>,
    directories: AtomicUsize,
    entries: AtomicUsize,
}

impl Imagined {
    /// A tree of these folders, in the order of their names. The files are called `f000000` and so on.
    pub fn new(folders: Vec<(String, usize)>) -> Self {
        Self(Arc::new(Tree {
            folders,
            directories: AtomicUsize::new(0),
            entries: AtomicUsize::new(0),
        }))
    }

    /// Directories that were read.
    pub fn directories(&self) -> usize {
        self.0.directories.load(Ordering::Relaxed)
    }

    /// Entries that were given out.
    pub fn entries(&self) -> usize {
        self.0.entries.load(Ordering::Relaxed)
    }
}

impl Workspaces for Imagined {
    fn directory(&self, _: &str) -> Directory {
        Arc::new(self.clone())
    }
}

impl workspace::Directory for Imagined {
    fn path(&self) -> &str {
        "/imagined"
    }

    fn list(&self, paths: &[String], options: &ListOptions, _: &AtomicBool) -> Vec<Outcome> {
        let limit = usize::try_from(options.limit).unwrap_or(usize::MAX);
        let mut held = 0;
        let list = |path: &String| {
            if held >= limit {
                return Outcome::Skipped;
            }
            let Some(listing) = self.0.list(path, limit) else {
                return Outcome::Failed(ListError::NotFound);
            };
            held += listing.kinds.len();
            self.0.directories.fetch_add(1, Ordering::Relaxed);
            self.0
                .entries
                .fetch_add(listing.kinds.len(), Ordering::Relaxed);
            Outcome::Listed(listing)
        };
        paths.iter().map(list).collect()
    }
}

impl Tree {
    fn list(&self, path: &str, limit: usize) -> Option<Listing> {
        let mut names = String::new();
        let (all, kind) = if path.is_empty() {
            for (name, _) in self.folders.iter().take(limit) {
                names.extend([name, "/"]);
            }
            (self.folders.len(), EntryKind::Directory)
        } else {
            let (_, files) = self.folders.iter().find(|(name, _)| name == path)?;
            for file in 0..*files.min(&limit) {
                names.push_str(&format!("f{file:06}/"));
            }
            (*files, EntryKind::File)
        };
        let given = all.min(limit);
        Some(Listing {
            names,
            kinds: vec![kind; given],
            ignored: Vec::new(),
            omitted: (all - given) as u64,
        })
    }
}

fn local(path: &Path) -> LocalDirectory {
    LocalDirectory::new(path.to_str().expect("paths of DSH are text"))
}
