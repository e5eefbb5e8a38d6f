//! A serving command, and what is said to it and by it.

use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long anything may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(120);

pub struct Server {
    pub child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
}

impl Server {
    pub fn start(arguments: &[&str], cwd: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_dsh-host"))
            .args(arguments)
            .current_dir(cwd)
            .env(
                "DSH_HOST_CACHE_DIR",
                Path::new(env!("CARGO_TARGET_TMPDIR")).join("code"),
            )
            .env("DSH_HOME", cwd.join(".dsh"))
            .env_remove("DSH_HOST_LOG")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
                if sender.send(value).is_err() {
                    break;
                }
            }
        });
        let input = child.stdin.take();
        Self {
            child,
            input,
            lines,
        }
    }

    /// Writes one line as it is. A server that has ended hears nothing.
    pub fn raw(&mut self, line: &[u8]) {
        let input = self.input.as_mut().unwrap();
        let _ = input.write_all(line).and_then(|()| input.write_all(b"\n"));
        let _ = input.flush();
    }

    pub fn send(&mut self, value: Value) {
        self.raw(value.to_string().as_bytes());
    }

    /// The next line for which `wanted` holds; others are passed over.
    pub fn next(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(value) if wanted(&value) => return value,
                Ok(_) => {}
                Err(error) => panic!("{what}: {error}"),
            }
        }
    }

    /// The answer to the request of this number.
    pub fn answer(&self, id: impl Into<Value>) -> Value {
        let id = id.into();
        self.next(&format!("the answer to {id}"), |value| {
            value["id"] == id && value.get("method").is_none()
        })
    }

    /// Reads one line more, and then closes the reading end of standard output.
    pub fn deaf(&mut self) {
        self.lines = channel().1;
    }

    /// Closes standard input.
    pub fn close(&mut self) {
        self.input = None;
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = i32::try_from(self.child.id()).unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Waits for the end of the process.
    pub fn end(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "the server does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A test that fails in the middle leaves nothing; one that has ended cannot be killed, which is as well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until a state has come.
pub fn until(what: &str, mut reached: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !reached() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The processes whose command line names this text.
pub fn processes(text: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let named = entries.filter_map(|entry| {
        let pid = entry.file_name().into_string().ok()?;
        pid.parse::<u32>().ok()?;
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        String::from_utf8_lossy(&line).contains(text).then_some(pid)
    });
    named.collect()
}

/// Writes a language server that answers nothing, and a profile with it; returns what names its processes.
pub fn mute_server(place: &Path) -> (String, Value) {
    use std::os::unix::fs::PermissionsExt;
    let program = place.join("mute-server");
    std::fs::write(&program, "#!/bin/sh\nsleep 1000 &\ncat >/dev/null\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let text = program.to_str().unwrap().to_owned();
    let row = serde_json::json!({
        "id": "symbols",
        "name": "dsh-workspace-intelligence",
        "config": {"servers": {"mute": {"command": text}}},
    });
    (text, row)
}
