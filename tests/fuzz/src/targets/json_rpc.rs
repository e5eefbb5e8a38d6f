//! A language server that says anything to the client.

use super::pieces;
use dsh_guest_support::js_json;
use dsh_workspace_intelligence::framing::{Decoder, encode};
use dsh_workspace_intelligence::machine::{Machine, Setup};
use serde_json::{Value, json};

const MAX_MESSAGE: usize = 4096;
/// What may wait to be written, and one frame more.
const MOST_OUTGOING: usize = (16 << 20) + (1 << 20);

/// One connection, and what came of it so far.
struct Side {
    machine: Machine,
    /// Whether chunks are cut before they are handed over.
    cut: Option<u8>,
    sent: Vec<Value>,
    replies: Vec<String>,
}

impl Side {
    fn new(cut: Option<u8>) -> Self {
        let machine = Machine::new(&Setup {
            root_uri: "file:///work/app".into(),
            initialization_options: Value::Null,
            configuration: json!({"deep": {"er": [1, 2]}}),
            max_message_bytes: MAX_MESSAGE,
            warmup_ms: 1_000,
        });
        Self {
            machine,
            cut,
            sent: Vec::new(),
            replies: Vec::new(),
        }
    }

    fn receive(&mut self, chunk: &[u8], now: u64) {
        match self.cut {
            None => self.machine.receive(chunk, now),
            Some(seed) => {
                for piece in pieces(chunk, seed) {
                    self.machine.receive(piece, now);
                }
            }
        }
    }

    /// Takes what waits to be written, and checks that a server could read it.
    fn drain(&mut self) {
        let mut bytes = 0;
        while let Some(frame) = self.machine.take_outgoing() {
            bytes += frame.len();
            let mut decoder = Decoder::new(usize::MAX);
            decoder.push(&frame);
            let body = decoder.next_body().unwrap().unwrap().to_vec();
            assert_eq!(encode(std::str::from_utf8(&body).unwrap()), frame);
            let message = js_json::parse(&body).unwrap();
            assert_eq!(message["jsonrpc"], "2.0");
            self.sent.push(message);
        }
        assert!(bytes <= MOST_OUTGOING, "{bytes} bytes waited");
    }

    fn step(&mut self, step: &Step<'_>, now: u64) {
        match step {
            Step::Raw(chunk) => self.receive(chunk, now),
            Step::Framed(frame) => self.receive(frame, now),
            Step::Query(query) => self.machine.query(query),
            Step::Cancel => self.machine.cancel(),
            Step::Shutdown => self.machine.drain(),
            Step::Exit => self.machine.exit(),
            Step::Open(text) => self
                .machine
                .open_document("file:///work/app/a", "rust", text),
            Step::Take => {
                let reply = self.machine.take_reply();
                self.replies.extend(reply.map(|reply| format!("{reply:?}")));
            }
        }
        self.drain();
    }

    fn shown(&self) -> String {
        let machine = &self.machine;
        format!(
            "{:?} {:?} {} {} {}",
            machine.loss(),
            machine.handshake(),
            machine.supports_symbols(),
            machine.is_cancelling(),
            machine.is_shutting_down(),
        )
    }
}

enum Step<'a> {
    Raw(&'a [u8]),
    Framed(Vec<u8>),
    Query(String),
    Cancel,
    Shutdown,
    Exit,
    Open(String),
    Take,
}

/// One line is one step; its first byte says which.
fn step(line: &[u8]) -> Option<Step<'_>> {
    let (first, rest) = line.split_first()?;
    let text = || String::from_utf8_lossy(rest).into_owned();
    Some(match first {
        b'<' => Step::Raw(rest),
        b'q' => Step::Query(text()),
        b'c' => Step::Cancel,
        b's' => Step::Shutdown,
        b'e' => Step::Exit,
        b'o' => Step::Open(text()),
        b't' => Step::Take,
        // A server's answer to `initialize`, so that what comes after it is reached soon.
        b'i' => Step::Framed(encode(
            r#"{"id":1,"result":{"capabilities":{"workspaceSymbolProvider":true}}}"#,
        )),
        _ => Step::Framed(encode(&String::from_utf8_lossy(line))),
    })
}

/// A framed step as a tree of values; none when it is none, which may be for a number beyond a double in a member that is never read.
fn message(frame: &[u8]) -> Option<Value> {
    let mut decoder = Decoder::new(MAX_MESSAGE);
    decoder.push(frame);
    let body = decoder.next_body().ok()??;
    js_json::parse(body).ok()
}

/// The id of a request that has to be answered: SPEC 6 over a tree of values.
fn asked(message: &Value) -> Option<Value> {
    message.get("method")?.as_str()?;
    let id = message.get("id")?;
    (id.is_number() || id.is_string()).then(|| id.clone())
}

/// What is said means the same however it is cut; every request is answered once, by its own id, while there is somebody to answer; nothing
/// but JSON-RPC is written, and never without bound.
pub fn json_rpc(data: &[u8]) {
    let Some((seed, data)) = data.split_first() else {
        return;
    };
    let (mut whole, mut cut) = (Side::new(None), Side::new(Some(*seed)));
    whole.drain();
    cut.drain();
    let mut in_step = true;
    for (now, line) in data.split(|byte| *byte == b'\n').enumerate() {
        let Some(step) = step(line) else { continue };
        let before = whole.sent.len();
        for side in [&mut whole, &mut cut] {
            side.step(&step, now as u64 * 100);
        }
        match &step {
            // The position in the stream is known only while nothing but whole frames came.
            Step::Raw(_) => in_step = false,
            Step::Framed(frame) if in_step && whole.machine.loss().is_none() => {
                let answers = whole.sent[before..]
                    .iter()
                    .filter(|sent| sent.get("method").is_none());
                let answers: Vec<&Value> = answers.collect();
                let Some(message) = message(frame) else {
                    continue;
                };
                match asked(&message) {
                    // Its id may be too long to be sent back (SPEC 6.6).
                    Some(_) if answers.is_empty() && frame.len() > 1_024 => {}
                    Some(id) => {
                        assert_eq!(answers.len(), 1, "one answer");
                        // As JavaScript writes it: `0.0` comes back as `0`.
                        let answered = js_json::stringify(&answers[0]["id"]);
                        assert_eq!(answered, js_json::stringify(&id));
                        assert!(
                            answers[0].get("result").is_some() != answers[0].get("error").is_some()
                        );
                    }
                    None => assert!(answers.is_empty(), "nobody asked"),
                }
            }
            _ => {}
        }
    }
    assert_eq!(whole.shown(), cut.shown());
    assert_eq!(whole.sent, cut.sent);
    assert_eq!(whole.replies, cut.replies);
}
