//! The cases of SPEC 8 about `context_grep` on a file, with a real ripgrep: what it prints is what the plugin reads.
//!
//! Run with `cargo test -p dsh-context-proxy -- --include-ignored`. `DSH_RG` names the executable; otherwise `rg` on the path is taken.

// Clippy does not see that helpers of tests are tests.
#![allow(clippy::unwrap_used, clippy::panic)]

use dsh_context_proxy::config::Config;
use dsh_context_proxy::driver::execute;
use dsh_context_proxy::errors::{CallError, Failure};
use dsh_context_proxy::services::{
    Access, Caller, Exit, Filter, Page, PageLimits, Process, Services, SessionQuery, Signal,
    SpawnSpec, Spill, Subprocess, Window,
};
use futures::FutureExt;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A host that grants every path and runs ripgrep for real, one blocking step at a time.
struct Host {
    bytes_read: Cell<u64>,
}

impl Signal for Host {
    fn aborted(&self) -> bool {
        false
    }

    async fn wait(&self) {
        std::future::pending().await
    }
}

impl SessionQuery for Host {
    fn available(&self) -> bool {
        false
    }

    async fn filter_events(&self, _: Vec<Filter>, _: PageLimits) -> Result<Page, Failure> {
        unreachable!("the service is not available")
    }

    async fn read_event(&self, _: u64, _: u32, _: u32, _: u32) -> Result<Window, Failure> {
        unreachable!("the service is not available")
    }
}

impl Spill for Host {
    async fn authorize(&self, path: &str) -> Result<Access, Failure> {
        Ok(Access::Granted(path.to_owned()))
    }
}

impl<'a> Subprocess for &'a Host {
    type Process = Running<'a>;

    fn available(&self) -> bool {
        true
    }

    async fn resolve_rg(&self) -> Result<String, Failure> {
        Ok(std::env::var("DSH_RG").unwrap_or_else(|_| "rg".to_owned()))
    }

    async fn spawn(&self, spec: SpawnSpec) -> Result<Running<'a>, Failure> {
        let mut command = Command::new(&spec.argv[0]);
        command
            .args(&spec.argv[1..])
            .current_dir(&spec.cwd)
            .stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().map_err(|error| Failure {
            message: error.to_string(),
            ..Failure::default()
        })?;
        Ok(Running {
            child: RefCell::new(child),
            host: self,
        })
    }
}

struct Running<'a> {
    child: RefCell<Child>,
    host: &'a Host,
}

impl Process for Running<'_> {
    async fn read(&mut self) -> Option<Vec<u8>> {
        let mut chunk = vec![0; 10_000];
        let stdout = self.child.get_mut().stdout.as_mut().unwrap();
        let length = stdout.read(&mut chunk).unwrap();
        chunk.truncate(length);
        self.host
            .bytes_read
            .set(self.host.bytes_read.get() + length as u64);
        (length > 0).then_some(chunk)
    }

    fn stderr_tail(&self) -> String {
        let mut text = String::new();
        let mut child = self.child.borrow_mut();
        child
            .stderr
            .as_mut()
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        text
    }

    async fn done(&self) -> Result<Exit, Failure> {
        let status = self.child.borrow_mut().wait().unwrap();
        Ok(Exit {
            code: status.code(),
            signal: None,
        })
    }

    fn terminate(&self) {
        // An error means that it has ended already.
        let _ended = self.child.borrow_mut().kill();
    }

    async fn gone(&self) {
        self.child.borrow_mut().wait().unwrap();
    }
}

fn grep(path: &Path, config: Config, more: Value) -> (Result<Value, (String, String)>, u64) {
    let host = Host {
        bytes_read: Cell::new(0),
    };
    let mut arguments = json!({"path": path.to_str().unwrap()});
    arguments
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    let arguments = arguments.to_string();
    let caller = Caller {
        has_session: true,
        ..Caller::default()
    };
    let services = Services {
        session_query: &host,
        spill: &host,
        subprocess: &&host,
        signal: &host,
    };
    let call = execute("context_grep", &arguments, config, &caller, &services);
    let outcome = match call.now_or_never().unwrap() {
        Ok(answer) => Ok(serde_json::from_str(&answer).unwrap()),
        Err(CallError::Failed(error)) => Err((error.code().to_owned(), error.to_string())),
        Err(CallError::Aborted) => panic!("nobody aborted"),
    };
    (outcome, host.bytes_read.get())
}

fn file(content: impl AsRef<[u8]>) -> (tempfile::TempDir, std::path::PathBuf) {
    let directory = tempfile::Builder::new()
        .prefix("dir:1:x")
        .tempdir()
        .unwrap();
    let path = directory.path().join("a.txt");
    std::fs::write(&path, content).unwrap();
    (directory, path)
}

/// The lines found, each with its number, and whether the answer is truncated.
fn found(content: impl AsRef<[u8]>, more: Value) -> (Vec<(u64, String)>, bool) {
    let (_directory, path) = file(content);
    let answer = grep(&path, Config::default(), more).0.unwrap();
    lines(&answer, &path)
}

fn lines(answer: &Value, path: &Path) -> (Vec<(u64, String)>, bool) {
    let line = |found: &Value| {
        let citation = found["citation"].as_str().unwrap();
        let (cited, number) = citation.rsplit_once(':').unwrap();
        assert_eq!(cited, path.to_str().unwrap());
        (
            number.parse().unwrap(),
            found["text"].as_str().unwrap().to_owned(),
        )
    };
    let matches = answer["matches"].as_array().unwrap();
    let truncated = answer["truncated"].as_bool().unwrap();
    (matches.iter().map(line).collect(), truncated)
}

const CONTENT: &[u8] = b"alpha\nhit: 12:here\r\nnul\0 hit\nbad \xff hit\nlast hit";

#[test]
#[ignore = "needs a real ripgrep"]
fn cases_051_052_058_lines_are_found_as_they_stand_in_the_file() {
    let expected = [
        (2, "hit: 12:here"),
        (3, "nul\0 hit"),
        (4, "bad \u{fffd} hit"),
        (5, "last hit"),
    ];
    let expected = expected
        .map(|(line, text)| (line, text.to_owned()))
        .to_vec();
    assert_eq!(found(CONTENT, json!({"pattern": "h.t"})), (expected, false));
}

#[test]
#[ignore = "needs a real ripgrep"]
fn case_053_no_hit_and_an_empty_file_give_an_empty_answer() {
    assert_eq!(found(CONTENT, json!({"pattern": "zzz"})), (vec![], false));
    assert_eq!(found("", json!({"pattern": "x"})), (vec![], false));
}

#[test]
#[ignore = "needs a real ripgrep"]
fn case_054_bad_patterns_are_rejected_with_a_reason() {
    let (_directory, path) = file(CONTENT);
    for pattern in ["(", "a(?=b)", "a\nb", "x{5000000}"] {
        let outcome = grep(&path, Config::default(), json!({ "pattern": pattern })).0;
        let (code, message) = outcome.unwrap_err();
        assert_eq!(code, "CONTEXT_PROXY_INVALID_PATTERN", "{pattern}");
        assert!(
            message.starts_with("pattern rejected by ripgrep: rg: "),
            "{message}"
        );
    }
}

#[test]
#[ignore = "needs a real ripgrep"]
fn case_055_hostile_patterns_are_searched_as_text() {
    for (text, pattern) in [
        ("--files", "--files"),
        ("-e", "-e"),
        ("a $(touch x)", r"\$\(touch x\)"),
        ("`id`", "`id`"),
        ("\"'", "\"'"),
        ("  ", "  "),
    ] {
        let expected = (vec![(1, text.to_owned())], false);
        assert_eq!(
            found(format!("{text}\n"), json!({"pattern": pattern})),
            expected
        );
    }
}

#[test]
#[ignore = "needs a real ripgrep"]
fn case_059_a_huge_file_is_left_early() {
    let (_directory, path) = file("one more hit\n".repeat(2_000_000));
    let (outcome, bytes) = grep(
        &path,
        Config::default(),
        json!({"pattern": "hit", "limit": 1}),
    );
    let expected = (vec![(1, "one more hit".to_owned())], true);
    assert_eq!(lines(&outcome.unwrap(), &path), expected);
    assert!(bytes < 100_000, "{bytes}");

    let config = Config {
        grep_max_bytes: 5_000,
        ..Config::default()
    };
    let (outcome, bytes) = grep(&path, config, json!({"pattern": "hit"}));
    let (lines, truncated) = lines(&outcome.unwrap(), &path);
    assert!(truncated && lines.len() > 10 && lines.len() < 50);
    assert!(bytes < 100_000, "{bytes}");
}

#[test]
#[ignore = "needs a real ripgrep"]
fn lines_beyond_the_cap_are_cited_with_the_matching_part() {
    let long = "x".repeat(3_000_000);
    let content = format!("small\n{long}hit{long}hit\nhat line\n");
    let part = |line, text: &str| (line, text.to_owned());
    assert_eq!(
        found(&content, json!({"pattern": "h[ia]t"})),
        (vec![part(2, "hit"), part(3, "hat")], true)
    );
    // A match of nothing at all is one too.
    assert_eq!(
        found(&content[6..], json!({"pattern": "^"})),
        (vec![part(1, ""), part(2, "")], true)
    );
    assert_eq!(
        found(&content[6..], json!({"pattern": "q*"})),
        (vec![part(1, "")], true)
    );
    assert_eq!(
        found(&content, json!({"pattern": "x+"})),
        (vec![part(2, &"x".repeat(2_000))], true)
    );
}

#[test]
#[ignore = "needs a real ripgrep"]
fn failures_of_ripgrep_itself_are_told() {
    let (directory, path) = file(CONTENT);
    std::fs::remove_file(&path).unwrap();
    let (code, message) = grep(&path, Config::default(), json!({"pattern": "x"}))
        .0
        .unwrap_err();
    assert_eq!(code, "CONTEXT_PROXY_SEARCH_FAILED");
    assert!(
        message.starts_with("search failed (exit 2): rg: "),
        "{message}"
    );
    drop(directory);
}
