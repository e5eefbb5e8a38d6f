//! The vectors of `golden/file-references/lifecycle.json` through the component and the host: what becomes of queries that are aborted,
//! invalidated or disposed of while they run. The directory of the agent stands behind a gate, so that "while it runs" is a state and not a time.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "this is how a test fails"
)]

use dsh_host::{AbortController, AbortReason, Candidate, Failure, Host, SearchError};
use dsh_tests::hosts::{COMPLETION, agent, ask, host_with, mount};
use dsh_tests::workspaces::Gated;
use dsh_tests::{announce, vectors};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use tokio::task::JoinHandle;

const AGENT: &str = "lifecycle";
/// A fuzzy search, which needs the index, and a listing.
const BARE: &str = "a.txt";
const LISTING: &str = "sub/../";

struct Stage {
    host: Host,
    gate: Gated,
    home: tempfile::TempDir,
}

/// A query under way.
struct Running {
    caller: AbortController,
    answer: JoinHandle<Result<Vec<Candidate>, SearchError>>,
}

impl Running {
    async fn settled(self) -> Value {
        vectors::outcome(self.answer.await.unwrap())
    }
}

impl Stage {
    /// A mounted plugin and an agent in `home`, or in a directory of that name below it.
    async fn new(home: tempfile::TempDir, below: Option<&str>) -> Self {
        let root = home.path().join(below.unwrap_or_default());
        let gate = Gated::default();
        let host = host_with(Arc::new(gate.clone()));
        mount(&host, COMPLETION, Value::Null).await.unwrap();
        agent(&host, AGENT, &root).await;
        Self { host, gate, home }
    }

    /// Starts a query, with the signal set already when there is a reason, and lets it reach the plugin.
    async fn start(&self, query: &str, aborted: Option<AbortReason>) -> Running {
        let caller = AbortController::new();
        if let Some(reason) = aborted {
            caller.abort(reason);
        }
        let (host, signal, query) = (self.host.clone(), caller.signal(), query.to_owned());
        let answer =
            tokio::spawn(async move { host.list_file_references(AGENT, &query, &signal).await });
        // On one thread the query is on its way after this, and calls reach an instance in the order in which they are made.
        tokio::task::yield_now().await;
        self.host.session_event(None, "tool/result").await;
        Running { caller, answer }
    }

    /// Starts a query and waits until it stands at the shut gate.
    async fn start_and_wait(&self, query: &str) -> Running {
        self.gate.shut();
        let before = self.gate.arrived();
        let running = self.start(query, None).await;
        self.gate.until_arrived(before + 1).await;
        running
    }

    async fn ask(&self, query: &str) -> Value {
        vectors::outcome(ask(&self.host, AGENT, query).await)
    }

    async fn invalidate(&self) {
        self.host.session_event(Some(AGENT), "tool/result").await;
    }

    async fn dispose(&self) {
        self.host.dispose_agent(AGENT).await;
    }
}

impl Drop for Stage {
    /// A listing that nobody waits for any more may still stand at the gate.
    fn drop(&mut self) {
        self.gate.open();
    }
}

/// A folder `sub` and a file `a.txt`.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    furnish(home.path());
    home
}

fn furnish(place: &Path) {
    std::fs::create_dir(place.join("sub")).unwrap();
    std::fs::write(place.join("a.txt"), "").unwrap();
}

fn reason(text: &str) -> AbortReason {
    if text.contains("without a reason") {
        return AbortReason::unspecified();
    }
    if text.contains("string 'x'") {
        return AbortReason::CallerValue(json!("x"));
    }
    assert!(text.contains("Error('x')"), "{text}");
    AbortReason::CallerError(Failure {
        name: None,
        code: None,
        message: "x".into(),
    })
}

/// Plays one vector about queries in a root that is there.
async fn play(what: &str) -> Value {
    let stage = Stage::new(home(), None).await;
    let query = if what.starts_with("listing") {
        LISTING
    } else {
        BARE
    };
    let rest = what.split_once(", ").map_or("", |(_, rest)| rest);
    match what {
        _ if what.contains("after dispose()") => {
            stage.dispose().await;
            let aborted = rest.contains("already aborted").then(|| reason(rest));
            stage.start(query, aborted).await.settled().await
        }
        _ if rest.starts_with("signal already aborted") => {
            let outcome = stage.start(query, Some(reason(rest))).await.settled().await;
            assert_eq!(stage.gate.arrived(), 0, "nothing is read for nobody");
            outcome
        }
        _ if rest.starts_with("aborted while it runs") => {
            let running = stage.start_and_wait(query).await;
            running.caller.abort(reason(rest));
            running.settled().await
        }
        _ if rest == "invalidate() while it runs" || rest == "dispose() while it runs" => {
            let running = stage.start_and_wait(query).await;
            if rest.starts_with("invalidate") {
                stage.invalidate().await;
            } else {
                stage.dispose().await;
            }
            // A listing goes on and needs the gate; a fuzzy search is turned away before it.
            if query == LISTING {
                stage.gate.open();
            }
            running.settled().await
        }
        "first caller aborts during the shared build, second caller waits on" => {
            let first = stage.start_and_wait(BARE).await;
            let second = stage.start(BARE, None).await;
            first.caller.abort(reason("Error('x')"));
            let first = first.settled().await;
            assert_eq!(stage.gate.arrived(), 1, "the second began no build");
            stage.gate.open();
            let second = second.settled().await;
            assert_eq!(
                stage.gate.arrived(),
                2,
                "one build: the root, then its folder"
            );
            json!([first, second])
        }
        "invalidate() while it runs, then a new query at once: old caller, new caller" => {
            let old = stage.start_and_wait(BARE).await;
            stage.invalidate().await;
            let new = stage.start(BARE, None).await;
            let old = old.settled().await;
            stage.gate.open();
            json!([old, new.settled().await])
        }
        "file made after the first bare query: bare query, listing, bare query after invalidate()" =>
        {
            assert_eq!(stage.ask("new").await, json!({"ok": []}));
            std::fs::write(stage.home.path().join("new.txt"), "").unwrap();
            let (bare, listing) = (stage.ask("new").await, stage.ask("./new").await);
            stage.invalidate().await;
            json!([bare, listing, stage.ask("new").await])
        }
        _ => play_root(what).await,
    }
}

/// Plays one vector about the root itself.
async fn play_root(what: &str) -> Value {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("root");
    let target = self::home();
    let stage = Stage::new(home, Some("root")).await;
    match what {
        "root does not exist: empty query, bare query, listing" => json!([
            stage.ask("").await,
            stage.ask(BARE).await,
            stage.ask(LISTING).await
        ]),
        "root is a file: empty query, bare query" => {
            std::fs::write(&root, "").unwrap();
            json!([stage.ask("").await, stage.ask(BARE).await])
        }
        "root is a symbolic link to a folder: empty query, bare query" => {
            std::fs::write(target.path().join("new.txt"), "").unwrap();
            std::os::unix::fs::symlink(target.path(), &root).unwrap();
            json!([stage.ask("").await, stage.ask(BARE).await])
        }
        "missing root is not retried: bare query, root made, bare query, invalidate(), bare query" =>
        {
            let before = stage.ask("z").await;
            std::fs::create_dir(&root).unwrap();
            std::fs::write(root.join("z"), "").unwrap();
            let after = stage.ask("z").await;
            stage.invalidate().await;
            json!([before, after, stage.ask("z").await])
        }
        _ => panic!("unknown vector: {what}"),
    }
}

#[tokio::test]
async fn every_vector_ends_as_it_does_in_the_published_module() {
    let all = vectors::read("lifecycle.json");
    let mut played = 0;
    for vector in vectors::list(&all) {
        let what = vector["what"].as_str().unwrap();
        assert_eq!(play(what).await, vector["result"], "{what}");
        played += 1;
    }
    announce(&format!("golden lifecycle: {played} vectors, 0 skipped"));
}
