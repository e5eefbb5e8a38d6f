//! A language server that plays what a script tells it, and writes down what happens to it. The tests and benches of the tool `workspace_symbol`
//! start it through the mounted component. It is the supervisor of its own processes, too.
//!
//! `scripted_language_server SCRIPT`, where `SCRIPT` is JSON:
//!
//! ```json
//! { "journal": "/path/of/a/file",
//!   "runs": [ { "start": [ACTION…], "initialize": [ACTION…], "workspace/symbol": [ACTION…], "<reply>": [ACTION…], "<end>": [ACTION…] } ] }
//! ```
//!
//! The n-th process with the same journal plays the n-th run, and the last one stands for all that follow. `start` is done before anything is
//! read; every other key is the method of a message, `<reply>` a reply of the client, `<end>` the end of standard input. What has no key is
//! done as a well-behaved server does it, which offers symbols and knows none. See [`actions`] for what can be done.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of tests fails loudly"
)]

mod actions;
mod journal;

use journal::Journal;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::io::{BufRead, BufReader};
use std::path::Path;

fn main() {
    dsh_services::subprocess::maybe_run_supervisor();
    let text = std::env::args()
        .nth(1)
        .expect("usage: scripted_language_server SCRIPT");
    let script: Value = serde_json::from_str(&text).expect("the script is JSON");
    let journal = Journal::open(Path::new(script["journal"].as_str().expect("a journal")));
    let number = journal.begin();
    let runs = script["runs"].as_array().cloned().unwrap_or_default();
    let run = runs
        .get(number)
        .or_else(|| runs.last())
        .cloned()
        .unwrap_or(json!({}));
    let server = actions::Server {
        journal,
        run,
        made: RefCell::default(),
    };
    server.handle("start", &Value::Null);
    let mut input = BufReader::new(std::io::stdin());
    while let Some(message) = read(&mut input) {
        server.journal.note("got", &message);
        let method = message["method"].as_str().unwrap_or("<reply>").to_owned();
        server.handle(&method, &message);
    }
    server.handle("<end>", &Value::Null);
}

/// The next message of the client, which writes one header only; none at the end.
fn read(input: &mut impl BufRead) -> Option<Value> {
    let mut header = String::new();
    if input.read_line(&mut header).ok()? == 0 {
        return None;
    }
    let length = header
        .trim_end()
        .strip_prefix("Content-Length: ")
        .expect("the client writes one header")
        .parse()
        .expect("a length");
    let mut blank = String::new();
    input.read_line(&mut blank).ok()?;
    let mut body = vec![0; length];
    input.read_exact(&mut body).ok()?;
    Some(serde_json::from_slice(&body).expect("the client writes JSON"))
}
