//! One language server process, and how it is asked (SPEC 16, 17).

use super::bell::Bell;
use super::open_files;
use super::ports::{Host, Process, SpawnSpec, Spawned, within};
use super::stop::{Stop, StopReason};
use super::workspace::Workspace;
use crate::config::ServerConfig;
use crate::failure::{Loss, ProviderFailure};
use crate::jsonrpc::METHOD_NOT_FOUND;
use crate::machine::{Answer, Machine, Setup};
use crate::retry;
use crate::symbol::Symbol;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// A configured server whose program was found.
#[derive(Debug)]
pub struct Server {
    /// Its configuration.
    pub config: ServerConfig,
    /// The program, as the host found it.
    pub executable: String,
}

/// What a process answered.
#[derive(Debug)]
pub struct Found {
    /// In the server's order.
    pub symbols: Vec<Symbol>,
    /// Whether the server was still reporting progress.
    pub indexing: bool,
}

/// Why a process did not answer.
#[derive(Debug)]
pub enum Trouble {
    /// The call is to end.
    Stopped,
    /// The connection is gone.
    Lost(Loss),
    /// The server does not offer the request.
    Unsupported,
    /// The server lives, and its answer is of no use.
    Failed(ProviderFailure),
}

impl From<StopReason> for Trouble {
    fn from(_: StopReason) -> Self {
        Trouble::Stopped
    }
}

impl From<Loss> for Trouble {
    fn from(loss: Loss) -> Self {
        Trouble::Lost(loss)
    }
}

/// How far the end of a process has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending {
    NotBegun,
    Running,
    /// No process is left, or an account of what is.
    Over(Result<(), String>),
}

/// A running server in one workspace. Only one query at a time may be made.
pub struct Instance<H: Host> {
    pub(super) host: Rc<H>,
    pub(super) server: Rc<Server>,
    pub(super) process: H::Process,
    pub(super) machine: RefCell<Machine>,
    /// Rung after every change of this instance.
    pub(super) bell: Bell,
    pub(super) exited: Cell<bool>,
    pub(super) output_ended: Cell<bool>,
    pub(super) ending: RefCell<Ending>,
    /// The documents that the server was told about.
    opened: RefCell<Vec<String>>,
    /// Whether the first query was sent.
    is_warm: Cell<bool>,
}

impl<H: Host> Instance<H> {
    /// Starts the process; the handshake runs by itself.
    pub async fn start(
        host: &Rc<H>,
        server: &Rc<Server>,
        workspace: &Workspace<H>,
    ) -> Result<Rc<Self>, Loss> {
        let config = &server.config;
        let argv = std::iter::once(server.executable.clone())
            .chain(config.args.iter().cloned())
            .collect();
        let spec = SpawnSpec {
            argv,
            cwd: workspace.path.clone(),
            env: config.env.clone(),
            max_stderr_bytes: config.max_stderr_bytes,
            kill_grace_ms: config.kill_grace_ms,
        };
        let Spawned {
            process,
            input,
            output,
        } = host.spawn(spec).await.map_err(Loss::NotStarted)?;
        let machine = Machine::new(&Setup {
            root_uri: workspace.uri.clone(),
            initialization_options: config.initialization_options.clone(),
            configuration: config.configuration.clone(),
            max_message_bytes: config.max_message_bytes,
            warmup_ms: config.warmup_ms,
        });
        let instance = Rc::new(Self {
            host: host.clone(),
            server: server.clone(),
            process,
            machine: RefCell::new(machine),
            bell: Bell::default(),
            exited: Cell::new(false),
            output_ended: Cell::new(false),
            ending: RefCell::new(Ending::NotBegun),
            opened: RefCell::default(),
            is_warm: Cell::new(false),
        });
        host.start_task(instance.clone().write_all_frames(input));
        host.start_task(instance.clone().read_all_messages(output));
        host.start_task(instance.clone().watch_exit());
        Ok(instance)
    }

    /// Whether no further query can be made: the connection is lost, the handshake failed, or the end has begun.
    pub fn is_spent(&self) -> bool {
        let machine = self.machine.borrow();
        *self.ending.borrow() != Ending::NotBegun
            || machine.loss().is_some()
            || matches!(machine.handshake(), Some(Err(_)))
    }

    /// Makes one query.
    pub async fn search(
        self: &Rc<Self>,
        workspace: &Workspace<H>,
        query: &str,
        stop: &Stop,
    ) -> Result<Found, Trouble> {
        self.await_handshake(stop).await?;
        if !self.machine.borrow().supports_symbols() {
            return Err(Trouble::Unsupported);
        }
        let is_first = !self.is_warm.get();
        if is_first {
            self.open_files(workspace, stop).await?;
            self.warm_up(stop).await?;
            self.is_warm.set(true);
        }
        let mut symbols = self.ask(query, stop).await?;
        if is_first && symbols.is_empty() {
            let delay = self
                .machine
                .borrow()
                .warmup()
                .second_look(self.host.now_ms());
            if let Some(delay) = delay {
                self.pause(delay, stop).await?;
                symbols = self.ask(query, stop).await?;
            }
        }
        let indexing = self.machine.borrow().warmup().indexing();
        Ok(Found { symbols, indexing })
    }

    async fn await_handshake(self: &Rc<Self>, stop: &Stop) -> Result<(), Trouble> {
        let settled = self.bell.until(|| {
            let machine = self.machine.borrow();
            match machine.loss() {
                Some(loss) => Some(Err(Trouble::Lost(loss.clone()))),
                None => machine
                    .handshake()
                    .map(|outcome| outcome.map_err(|error| Trouble::Failed(error.into()))),
            }
        });
        match stop.race(settled).await {
            Ok(outcome) => outcome,
            Err(reason) => {
                // Half a handshake is of no use to the next call.
                self.end().await.ok();
                Err(reason.into())
            }
        }
    }

    async fn open_files(&self, workspace: &Workspace<H>, stop: &Stop) -> Result<(), Trouble> {
        let patterns = &self.server.config.open_files;
        if patterns.is_empty() {
            return Ok(());
        }
        let documents = stop
            .race(open_files::collect(&*self.host, workspace, patterns))
            .await?;
        for document in documents {
            // A call that was stopped in between may have opened it already.
            if !self.opened.borrow().contains(&document.uri) {
                self.opened.borrow_mut().push(document.uri.clone());
                self.machine.borrow_mut().open_document(
                    &document.uri,
                    document.language_id,
                    &document.text,
                );
            }
        }
        self.bell.ring();
        self.check_connection()
    }

    async fn warm_up(&self, stop: &Stop) -> Result<(), Trouble> {
        loop {
            let (wait, revision) = {
                let machine = self.machine.borrow();
                (
                    machine.warmup().wait(self.host.now_ms()),
                    machine.warmup().revision(),
                )
            };
            let Some(wait) = wait else {
                self.machine.borrow_mut().finish_warmup();
                return Ok(());
            };
            let changed = self.bell.until(|| {
                let machine = self.machine.borrow();
                (machine.loss().is_some() || machine.warmup().revision() != revision).then_some(())
            });
            stop.race(within(&*self.host, wait, changed)).await?;
            self.check_connection()?;
        }
    }

    /// Sends the query, again after a pause when the server asks for that, and reads the answer.
    async fn ask(self: &Rc<Self>, query: &str, stop: &Stop) -> Result<Vec<Symbol>, Trouble> {
        let mut pauses = retry::PAUSES_MS.iter();
        loop {
            match self.request(query, stop).await? {
                Ok(symbols) => return symbols.map_err(|error| Trouble::Failed(error.into())),
                Err(error) if error.code == Some(METHOD_NOT_FOUND) => {
                    return Err(Trouble::Unsupported);
                }
                Err(error) => match pauses.next() {
                    Some(pause) if retry::is_passing(&error) => {
                        self.pause(u64::from(*pause), stop).await?
                    }
                    _ => return Err(Trouble::Failed(ProviderFailure::ErrorReply(error))),
                },
            }
        }
    }

    async fn request(self: &Rc<Self>, query: &str, stop: &Stop) -> Result<Answer, Trouble> {
        self.machine.borrow_mut().query(query);
        self.bell.ring();
        let settled = self.bell.until(|| {
            let mut machine = self.machine.borrow_mut();
            match machine.take_reply() {
                Some(reply) => Some(Ok(reply)),
                None => machine.loss().map(|loss| Err(Trouble::Lost(loss.clone()))),
            }
        });
        match stop.race(settled).await {
            Ok(outcome) => outcome,
            Err(reason) => {
                if reason == StopReason::Caller {
                    self.cancel().await;
                }
                Err(reason.into())
            }
        }
    }

    /// Gives the server its grace to settle a cancelled query; one that does not is ended.
    async fn cancel(self: &Rc<Self>) {
        self.machine.borrow_mut().cancel();
        self.bell.ring();
        let settled = self
            .bell
            .until(|| (!self.machine.borrow().is_cancelling()).then_some(()));
        let grace = u64::from(self.server.config.kill_grace_ms);
        if within(&*self.host, grace, settled).await.is_none() {
            self.end().await.ok();
        }
    }

    /// Waits, unless the connection is lost or the call is stopped meanwhile.
    async fn pause(&self, milliseconds: u64, stop: &Stop) -> Result<(), Trouble> {
        let lost = self
            .bell
            .until(|| self.machine.borrow().loss().is_some().then_some(()));
        stop.race(within(&*self.host, milliseconds, lost)).await?;
        self.check_connection()
    }

    fn check_connection(&self) -> Result<(), Trouble> {
        match self.machine.borrow().loss() {
            Some(loss) => Err(Trouble::Lost(loss.clone())),
            None => Ok(()),
        }
    }

    pub(super) fn lose(&self, loss: Loss) {
        self.machine.borrow_mut().lose(loss);
        self.bell.ring();
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(*self.ending.borrow(), Ending::Over(_))
    }

    /// How the process ended, with the tail of its standard error.
    pub(super) fn exit_loss(&self, how: Result<String, String>) -> Loss {
        match how {
            Ok(how) => Loss::Exited {
                how,
                stderr: self.process.stderr_tail(),
            },
            Err(reason) => Loss::NotStarted(reason),
        }
    }
}
