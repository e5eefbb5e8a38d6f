//! What the tests of child processes share.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dsh_services::subprocess::{
    ChildStdout, EnvChange, Exit, LocalSubprocess, Process, SpawnSpec, Subprocess, SubprocessError,
};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

/// Long enough for a machine that is busy with other things; reaching it is a failure.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// A grace that no test waits for.
pub const NEVER: u32 = 600_000;

/// The example that serves as supervisor, which `cargo test` builds beside the tests.
pub fn supervised_host() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let example = test
        .ancestors()
        .nth(2)
        .unwrap()
        .join("examples/supervised_host");
    assert!(
        example.exists(),
        "{} is missing: run the whole of `cargo test -p dsh-services`, which builds it",
        example.display()
    );
    example
}

/// The service without and with a supervisor: what is tested with it holds for both.
pub fn services() -> [Arc<LocalSubprocess>; 2] {
    [None, Some(supervised_host())].map(|supervisor| Arc::new(LocalSubprocess::new(supervisor)))
}

pub fn spec(argv: &[&str]) -> SpawnSpec {
    SpawnSpec {
        argv: argv.iter().map(|argument| (*argument).to_owned()).collect(),
        cwd: "/".into(),
        stdin: false,
        stderr_max_bytes: 10_000,
        grace_ms: NEVER,
        env: vec![EnvChange::set("PATH", "/usr/local/bin:/usr/bin:/bin")],
        signal: None,
    }
}

pub fn sh(script: &str) -> SpawnSpec {
    spec(&["/bin/sh", "-c", script])
}

pub async fn start(service: &LocalSubprocess, spec: SpawnSpec) -> Box<dyn Process> {
    service.spawn(spec).await.unwrap()
}

/// Waits for a future that must resolve.
pub async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future)
        .await
        .expect("still pending")
}

/// Waits for a state that must come.
pub async fn eventually(what: &str, mut reached: impl FnMut() -> bool) {
    let start = Instant::now();
    while !reached() {
        assert!(start.elapsed() < PATIENCE, "never came true: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub type Lines = tokio::io::Lines<BufReader<ChildStdout>>;

pub fn lines(process: &dyn Process) -> Lines {
    BufReader::new(process.take_stdout().unwrap()).lines()
}

pub async fn next_pid(lines: &mut Lines) -> i32 {
    soon(lines.next_line())
        .await
        .unwrap()
        .unwrap()
        .trim()
        .parse()
        .unwrap()
}

/// All of standard output, as text.
pub async fn output(process: &dyn Process) -> String {
    let mut text = String::new();
    soon(process.take_stdout().unwrap().read_to_string(&mut text))
        .await
        .unwrap();
    text
}

/// The state letter, parent and group of a process; none when there is none.
pub fn stat(pid: i32) -> Option<(char, i32, i32)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    Some((
        state,
        fields.next()?.parse().ok()?,
        fields.next()?.parse().ok()?,
    ))
}

/// The session of a process, as the kernel shows it.
pub fn session(pid: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat[stat.rfind(')')? + 1..]
        .split_ascii_whitespace()
        .nth(3)?
        .parse()
        .ok()
}

/// Whether a process exists in any form, as a zombie too.
pub fn exists(pid: i32) -> bool {
    stat(pid).is_some()
}

pub fn is_running(pid: i32) -> bool {
    stat(pid).is_some_and(|(state, _, _)| state != 'Z')
}

pub fn kill(pid: i32) {
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(pid).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
}

/// A leader, a child, and a grandchild; prints the two younger ones' identifiers.
pub const FAMILY: &str = "sh -c 'sleep 1000 & echo $!; wait' & echo $!; wait";
/// The same, all deaf to the request to end.
pub const DEAF_FAMILY: &str =
    "trap '' TERM; sh -c 'sleep 1000 & echo $!; wait; sleep 1000' & echo $!; wait; sleep 1000";
/// Prints the identifier of a process in a session of its own, which lets go of the pipes, and then stays.
pub const ESCAPEE: &str = "setsid sleep 1000 >/dev/null 2>&1 & echo $!; wait";
/// The same, deaf and forgotten: its parent has ended, so nothing links it to the tree any more.
pub const FORGOTTEN: &str =
    "(trap '' TERM; setsid sh -c 'echo $$; exec sleep 1000 >/dev/null 2>&1' &); exec sleep 1000";

pub fn code(code: i32) -> Result<Exit, SubprocessError> {
    Ok(Exit {
        code: Some(code),
        signal: None,
    })
}

pub fn signal(name: &str) -> Result<Exit, SubprocessError> {
    Ok(Exit {
        code: None,
        signal: Some(name.into()),
    })
}

/// Starts nothing; returns why.
pub async fn refusal(service: &LocalSubprocess, spec: SpawnSpec) -> SubprocessError {
    match service.spawn(spec).await {
        Ok(_) => panic!("it was started"),
        Err(error) => error,
    }
}
