//! How searches end, with programs in ripgrep's place that do what it does not: hang, ignore signals, print for ever, leave children.

use dsh_host::{AbortController, AbortReason, AbortSignal, Limits, PluginRow};
use dsh_tests::history::{Answer, Place, eventually, soon};
use dsh_tests::hosts::{HISTORY, row};
use dsh_tests::rows::user;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// A place whose ripgrep is this shell script, and a file to search.
struct Scripted {
    place: Place,
    file: PathBuf,
    /// What the script may write to.
    notes: tempfile::TempDir,
}

impl Scripted {
    async fn new(script: &str) -> Self {
        Self::with(script, json!({}), |row| row).await
    }

    async fn with(
        script: &str,
        config: Value,
        change: impl FnOnce(PluginRow) -> PluginRow,
    ) -> Self {
        let notes = tempfile::tempdir().unwrap();
        let rg = notes.path().join("rg");
        let script = format!("#!/bin/sh\ncd '{}'\n{script}\n", notes.path().display());
        fs::write(&rg, script).unwrap();
        fs::set_permissions(&rg, fs::Permissions::from_mode(0o755)).unwrap();
        let mut config = config;
        config["rgPath"] = rg.to_str().unwrap().into();
        let place = Place::mounted(|host| change(row(host, HISTORY, config)), None).await;
        place.write("s", &[user(0, "x")]);
        let file = place.spill("s", "a.txt", "x\n");
        Self { place, file, notes }
    }

    fn note(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.notes.path().join(name)).ok()
    }

    /// The processes that the script has noted.
    async fn pids(&self, count: usize) -> Vec<i32> {
        let read = || -> Vec<i32> {
            let text = self.note("pids").unwrap_or_default();
            text.lines().filter_map(|line| line.parse().ok()).collect()
        };
        eventually("the program runs", || read().len() >= count).await;
        read()
    }

    fn begin(&self, request: dsh_host::CallRequest) -> tokio::task::JoinHandle<Answer> {
        let host = self.place.host.clone();
        tokio::spawn(async move { Answer(host.call(request).await) })
    }

    async fn request(&self, signal: AbortSignal) -> dsh_host::CallRequest {
        let arguments = json!({"pattern": "x", "path": self.file.to_str().unwrap()});
        self.place
            .request("s", "context_grep", &arguments.to_string(), signal)
            .await
    }
}

fn is_alive(pid: i32) -> bool {
    // A zombie has ended; whoever started it collects it.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().unwrap_or_default().to_owned();
    !stat.is_empty() && !state.starts_with('Z')
}

#[tokio::test]
async fn case_065_an_abort_ends_the_whole_tree_before_the_call_settles() {
    let script = Scripted::new("sleep 600 &\necho $! >> pids\necho $$ >> pids\nwait").await;
    let controller = AbortController::new();
    let call = script.begin(script.request(controller.signal()).await);
    let pids = script.pids(2).await;
    assert!(pids.iter().all(|pid| is_alive(*pid)));
    controller.abort(AbortReason::unspecified());
    let answer = soon(call).await.unwrap();
    let left: Vec<_> = pids.iter().filter(|pid| is_alive(**pid)).collect();
    assert!(left.is_empty(), "{left:?} of {pids:?} are left");
    assert_eq!(
        answer.error(),
        ("ABORTED".into(), "Error: tool call aborted".into())
    );
}

#[tokio::test]
async fn case_065_a_program_that_ignores_the_request_is_killed_after_the_grace() {
    let script = "trap '' TERM\necho $$ >> pids\nwhile :; do sleep 0.05; done";
    let script = Scripted::with(script, json!({"rgGraceMs": 100}), |row| row).await;
    let controller = AbortController::new();
    let call = script.begin(script.request(controller.signal()).await);
    let pids = script.pids(1).await;
    controller.abort(AbortReason::unspecified());
    let answer = soon(call).await.unwrap();
    assert!(!is_alive(pids[0]));
    assert_eq!(answer.error().0, "ABORTED");
}

#[tokio::test]
async fn case_065_a_deadline_does_the_same_and_names_itself() {
    let script = Scripted::new("echo $$ >> pids\nexec sleep 600").await;
    let mut request = script.request(AbortSignal::never()).await;
    request.timeout_ms = Some(300);
    let answer = soon(script.place.host.call(request)).await;
    // The machine may be too busy to have started it in that time.
    for pid in script.note("pids").unwrap_or_default().lines() {
        assert!(!is_alive(pid.parse().unwrap()));
    }
    let expected = (
        "TOOL_TIMEOUT".into(),
        "Error: tool call timed out after 300ms".into(),
    );
    assert_eq!(Answer(answer).error(), expected);
}

#[tokio::test]
async fn case_065_a_call_that_was_aborted_before_starts_nothing() {
    let script = Scripted::new("echo $$ >> pids").await;
    let controller = AbortController::new();
    controller.abort(AbortReason::unspecified());
    let request = script.request(controller.signal()).await;
    let answer = soon(script.place.host.call(request)).await;
    assert!(answer.is_error());
    assert_eq!(script.note("pids"), None);
}

const LINE: &str = r#"{"type":"match","data":{"path":{"text":"/x"},"lines":{"text":"a line with x in it\n"},"line_number":1,"absolute_offset":0,"submatches":[{"match":{"text":"x"},"start":12,"end":13}]}}"#;

#[tokio::test]
async fn case_059_output_without_end_is_left_once_the_answer_is_full() {
    let script = format!("echo $$ >> pids\nexec yes '{LINE}'");
    let script = Scripted::new(&script).await;
    for (limit, shown) in [(1, 1), (50, 50), (200, 200)] {
        let arguments =
            json!({"pattern": "x", "path": script.file.to_str().unwrap(), "limit": limit});
        let answer = script
            .place
            .call("s", "context_grep", arguments)
            .await
            .value();
        assert_eq!(answer["truncated"], true);
        assert_eq!(answer["matches"].as_array().unwrap().len(), shown);
    }
    for pid in script.pids(3).await {
        assert!(!is_alive(pid), "{pid} goes on");
    }
}

#[tokio::test]
async fn case_059_the_component_needs_little_memory_however_much_is_printed() {
    // 64 MiB without a line feed, twice: a record longer than any, then the second way of asking.
    let script = "echo $$ >> pids\nhead -c 67108864 /dev/zero | tr '\\000' 'x'";
    let config = json!({"grepMaxBytes": 9_007_199_254_740_991_u64});
    let small = |row: PluginRow| PluginRow {
        limits: Limits {
            memory: 48 << 20,
            ..Limits::default()
        },
        ..row
    };
    let script = Scripted::with(script, config, small).await;
    let answer = script.place.grep("s", &script.file, "x").await.error();
    assert_eq!(answer.0, "CONTEXT_PROXY_SEARCH_FAILED", "{answer:?}");
    // 64 MiB of whole records, of which only as many are kept as the answer shows.
    let script = format!(
        "echo $$ >> pids\nyes '{}' | head -c 67108864",
        LINE.replace("match\",\"data", "context\",\"data")
    );
    let config = json!({"grepMaxBytes": 9_007_199_254_740_991_u64});
    let script = Scripted::with(&script, config, small).await;
    let answer = script.place.grep("s", &script.file, "x").await.error();
    assert_eq!(
        answer.0, "CONTEXT_PROXY_SEARCH_FAILED",
        "it stops in the middle: {answer:?}"
    );
    assert!(!answer.1.contains("trap"), "{answer:?}");
}

#[tokio::test]
async fn what_is_no_ripgrep_fails_with_a_reason() {
    for (script, reason) in [
        (
            "echo hello",
            "search failed (the output of ripgrep could not be read)",
        ),
        (
            "exit 0",
            "search failed (ripgrep reported a match and printed none)",
        ),
        ("echo oops >&2; exit 3", "search failed (exit 3): oops"),
        ("exit 7", "search failed (exit 7)"),
        ("kill -KILL $$", "search was killed by signal SIGKILL"),
        (
            "printf '{\"type\":\"match\"'; exit 1",
            "search failed (the output of ripgrep stops in the middle)",
        ),
        (
            "echo '{\"type\":\"match\"}'",
            "search failed (the output of ripgrep could not be read)",
        ),
    ] {
        let script = Scripted::new(script).await;
        let (code, text) = script.place.grep("s", &script.file, "x").await.error();
        assert_eq!(
            (code.as_str(), text),
            ("CONTEXT_PROXY_SEARCH_FAILED", format!("Error: {reason}"))
        );
    }
}
