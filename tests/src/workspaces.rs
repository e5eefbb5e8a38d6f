//! Workspaces that a test controls.

use dsh_host::{Directory, Workspaces};
use dsh_services::workspace::{self, ListOptions, LocalDirectory, Outcome};
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

/// The directories of this machine, with a count of what was read in all of them.
#[derive(Clone, Default)]
pub struct Counted(Arc<Count>);

#[derive(Default)]
struct Count {
    directories: AtomicUsize,
    entries: AtomicUsize,
}

impl Counted {
    /// Directories that were read.
    pub fn directories(&self) -> usize {
        self.0.directories.load(Ordering::Relaxed)
    }

    /// Entries that were given out.
    pub fn entries(&self) -> usize {
        self.0.entries.load(Ordering::Relaxed)
    }
}

impl Workspaces for Counted {
    fn directory(&self, path: &str) -> Directory {
        Arc::new(Counting {
            count: self.0.clone(),
            local: local(Path::new(path)),
        })
    }
}

struct Counting {
    count: Arc<Count>,
    local: LocalDirectory,
}

impl workspace::Directory for Counting {
    fn path(&self) -> &str {
        self.local.path()
    }

    fn list(&self, paths: &[String], options: &ListOptions, stop: &AtomicBool) -> Vec<Outcome> {
        let outcomes = self.local.list(paths, options, stop);
        for outcome in &outcomes {
            if let Outcome::Listed(listing) = outcome {
                let entries = listing.kinds.len();
                self.count.directories.fetch_add(1, Ordering::Relaxed);
                self.count.entries.fetch_add(entries, Ordering::Relaxed);
            }
        }
        outcomes
    }
}

fn local(path: &Path) -> LocalDirectory {
    LocalDirectory::new(path.to_str().expect("paths of DSH are text"))
}
