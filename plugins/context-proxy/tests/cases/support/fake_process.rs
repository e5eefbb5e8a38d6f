use super::FakeSignal;
use dsh_context_proxy::errors::Failure;
use dsh_context_proxy::services::{Exit, Process, SpawnSpec, Subprocess};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::pending;
use std::rc::Rc;

/// What one run of ripgrep does.
#[derive(Clone, Default)]
pub struct Run {
    /// What it prints, as the chunks arrive.
    pub chunks: Vec<Vec<u8>>,
    pub stderr: String,
    pub exit: Exit,
    /// Why it could not be started, told by `done`.
    pub broken: Option<Failure>,
    /// After its output it does not end by itself, and throws this switch.
    pub hangs: Option<FakeSignal>,
}

impl Run {
    pub fn printing(output: impl Into<Vec<u8>>, code: i32) -> Self {
        Run {
            chunks: vec![output.into()],
            exit: Exit {
                code: Some(code),
                signal: None,
            },
            ..Run::default()
        }
    }

    pub fn failing(code: i32, stderr: &str) -> Self {
        Run {
            stderr: stderr.to_owned(),
            ..Run::printing("", code)
        }
    }

    /// The same output in chunks of that many bytes.
    pub fn in_chunks_of(self, size: usize) -> Self {
        let output = self.chunks.concat();
        Run {
            chunks: output.chunks(size).map(<[u8]>::to_vec).collect(),
            ..self
        }
    }
}

/// What became of a process; tests look at it after the call has settled.
#[derive(Default)]
pub struct Fate {
    pub chunks_read: Cell<usize>,
    pub ended: Cell<bool>,
    pub terminated: Cell<bool>,
    pub seen_gone: Cell<bool>,
}

pub struct FakeProcess {
    run: Run,
    fate: Rc<Fate>,
}

impl Process for FakeProcess {
    async fn read(&mut self) -> Option<Vec<u8>> {
        let next = self.fate.chunks_read.get();
        if let Some(chunk) = self.run.chunks.get(next) {
            self.fate.chunks_read.set(next + 1);
            return Some(chunk.clone());
        }
        if let Some(signal) = &self.run.hangs {
            signal.abort();
            pending::<()>().await;
        }
        self.fate.ended.set(true);
        None
    }

    fn stderr_tail(&self) -> String {
        self.run.stderr.clone()
    }

    async fn done(&self) -> Result<Exit, Failure> {
        assert!(self.fate.ended.get(), "the output was not read to its end");
        self.run
            .broken
            .clone()
            .map_or(Ok(self.run.exit.clone()), Err)
    }

    fn terminate(&self) {
        self.fate.terminated.set(true);
    }

    async fn gone(&self) {
        if !self.fate.ended.get() && !self.fate.terminated.get() {
            pending::<()>().await;
        }
        self.fate.seen_gone.set(true);
    }
}

/// A subprocess service that plays prepared runs in order.
pub struct FakeSubprocess {
    pub available: Cell<bool>,
    pub rg: Result<String, Failure>,
    pub refusal: Option<Failure>,
    pub runs: RefCell<VecDeque<Run>>,
    pub spawned: RefCell<Vec<SpawnSpec>>,
    pub fates: RefCell<Vec<Rc<Fate>>>,
}

impl Default for FakeSubprocess {
    fn default() -> Self {
        FakeSubprocess {
            available: Cell::new(true),
            rg: Ok("/opt/rg".to_owned()),
            refusal: None,
            runs: RefCell::default(),
            spawned: RefCell::default(),
            fates: RefCell::default(),
        }
    }
}

impl FakeSubprocess {
    pub fn with_runs(runs: impl IntoIterator<Item = Run>) -> Self {
        FakeSubprocess {
            runs: RefCell::new(runs.into_iter().collect()),
            ..FakeSubprocess::default()
        }
    }

    /// Every process that was started is known to be gone, and every prepared run was started.
    pub fn assert_all_gone(&self, started: usize) {
        assert_eq!(self.spawned.borrow().len(), started);
        assert!(self.runs.borrow().is_empty());
        assert!(self.fates.borrow().iter().all(|fate| fate.seen_gone.get()));
    }
}

impl Subprocess for FakeSubprocess {
    type Process = FakeProcess;

    fn available(&self) -> bool {
        self.available.get()
    }

    async fn resolve_rg(&self) -> Result<String, Failure> {
        self.rg.clone()
    }

    async fn spawn(&self, spec: SpawnSpec) -> Result<FakeProcess, Failure> {
        self.spawned.borrow_mut().push(spec);
        if let Some(refusal) = &self.refusal {
            return Err(refusal.clone());
        }
        let run = self.runs.borrow_mut().pop_front();
        let run = run.unwrap_or_else(|| panic!("one more run than expected"));
        let fate = Rc::new(Fate::default());
        self.fates.borrow_mut().push(fate.clone());
        Ok(FakeProcess { run, fate })
    }
}
