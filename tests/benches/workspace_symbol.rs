//! What the tool adds to a language server, beside a client without any sandbox that speaks to the same server in the same run, in turns.
//!
//! `cargo build --release --example scripted_language_server && cargo bench --bench workspace_symbol`

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a measurement that cannot be made fails loudly"
)]

use dsh_host::{CallRequest, ToolResult};
use dsh_tests::hosts::SYMBOLS;
use dsh_tests::symbols::{AGENT, Desk, TOOL, found, scripted_server};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// A client in a few lines: it frames, waits and parses, and does nothing with what it gets.
struct Native {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last: u64,
}

impl Native {
    fn start(script: &str) -> Self {
        let mut command = Command::new(scripted_server());
        let pipes = command
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        let mut client = Self {
            input: child.stdin.take().unwrap(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
            last: 0,
        };
        client.request("initialize", json!({"capabilities": {}}));
        client
    }

    /// The answer, and how many bytes it had.
    fn request(&mut self, method: &str, params: Value) -> (Value, usize) {
        self.last += 1;
        let body = json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
            .to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        self.input.flush().unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let length: usize = line
            .trim()
            .strip_prefix("Content-Length: ")
            .unwrap()
            .parse()
            .unwrap();
        self.output.read_line(&mut line).unwrap();
        let mut body = vec![0; length];
        self.output.read_exact(&mut body).unwrap();
        (serde_json::from_slice(&body).unwrap(), length)
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.child.kill();
        self.child.wait().unwrap();
    }
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e3
}

/// One call and what it took. Callers of a host are tasks of its runtime, so this one is too: the main thread would have to be woken first.
async fn ask(desk: &Desk) -> (ToolResult, Duration) {
    let host = desk.host.clone();
    let request = CallRequest {
        agent: Some(AGENT.into()),
        ..CallRequest::new(TOOL, r#"{"query":"Widget"}"#)
    };
    let asking = tokio::spawn(async move {
        let start = Instant::now();
        (host.call(request).await, start.elapsed())
    });
    asking.await.unwrap()
}

/// Asks the same server both ways, in turns: medians in milliseconds, native first, and the size of the answer.
async fn compare(desk: &Desk, symbols: u64, turns: usize) -> (f64, f64, usize) {
    let run = json!({"workspace/symbol": [{"symbols": symbols}]});
    let server = desk.server("tool", json!([run]));
    let mut native = Native::start(
        desk.server("native", json!([run]))["args"][0]
            .as_str()
            .unwrap(),
    );
    desk.mount(&[("server", server)]).await.unwrap();
    let (mut without, mut with, mut size) = (Vec::new(), Vec::new(), 0);
    for turn in 0..turns + 3 {
        let start = Instant::now();
        let (answer, bytes) = native.request("workspace/symbol", json!({"query": "Widget"}));
        let alone = start.elapsed();
        assert_eq!(answer["result"].as_array().unwrap().len() as u64, symbols);
        size = bytes;
        let (answer, through) = ask(desk).await;
        assert_eq!(found(answer)["total"], symbols);
        // The first ones warm everything up.
        if turn >= 3 {
            without.push(alone);
            with.push(through);
        }
    }
    (median(without), median(with), size)
}

fn verdict(holds: bool) -> &'static str {
    if holds { "holds" } else { "DOES NOT HOLD" }
}

#[tokio::main]
async fn main() {
    // `cargo test --benches` runs this too, only to see that it runs.
    let turns = if std::env::args().any(|argument| argument == "--bench") {
        300
    } else {
        3
    };
    for symbols in [0, 100] {
        let desk = Desk::new().await;
        let (native, tool, bytes) = compare(&desk, symbols, turns).await;
        let most = native * 1.05 + 1.0;
        println!(
            "{symbols} symbols, {bytes} bytes: {native:.3} ms without, {tool:.3} ms with the sandbox; at most 1 ms and 5 % more: {}",
            verdict(tool < most)
        );
        desk.unmount().await.unwrap();
    }
    let desk = Desk::new().await;
    let (native, tool, bytes) = compare(&desk, 50_000, turns.min(9)).await;
    println!(
        "50000 symbols, {bytes} bytes: {native:.1} ms without, {tool:.1} ms with the sandbox; under 300 ms: {}",
        verdict(tool < 300.0)
    );
    let memory = desk.host.memory(SYMBOLS).expect("it is mounted");
    let ratio = memory as f64 / bytes as f64;
    println!(
        "peak memory of the component: {memory} bytes, {ratio:.2} times the answer; under 4 times: {}",
        verdict(ratio < 4.0)
    );
    desk.unmount().await.unwrap();
}
