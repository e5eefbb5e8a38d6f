//! Aborts, invalidation and disposal, as the published module handles them (SPEC 3).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "this is how a test fails"
)]

mod support;

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;

use dsh_file_reference_local::config::Config;
use dsh_file_reference_local::search::{AbortReason, SearchError, Signal};
use dsh_file_reference_local::service::Service;
use dsh_file_reference_local::top::Candidate;
use dsh_file_reference_local::workspace::{Batch, Outcome, Workspace};
use futures::executor::LocalPool;
use futures::task::LocalSpawnExt;
use serde_json::{Value, json};

use support::local::Local;
use support::run::{Switch, pool, spawn};
use support::{as_json, read_json};

const AGENT: &str = "agent";
const BARE: &str = "a.txt";
const LISTING: &str = "sub/../";

/// A host that answers only once its gate is open, and counts what it is asked.
#[derive(Clone)]
struct Gated {
    local: Local,
    gate: Switch<()>,
    calls: Rc<Cell<u32>>,
}

impl Workspace for Gated {
    fn path(&self) -> String {
        self.local.path()
    }

    async fn list(&self, batch: Batch) -> Vec<Outcome> {
        self.calls.set(self.calls.get() + 1);
        self.gate.wait().await;
        self.local.list(batch).await
    }
}

/// What a caller aborts with, and how it comes back to it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum With {
    Error,
    Text,
    Nothing,
}

impl With {
    fn reason(self) -> AbortReason {
        if self == Self::Text {
            AbortReason::Value
        } else {
            AbortReason::Error
        }
    }

    fn thrown(self) -> Value {
        match self {
            Self::Error => json!({"rejected_error": "x", "name": "Error"}),
            Self::Text => json!({"rejected_value": "x"}),
            Self::Nothing => {
                json!({"rejected_error": "This operation was aborted", "name": "AbortError"})
            }
        }
    }
}

struct Stage {
    pool: LocalPool,
    service: Rc<Service<Gated>>,
    gate: Switch<()>,
    calls: Rc<Cell<u32>>,
}

/// Where a query leaves its result.
type Outbox = Rc<RefCell<Option<Result<Vec<Candidate>, SearchError>>>>;

/// A query under way.
struct Running {
    signal: Switch<AbortReason>,
    with: Cell<With>,
    result: Outbox,
}

impl Stage {
    fn new(root: &Path) -> Self {
        let pool = pool();
        let config = Config::default();
        let local = Local::new(root, &config.excluded_directories);
        let service = Rc::new(Service::new(config, spawn));
        let (gate, calls) = (Switch::new(), Rc::new(Cell::new(0)));
        let workspace = Gated {
            local,
            gate: gate.clone(),
            calls: calls.clone(),
        };
        service.agent_created(AGENT.to_owned(), workspace);
        Self {
            pool,
            service,
            gate,
            calls,
        }
    }

    /// Starts a query and lets it come as far as it can.
    fn start(&mut self, query: &str, aborted: Option<With>) -> Running {
        let running = Running {
            signal: Switch::new(),
            with: Cell::new(With::Error),
            result: Rc::default(),
        };
        if let Some(with) = aborted {
            running.abort(with);
        }
        let (service, query) = (self.service.clone(), query.to_owned());
        let (signal, result) = (running.signal.clone(), running.result.clone());
        let task = async move {
            let answer = service.list(AGENT, &query, &signal).await;
            *result.borrow_mut() = Some(answer);
        };
        self.pool.spawner().spawn_local(task).unwrap();
        self.pool.run_until_stalled();
        running
    }

    /// Opens the gate and runs everything to its end.
    fn finish(&mut self, running: &Running) -> Value {
        self.gate.set(());
        self.settled(running)
    }

    /// What came of a query that must have settled without the host's help.
    fn settled(&mut self, running: &Running) -> Value {
        self.pool.run_until_stalled();
        match running
            .result
            .borrow_mut()
            .take()
            .expect("the query has not settled")
        {
            Ok(candidates) => json!({"ok": as_json(&candidates)}),
            Err(SearchError::Aborted) => running.with.get().thrown(),
            Err(error) => json!({"rejected_error": error.to_string(), "name": "Error"}),
        }
    }

    fn ask(&mut self, query: &str) -> Value {
        let running = self.start(query, None);
        self.finish(&running)
    }

    fn invalidate(&self) {
        self.service.session_event(Some(AGENT), "tool/result");
    }

    /// The agent's search is disposed of while a handle on it is still in use.
    fn dispose(&self) {
        self.service.agent_disposed(AGENT);
    }
}

impl Running {
    fn abort(&self, with: With) {
        self.with.set(with);
        self.signal.set(with.reason());
    }
}

/// A folder `sub` and a file `a.txt`.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("sub")).unwrap();
    std::fs::write(home.path().join("a.txt"), "").unwrap();
    home
}

/// Plays one vector.
fn play(what: &str) -> Value {
    let home = home();
    let mut stage = Stage::new(home.path());
    let query = if what.starts_with("listing") {
        LISTING
    } else {
        BARE
    };
    let text = what.split_once(", ").map_or("", |(_, rest)| rest);
    let with = match text {
        _ if text.contains("without a reason") => With::Nothing,
        _ if text.contains("string 'x'") => With::Text,
        _ => With::Error,
    };
    match what {
        _ if what.contains("after dispose()") => {
            stage.dispose();
            let running = stage.start(query, text.contains("already aborted").then_some(with));
            stage.settled(&running)
        }
        _ if text.starts_with("signal already aborted") => {
            let running = stage.start(query, Some(with));
            assert_eq!(
                stage.calls.get(),
                0,
                "nothing is read for a caller who has left"
            );
            stage.settled(&running)
        }
        _ if text.starts_with("aborted while it runs") => {
            let running = stage.start(query, None);
            running.abort(with);
            stage.settled(&running)
        }
        _ if text == "invalidate() while it runs" || text == "dispose() while it runs" => {
            let running = stage.start(query, None);
            if text.starts_with("invalidate") {
                stage.invalidate()
            } else {
                stage.dispose()
            }
            if query == BARE {
                stage.settled(&running)
            } else {
                stage.finish(&running)
            }
        }
        "first caller aborts during the shared build, second caller waits on" => {
            let (first, second) = (stage.start(BARE, None), stage.start(BARE, None));
            first.abort(With::Error);
            let first = stage.settled(&first);
            let second = stage.finish(&second);
            assert_eq!(stage.calls.get(), 2, "one build: the root, then its folder");
            json!([first, second])
        }
        "invalidate() while it runs, then a new query at once: old caller, new caller" => {
            let old = stage.start(BARE, None);
            stage.invalidate();
            let new = stage.start(BARE, None);
            json!([stage.settled(&old), stage.finish(&new)])
        }
        "file made after the first bare query: bare query, listing, bare query after invalidate()" =>
        {
            stage.ask("new");
            std::fs::write(home.path().join("new.txt"), "").unwrap();
            let (bare, listing) = (stage.ask("new"), stage.ask("./new"));
            stage.invalidate();
            json!([bare, listing, stage.ask("new")])
        }
        _ => play_root(what),
    }
}

/// Plays a vector about the root itself.
fn play_root(what: &str) -> Value {
    let home = home();
    let root = home.path().join("root");
    let mut stage = Stage::new(&root);
    match what {
        "root does not exist: empty query, bare query, listing" => {
            json!([stage.ask(""), stage.ask(BARE), stage.ask(LISTING)])
        }
        "root is a file: empty query, bare query" => {
            std::fs::write(&root, "").unwrap();
            json!([stage.ask(""), stage.ask(BARE)])
        }
        "root is a symbolic link to a folder: empty query, bare query" => {
            let target = self::home();
            std::fs::write(target.path().join("new.txt"), "").unwrap();
            std::os::unix::fs::symlink(target.path(), &root).unwrap();
            json!([stage.ask(""), stage.ask(BARE)])
        }
        "missing root is not retried: bare query, root made, bare query, invalidate(), bare query" =>
        {
            let before = stage.ask("z");
            std::fs::create_dir(&root).unwrap();
            std::fs::write(root.join("z"), "").unwrap();
            let after = stage.ask("z");
            stage.invalidate();
            json!([before, after, stage.ask("z")])
        }
        _ => panic!("unknown vector: {what}"),
    }
}

#[test]
fn every_vector_ends_as_it_does_in_the_published_module() {
    let vectors = read_json("lifecycle.json");
    let vectors = vectors.as_array().unwrap();
    assert_eq!(vectors.len(), 25);
    for vector in vectors {
        let what = vector["what"].as_str().unwrap();
        assert_eq!(play(what), vector["result"], "{what}");
    }
}

#[test]
fn other_events_and_sessions_without_an_agent_leave_the_index_alone() {
    let home = home();
    let mut stage = Stage::new(home.path());
    stage.ask(BARE);
    let calls = stage.calls.get();
    stage.service.session_event(Some(AGENT), "tool/call");
    stage.service.session_event(None, "tool/result");
    stage.service.session_event(Some("another"), "tool/result");
    stage.ask(BARE);
    assert_eq!(stage.calls.get(), calls);
    stage.invalidate();
    stage.ask(BARE);
    assert_eq!(stage.calls.get(), 2 * calls);
}

#[test]
fn agents_may_be_announced_and_disposed_of_more_than_once() {
    let home = home();
    let mut stage = Stage::new(home.path());
    stage.ask(BARE);
    let calls = stage.calls.get();
    let other = Local::new(Path::new("/nowhere"), &[]);
    let (gate, none) = (Switch::new(), Rc::new(Cell::new(0)));
    stage.service.agent_created(
        AGENT.to_owned(),
        Gated {
            local: other,
            gate,
            calls: none,
        },
    );
    assert_eq!(stage.ask(BARE)["ok"].as_array().unwrap().len(), 1);
    assert_eq!(stage.calls.get(), calls, "the first announcement stands");
    assert!(stage.service.knows(AGENT));
    stage.dispose();
    stage.dispose();
    stage.invalidate();
    assert!(!stage.service.knows(AGENT));
    assert_eq!(stage.ask(BARE), json!({"ok": []}));
}

#[test]
fn an_invalidated_build_reads_no_further() {
    let home = home();
    let mut stage = Stage::new(home.path());
    let running = stage.start(BARE, None);
    stage.invalidate();
    stage.finish(&running);
    assert_eq!(stage.calls.get(), 1);
}

#[test]
fn a_build_goes_on_for_the_next_caller_when_all_have_left() {
    let home = home();
    let mut stage = Stage::new(home.path());
    let running = stage.start(BARE, None);
    running.abort(With::Error);
    stage.finish(&running);
    assert_eq!(stage.calls.get(), 2);
    stage.ask(BARE);
    assert_eq!(stage.calls.get(), 2, "the index is there");
}

#[test]
fn the_end_of_the_plugin_turns_waiting_callers_away() {
    let home = home();
    let mut stage = Stage::new(home.path());
    let running = stage.start(BARE, None);
    stage.service.dispose();
    let turned_away = json!({"rejected_error": "file search index invalidated", "name": "Error"});
    assert_eq!(stage.settled(&running), turned_away);
    assert!(running.signal.aborted().is_none());
}
