//! One connection to one language server, without any input or output (SPEC 16).
//!
//! Bytes and events go in, frames to be written come out; whoever drives the machine reads its state after every step. It knows nothing of
//! processes and of waiting.

use crate::failure::Loss;
use crate::framing::{self, Decoder, FrameError};
use crate::handshake::{self, HandshakeError};
use crate::jsonrpc::{self, Inbound, Reply, RpcError, VALUE_ROOM, object};
use crate::normalise::{self, Symbols};
use crate::server_requests::{self, Answers, registered_symbol_ids, unregistered_symbol_ids};
use crate::warmup::Warmup;
use dsh_guest_support::js_json::{self, ParseError};
use serde_json::Value;
use std::collections::VecDeque;

/// Most bytes that wait to be written. A server that asks for ever and never reads would grow them without end.
const MAX_OUTGOING_BYTES: usize = 16 << 20;
/// Most dynamic registrations that are remembered.
const MAX_REGISTRATIONS: usize = 64;

/// What a connection is made for.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The workspace, a `file:` URI.
    pub root_uri: String,
    /// `null` for none.
    pub initialization_options: Value,
    /// The answer to each configuration item.
    pub configuration: Value,
    /// Most bytes of one message from the server.
    pub max_message_bytes: usize,
    /// The longest warm-up, in milliseconds; 0 for none.
    pub warmup_ms: u32,
}

/// What a server answered to a query.
pub type Answer = Result<Symbols, RpcError>;

#[derive(Debug)]
enum State {
    /// `initialize` was sent.
    Starting,
    /// `initialize` was answered, but not acceptably.
    Refused(HandshakeError),
    /// Nothing is awaited.
    Ready,
    /// A query was sent.
    InFlight { id: u64 },
    /// It was cancelled, and the server has not settled it.
    Cancelling { id: u64 },
    /// `shutdown` was sent.
    ShutdownSent { id: u64 },
    /// `shutdown` was answered.
    ShutDown,
    /// `exit` was sent.
    ExitSent,
    /// The connection is gone.
    Lost(Loss),
}

/// The state of one connection.
#[derive(Debug)]
pub struct Machine {
    state: State,
    /// The answer to the query, until it is fetched. It outlives the connection: what was complete before a breach counts.
    reply: Option<Answer>,
    decoder: Decoder,
    answers: Answers,
    warmup: Warmup,
    last_id: u64,
    initialize_id: u64,
    /// The server settled `initialize`, one way or the other.
    initialize_answered: bool,
    announces_symbols: bool,
    registrations: Vec<String>,
    outgoing: VecDeque<Vec<u8>>,
    outgoing_bytes: usize,
}

impl Machine {
    /// A connection to a process that was just started; `initialize` waits to be written.
    pub fn new(setup: &Setup) -> Self {
        let warmup = Warmup::new(setup.warmup_ms);
        let params = handshake::initialize_params(
            &setup.root_uri,
            &setup.initialization_options,
            warmup.enabled(),
        );
        let mut machine = Self {
            state: State::Starting,
            reply: None,
            decoder: Decoder::new(setup.max_message_bytes),
            answers: Answers::new(
                &setup.configuration,
                &handshake::workspace_folders(&setup.root_uri),
            ),
            warmup,
            last_id: 0,
            initialize_id: 0,
            initialize_answered: false,
            announces_symbols: false,
            registrations: Vec::new(),
            outgoing: VecDeque::new(),
            outgoing_bytes: 0,
        };
        machine.initialize_id = machine.request("initialize", Some(params));
        machine
    }

    /// Takes in what the server wrote at the time `now`, in milliseconds. Complete messages before a breach of the protocol still count.
    pub fn receive(&mut self, chunk: &[u8], now: u64) {
        // Taken out for the while, because messages are read where they lie.
        let mut decoder = std::mem::take(&mut self.decoder);
        let max_body = decoder.max_body();
        decoder.push(chunk);
        while !matches!(self.state, State::Lost(_)) {
            let taken_in = match decoder.next_body() {
                Ok(None) => break,
                Ok(Some(body)) => self.take_in(body, max_body, now),
                Err(error) => Err(error),
            };
            if let Err(error) = taken_in {
                self.lose(error.into());
            }
        }
        self.decoder = decoder;
    }

    fn take_in(&mut self, body: &[u8], max_body: usize, now: u64) -> Result<(), FrameError> {
        let text = js_json::text(body).map_err(not_json)?;
        // What is no UTF-8 takes three times its size.
        if text.len() > max_body {
            return Err(FrameError::TooLong {
                length: text.len().to_string(),
                limit: max_body,
            });
        }
        self.sort(&text, now).map_err(not_json)
    }

    fn sort(&mut self, text: &str, now: u64) -> Result<(), ParseError> {
        match jsonrpc::classify(text)? {
            Inbound::Request { id, method, params } => match js_json::value(params, VALUE_ROOM) {
                Ok(params) => self.answer(&id, &method, &params),
                Err(ParseError::TooLarge) => {
                    let why = format!("the params take more than {VALUE_ROOM} bytes");
                    let refusal = server_requests::invalid(why);
                    self.send(&jsonrpc::reply(&id, Err(refusal)));
                }
                Err(error) => return Err(error),
            },
            Inbound::Notification { method, params } if method == "$/progress" => {
                match js_json::value(params, VALUE_ROOM) {
                    Ok(params) => self.warmup.progress(&params, now),
                    Err(ParseError::TooLarge) => {}
                    Err(error) => return Err(error),
                }
            }
            Inbound::Response { id, reply } => self.settle(id, reply, now)?,
            Inbound::Notification { .. } | Inbound::Ignored => {}
        }
        Ok(())
    }

    fn answer(&mut self, id: &Value, method: &str, params: &Value) {
        match method {
            "client/registerCapability" => {
                for id in registered_symbol_ids(params) {
                    if self.registrations.len() < MAX_REGISTRATIONS {
                        self.registrations.push(id.to_owned());
                    }
                }
            }
            "client/unregisterCapability" => {
                for id in unregistered_symbol_ids(params) {
                    self.registrations.retain(|registered| registered != id);
                }
            }
            _ => {}
        }
        let answer = self.answers.to(method, params);
        self.send(&jsonrpc::reply(id, answer));
    }

    /// A reply to anything but the one request that is awaited is late or made up, and changes nothing.
    fn settle(&mut self, id: u64, reply: Reply<'_>, now: u64) -> Result<(), ParseError> {
        match self.state {
            State::Starting if id == self.initialize_id => self.end_handshake(reply, now)?,
            State::InFlight { id: awaited } if id == awaited => {
                self.reply = Some(match reply {
                    Ok(result) => Ok(normalise::symbols(result)?),
                    Err(error) => Err(error),
                });
                self.state = State::Ready;
            }
            State::Cancelling { id: awaited } if id == awaited => self.state = State::Ready,
            State::ShutdownSent { id: awaited } if id == awaited => self.state = State::ShutDown,
            _ => {}
        }
        Ok(())
    }

    fn end_handshake(&mut self, reply: Reply<'_>, now: u64) -> Result<(), ParseError> {
        let read = match reply {
            Ok(result) => match result.map(|text| js_json::value(text, VALUE_ROOM)) {
                None => handshake::read_result(None),
                Some(Ok(result)) => handshake::read_result(Some(&result)),
                Some(Err(ParseError::TooLarge)) => {
                    Err(HandshakeError::Malformed("the result is too large"))
                }
                Some(Err(error)) => return Err(error),
            },
            Err(error) => Err(HandshakeError::Refused(error.to_string())),
        };
        self.initialize_answered = true;
        match read {
            Ok(announces_symbols) => {
                self.announces_symbols = announces_symbols;
                self.send(&jsonrpc::notification("initialized", Some(object([]))));
                self.enter(State::Ready);
                self.warmup.initialized(now);
            }
            Err(error) => self.state = State::Refused(error),
        }
        Ok(())
    }

    /// The connection is gone. The first reason stands.
    pub fn lose(&mut self, loss: Loss) {
        if !matches!(self.state, State::Lost(_)) {
            self.state = State::Lost(loss);
        }
    }

    /// Why the connection is gone, if it is.
    pub fn loss(&self) -> Option<&Loss> {
        match &self.state {
            State::Lost(loss) => Some(loss),
            _ => None,
        }
    }

    /// The outcome of the handshake; `None` while the server has not answered.
    pub fn handshake(&self) -> Option<Result<(), HandshakeError>> {
        match &self.state {
            State::Starting => None,
            State::Refused(error) => Some(Err(error.clone())),
            _ => Some(Ok(())),
        }
    }

    /// Whether the server offers `workspace/symbol`, from the start or by a registration since.
    pub fn supports_symbols(&self) -> bool {
        self.announces_symbols || !self.registrations.is_empty()
    }

    /// The warm-up of the process.
    pub fn warmup(&self) -> &Warmup {
        &self.warmup
    }

    /// Ends the warm-up: the first query is about to be sent.
    pub fn finish_warmup(&mut self) {
        self.warmup.finish();
    }

    /// Tells the server about an open document; only between the handshake and the end.
    pub fn open_document(&mut self, uri: &str, language_id: &str, text: &str) {
        if matches!(self.state, State::Ready) {
            let document = object([
                ("uri", uri.into()),
                ("languageId", language_id.into()),
                ("version", 1.into()),
                ("text", text.into()),
            ]);
            let params = object([("textDocument", document)]);
            self.send(&jsonrpc::notification("textDocument/didOpen", Some(params)));
        }
    }

    /// Sends a query, if nothing else is awaited.
    pub fn query(&mut self, query: &str) {
        if matches!(self.state, State::Ready) {
            self.reply = None;
            let id = self.request("workspace/symbol", Some(object([("query", query.into())])));
            self.enter(State::InFlight { id });
        }
    }

    /// Fetches the answer to the query, once it is there.
    pub fn take_reply(&mut self) -> Option<Answer> {
        self.reply.take()
    }

    /// Asks the server to give the query up. What it answers from now on is discarded.
    pub fn cancel(&mut self) {
        match self.state {
            State::InFlight { id } => {
                self.send(&jsonrpc::notification(
                    "$/cancelRequest",
                    Some(object([("id", id.into())])),
                ));
                self.enter(State::Cancelling { id });
            }
            _ => self.reply = None,
        }
    }

    /// Whether the server still owes the settlement of a cancelled query.
    pub fn is_cancelling(&self) -> bool {
        matches!(self.state, State::Cancelling { .. })
    }

    /// Begins the orderly end. `shutdown` may only be sent to a server that has settled `initialize`; the others get `exit` alone.
    pub fn drain(&mut self) {
        match self.state {
            State::Starting => self.exit(),
            State::ShutdownSent { .. } | State::ShutDown | State::ExitSent | State::Lost(_) => {}
            _ => {
                let id = self.request("shutdown", None);
                self.enter(State::ShutdownSent { id });
            }
        }
    }

    /// Whether the answer to `shutdown` is awaited.
    pub fn is_shutting_down(&self) -> bool {
        matches!(self.state, State::ShutdownSent { .. })
    }

    /// Whether the server has settled `initialize`.
    pub fn is_initialize_answered(&self) -> bool {
        self.initialize_answered
    }

    /// Tells the server to end its process.
    pub fn exit(&mut self) {
        if !matches!(self.state, State::ExitSent | State::Lost(_)) {
            self.send(&jsonrpc::notification("exit", None));
            self.enter(State::ExitSent);
        }
    }

    /// The next frame to be written.
    pub fn take_outgoing(&mut self) -> Option<Vec<u8>> {
        let frame = self.outgoing.pop_front()?;
        self.outgoing_bytes -= frame.len();
        Some(frame)
    }

    /// Changes the state after something was sent, which can have lost the connection.
    fn enter(&mut self, next: State) {
        if self.loss().is_none() {
            self.state = next;
        }
    }

    fn request(&mut self, method: &str, params: Option<Value>) -> u64 {
        self.last_id += 1;
        self.send(&jsonrpc::request(self.last_id, method, params));
        self.last_id
    }

    fn send(&mut self, body: &str) {
        let frame = framing::encode(body);
        if self.outgoing_bytes + frame.len() > MAX_OUTGOING_BYTES {
            let reason = format!("more than {MAX_OUTGOING_BYTES} bytes wait to be read");
            self.lose(Loss::InputFailed(reason));
            return;
        }
        self.outgoing_bytes += frame.len();
        self.outgoing.push_back(frame);
    }
}

fn not_json(error: ParseError) -> FrameError {
    FrameError::NotJson(error.to_string())
}
