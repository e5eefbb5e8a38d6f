//! What a scripted server can do. An action is an object with one key:
//!
//! | action | does |
//! |---|---|
//! | `{"reply": VALUE}`, `{"error": VALUE}` | answers the message at hand |
//! | `{"cancelled": VALUE}` | answers the query that a `$/cancelRequest` is about with this error |
//! | `{"symbols": N}` | answers it with so many symbols, about 200 bytes each |
//! | `{"nested": N}` | answers it with one symbol that has `data` nested so deeply |
//! | `{"send": VALUE}`, `{"body": TEXT}` | writes a message of its own: a value, or any text in a frame |
//! | `{"large": [BEFORE, UNIT, N, AFTER]}` | writes a message with N units, each a text or a list of bytes; `$ID` before them is the identifier of the message at hand, `$N` before and after them how many such messages were written |
//! | `{"write": TEXT}`, `{"bytes": [N…]}` | writes to standard output what is no message |
//! | `{"repeat": N, "do": [ACTION…]}` | so many times |
//! | `{"stderr": TEXT}`, `{"flood": BYTES}` | writes to standard error: a text, or so many bytes in numbered lines |
//! | `{"await": PATH}` | goes on once there is such a file |
//! | `{"helper": SCRIPT}` | starts `/bin/sh -c SCRIPT` and notes `helper` with its identifier |
//! | `{"become": SCRIPT}` | goes on as `/bin/sh -c SCRIPT`, the same process with the same pipes |
//! | `{"unlink": PATH}` | removes a file |
//! | `{"exit": CODE}`, `{"kill": true}`, `{"hang": true}` | ends, is killed, does nothing any more |

use crate::journal::Journal;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub struct Server {
    pub journal: Journal,
    pub run: Value,
    /// Lists of symbols by their length.
    pub made: RefCell<BTreeMap<u64, String>>,
}

impl Server {
    /// Does what the script says about this key, or what a well-behaved server does.
    pub fn handle(&self, key: &str, message: &Value) {
        if let Some(actions) = self.run.get(key) {
            self.perform(actions, message);
            return;
        }
        match key {
            "initialize" => {
                let capabilities = json!({"workspaceSymbolProvider": true});
                reply(message, "result", &json!({"capabilities": capabilities}));
            }
            "workspace/symbol" => reply(message, "result", &json!([])),
            "shutdown" => reply(message, "result", &Value::Null),
            "exit" | "<end>" => self.exit(0),
            _ => {}
        }
    }

    fn perform(&self, actions: &Value, message: &Value) {
        for action in actions.as_array().expect("a list of actions") {
            self.act(action, message);
        }
    }

    fn act(&self, action: &Value, message: &Value) {
        let members = action.as_object().expect("an action");
        if let Some(times) = members.get("repeat") {
            for _ in 0..times.as_u64().expect("a number") {
                self.perform(&members["do"], message);
            }
            return;
        }
        let (name, what) = members.iter().next().expect("an action has a key");
        let text = || what.as_str().expect("a text");
        let number = || what.as_u64().expect("a number");
        match name.as_str() {
            "reply" => reply(message, "result", what),
            "error" => reply(message, "error", what),
            "cancelled" => reply(&message["params"], "error", what),
            "symbols" => self.reply_with_symbols(message, number()),
            "nested" => frame(&nested(message, number())),
            "send" => frame(&what.to_string()),
            "body" => frame(text()),
            "large" => {
                self.journal.note("large", &what[2]);
                write(&large(what, &message["id"]));
            }
            "write" => write(text().as_bytes()),
            "bytes" => write(&serde_json::from_value::<Vec<u8>>(what.clone()).expect("bytes")),
            "stderr" => std::io::stderr()
                .write_all(text().as_bytes())
                .expect("written"),
            "flood" => flood(number()),
            "await" => self.wait_for(Path::new(text())),
            "helper" => self.start_helper(text()),
            "become" => {
                let error = std::process::Command::new("/bin/sh")
                    .arg("-c")
                    .arg(text())
                    .exec();
                panic!("{error}");
            }
            "unlink" => std::fs::remove_file(text()).expect("removed"),
            "exit" => self.exit(i32::try_from(number()).expect("a code")),
            "kill" => {
                let own = rustix::process::getpid();
                rustix::process::kill_process(own, rustix::process::Signal::KILL).expect("killed");
            }
            "hang" => loop {
                std::thread::park();
            },
            other => panic!("no action is called {other}"),
        }
    }

    fn exit(&self, code: i32) {
        self.journal.note("exit", &json!(code));
        std::process::exit(code)
    }

    /// The list is made once: measurements are not to be about that.
    fn reply_with_symbols(&self, message: &Value, count: u64) {
        let mut made = self.made.borrow_mut();
        let list = made
            .entry(count)
            .or_insert_with(|| symbols(count).to_string());
        frame(&format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{list}}}"#,
            message["id"]
        ));
    }

    fn wait_for(&self, path: &Path) {
        self.journal.note("await", &json!(path));
        while !path.exists() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn start_helper(&self, script: &str) {
        let helper = std::process::Command::new("/bin/sh")
            .arg("-c")
            .arg(script)
            .spawn();
        self.journal
            .note("helper", &json!(helper.expect("a shell").id()));
    }
}

fn reply(message: &Value, member: &str, what: &Value) {
    frame(&json!({"jsonrpc": "2.0", "id": message["id"], member: what}).to_string());
}

fn frame(body: &str) {
    write(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
}

fn large(what: &Value, id: &Value) -> Vec<u8> {
    let text = |at: usize| what[at].as_str().expect("a text");
    let unit = match &what[1] {
        Value::String(unit) => unit.as_bytes().to_vec(),
        bytes => serde_json::from_value(bytes.clone()).expect("bytes"),
    };
    let times = usize::try_from(what[2].as_u64().expect("a number")).expect("a size");
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed).to_string();
    let before = text(0)
        .replace("$ID", &id.to_string())
        .replace("$N", &number);
    let after = text(3).replace("$N", &number);
    let body = [before.as_bytes(), &unit.repeat(times), after.as_bytes()].concat();
    let header = format!("Content-Length: {}\r\n\r\n", body.len());
    [header.as_bytes(), &body].concat()
}

/// A client that has gone does not read any more; what the script does next still counts.
fn write(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    let _gone = out.write_all(bytes).and_then(|()| out.flush());
}

/// Symbols as servers send them; the numbers differ, so that none is a duplicate.
fn symbols(count: u64) -> Value {
    let symbol = |number: u64| {
        let range = json!({"start": {"line": number, "character": 4}, "end": {"line": number, "character": 17}});
        json!({
            "name": format!("Widget{number:05}"),
            "kind": 5,
            "containerName": format!("factory::section{}", number % 97),
            "location": {"uri": format!("file:///home/dev/project/src/part{:03}/widget.rs", number % 500), "range": range},
        })
    };
    (0..count).map(symbol).collect()
}

/// Made as text: this program's own JSON must not be what the test is about.
fn nested(message: &Value, levels: u64) -> String {
    let levels = usize::try_from(levels).expect("a size");
    let data = format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    let symbol = format!(
        r#"{{"name":"Deep","kind":5,"location":{{"uri":"file:///deep.rs"}},"data":{data}}}"#
    );
    format!(
        r#"{{"jsonrpc":"2.0","id":{},"result":[{symbol}]}}"#,
        message["id"]
    )
}

/// Lines of 16 bytes, so that a test can say what the last ones are.
fn flood(bytes: u64) {
    let mut err = std::io::BufWriter::with_capacity(1 << 16, std::io::stderr().lock());
    for line in 0..bytes / 16 {
        writeln!(err, "{line:015}").expect("somebody reads");
    }
    err.flush().expect("somebody reads");
}
