//! A language server that is a script.

use super::world::Outside;
use dsh_workspace_intelligence::driver::bell::Bell;
use dsh_workspace_intelligence::driver::ports::{self, Host, SpawnSpec, Spawned};
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

type Handler = Rc<dyn Fn(&Server, &Value)>;
type Starter = Rc<dyn Fn(&Server)>;

/// What a server does with what it reads.
#[derive(Clone)]
pub struct Script {
    handlers: BTreeMap<String, Handler>,
    on_start: Option<Starter>,
    /// Survives the request to end until it is killed after the grace.
    stubborn: bool,
    /// Something of the tree cannot be ended.
    immortal: bool,
}

impl Script {
    /// A well-behaved server that offers symbols and knows none.
    pub fn new() -> Self {
        Self {
            handlers: BTreeMap::new(),
            on_start: None,
            stubborn: false,
            immortal: false,
        }
        .with_capabilities(json!({"workspaceSymbolProvider": true}))
        .with_result(json!([]))
        .on("shutdown", |server, message| {
            server.reply(message, json!(null))
        })
        .on("exit", |server, _| server.exit("exited with code 0"))
    }

    /// Replaces what is done with one method; replies of the client arrive as the method `<reply>`.
    pub fn on(mut self, method: &str, handler: impl Fn(&Server, &Value) + 'static) -> Self {
        self.handlers.insert(method.to_owned(), Rc::new(handler));
        self
    }

    /// Ignores a method.
    pub fn ignoring(self, method: &str) -> Self {
        self.on(method, |_, _| {})
    }

    /// Is done when the process begins, before anything is read.
    pub fn at_start(mut self, start: impl Fn(&Server) + 'static) -> Self {
        self.on_start = Some(Rc::new(start));
        self
    }

    pub fn with_capabilities(self, capabilities: Value) -> Self {
        self.on("initialize", move |server, message| {
            server.reply(message, json!({"capabilities": capabilities}))
        })
    }

    /// Every query is answered with this.
    pub fn with_result(self, result: Value) -> Self {
        self.on("workspace/symbol", move |server, message| {
            server.reply(message, result.clone())
        })
    }

    /// Every query is answered by an error.
    pub fn with_error(self, code: i64, text: &str) -> Self {
        let text = text.to_owned();
        self.on("workspace/symbol", move |server, message| {
            server.reply_error(message, code, &text)
        })
    }

    pub fn stubborn(mut self) -> Self {
        self.stubborn = true;
        self
    }

    pub fn immortal(mut self) -> Self {
        self.immortal = true;
        self
    }
}

/// One process of a script. Clones are the same process.
#[derive(Clone)]
pub struct Server(Rc<Inner>);

struct Inner {
    outside: Outside,
    program: String,
    spec: SpawnSpec,
    script: Script,
    bell: Bell,
    read: RefCell<Vec<u8>>,
    received: RefCell<Vec<Value>>,
    written: RefCell<VecDeque<Vec<u8>>>,
    output_closed: Cell<bool>,
    input_closed: Cell<bool>,
    /// The pipe is full: the client's writes wait.
    input_blocked: Cell<bool>,
    exit: RefCell<Option<Result<String, String>>>,
    terminated_at: Cell<Option<u64>>,
    stderr: RefCell<String>,
}

impl Server {
    pub fn start(outside: Outside, program: String, spec: SpawnSpec, script: Script) -> Self {
        let server = Self(Rc::new(Inner {
            outside,
            program,
            spec,
            script,
            bell: Bell::default(),
            read: RefCell::default(),
            received: RefCell::default(),
            written: RefCell::default(),
            output_closed: Cell::new(false),
            input_closed: Cell::new(false),
            input_blocked: Cell::new(false),
            exit: RefCell::new(None),
            terminated_at: Cell::new(None),
            stderr: RefCell::default(),
        }));
        if let Some(start) = &server.0.script.on_start {
            start(&server);
        }
        server
    }

    pub fn pipes(&self) -> Spawned<Outside> {
        Spawned {
            process: Process(self.clone()),
            input: StdinPipe(self.clone()),
            output: Output(self.clone()),
        }
    }

    pub fn program(&self) -> &str {
        &self.0.program
    }

    pub fn spec(&self) -> &SpawnSpec {
        &self.0.spec
    }

    /// Everything that was read so far.
    pub fn received(&self) -> Vec<Value> {
        self.0.received.borrow().clone()
    }

    /// The methods of everything that was read so far; replies are `<reply>`.
    pub fn methods(&self) -> Vec<String> {
        self.0.received.borrow().iter().map(method_of).collect()
    }

    pub fn count(&self, method: &str) -> usize {
        self.methods()
            .iter()
            .filter(|known| *known == method)
            .count()
    }

    /// What was read of one method.
    pub fn messages(&self, method: &str) -> Vec<Value> {
        self.received()
            .into_iter()
            .filter(|message| method_of(message) == method)
            .collect()
    }

    pub fn write(&self, message: &Value) {
        self.write_bytes(frame(&message.to_string()));
    }

    pub fn write_bytes(&self, bytes: impl Into<Vec<u8>>) {
        if self.0.exit.borrow().is_none() {
            self.0
                .written
                .borrow_mut()
                .extend(self.0.outside.chunk(bytes.into()));
            self.0.bell.ring();
        }
    }

    pub fn reply(&self, request: &Value, result: Value) {
        self.write(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    }

    pub fn reply_error(&self, request: &Value, code: i64, message: &str) {
        self.write(&json!({"jsonrpc": "2.0", "id": request["id"], "error": {"code": code, "message": message}}));
    }

    pub fn request(&self, id: Value, method: &str, params: Value) {
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    pub fn notify(&self, method: &str, params: Value) {
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    pub fn progress(&self, token: &str, kind: &str) {
        self.notify(
            "$/progress",
            json!({"token": token, "value": {"kind": kind}}),
        );
    }

    pub fn stderr(&self, text: &str) {
        self.0.stderr.borrow_mut().push_str(text);
    }

    /// Ends the process; what was written before can still be read.
    pub fn exit(&self, how: &str) {
        if self.0.exit.borrow().is_none() {
            *self.0.exit.borrow_mut() = Some(Ok(how.to_owned()));
            self.0.output_closed.set(true);
            self.0.input_closed.set(true);
            self.0.bell.ring();
        }
    }

    /// The process turns out never to have been started.
    pub fn fail_to_start(&self, reason: &str) {
        *self.0.exit.borrow_mut() = Some(Err(reason.to_owned()));
        self.0.output_closed.set(true);
        self.0.input_closed.set(true);
        self.0.bell.ring();
    }

    pub fn close_output(&self) {
        self.0.output_closed.set(true);
        self.0.bell.ring();
    }

    pub fn close_input(&self) {
        self.0.input_closed.set(true);
        self.0.bell.ring();
    }

    pub fn block_input(&self, blocked: bool) {
        self.0.input_blocked.set(blocked);
        self.0.bell.ring();
    }

    /// Does something later.
    pub fn after(&self, milliseconds: u64, action: impl FnOnce(&Server) + 'static) {
        let server = self.clone();
        self.0.outside.start_task(async move {
            server.0.outside.sleep(milliseconds).await;
            action(&server);
        });
    }

    pub fn is_gone(&self) -> bool {
        self.0.exit.borrow().is_some()
    }

    /// How the process ended.
    pub fn ending(&self) -> Option<Result<String, String>> {
        self.0.exit.borrow().clone()
    }

    /// When the tree was first asked to end.
    pub fn terminated_at(&self) -> Option<u64> {
        self.0.terminated_at.get()
    }

    fn take_in(&self, bytes: &[u8]) {
        self.0.read.borrow_mut().extend_from_slice(bytes);
        while let Some(message) = self.next_message() {
            self.0.received.borrow_mut().push(message.clone());
            if let Some(handler) = self.0.script.handlers.get(&method_of(&message)) {
                handler(self, &message);
            }
        }
    }

    fn next_message(&self) -> Option<Value> {
        let mut read = self.0.read.borrow_mut();
        let head_end = read.windows(4).position(|window| window == b"\r\n\r\n")?;
        let head = std::str::from_utf8(&read[..head_end]).expect("the client writes ASCII headers");
        let length: usize = head
            .strip_prefix("Content-Length: ")
            .expect("the client writes one header only")
            .parse()
            .expect("the client writes a decimal length");
        let end = head_end + 4 + length;
        if read.len() < end {
            return None;
        }
        let message =
            serde_json::from_slice(&read[head_end + 4..end]).expect("the client writes JSON");
        read.drain(..end);
        Some(message)
    }
}

/// Frames a body the way a server does.
pub fn frame(body: &str) -> Vec<u8> {
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn method_of(message: &Value) -> String {
    message["method"].as_str().unwrap_or("<reply>").to_owned()
}

pub struct Process(Server);

impl ports::Process for Process {
    fn stderr_tail(&self) -> String {
        self.0.0.stderr.borrow().clone()
    }

    async fn done(&self) -> Result<String, String> {
        let inner = &self.0.0;
        inner.bell.until(|| inner.exit.borrow().clone()).await
    }

    fn terminate(&self) {
        let server = &self.0;
        if server.0.terminated_at.get().is_some() || server.is_gone() {
            return;
        }
        server.0.terminated_at.set(Some(server.0.outside.now_ms()));
        if server.0.script.stubborn {
            let grace = u64::from(server.0.spec.kill_grace_ms);
            server.after(grace, |server| server.exit("was ended by SIGKILL"));
        } else {
            server.exit("was ended by SIGTERM");
        }
    }

    async fn wait_for_exit(&self) -> bool {
        let inner = &self.0.0;
        inner
            .bell
            .until(|| inner.exit.borrow().is_some().then_some(()))
            .await;
        !inner.script.immortal
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The host ends the whole tree when the handle goes.
        self.0.exit("was ended by SIGKILL");
    }
}

pub struct StdinPipe(Server);

impl ports::Input for StdinPipe {
    async fn write(&mut self, bytes: Vec<u8>) -> Result<(), String> {
        let server = &self.0;
        let ready = || (!server.0.input_blocked.get() || server.0.input_closed.get()).then_some(());
        server.0.bell.until(ready).await;
        if server.0.input_closed.get() {
            return Err("broken pipe".to_owned());
        }
        server.take_in(&bytes);
        Ok(())
    }
}

pub struct Output(Server);

impl ports::Output for Output {
    async fn read(&mut self) -> Option<Vec<u8>> {
        let inner = &self.0.0;
        let next = || match inner.written.borrow_mut().pop_front() {
            Some(chunk) => Some(Some(chunk)),
            None => inner.output_closed.get().then_some(None),
        };
        inner.bell.until(next).await
    }
}
