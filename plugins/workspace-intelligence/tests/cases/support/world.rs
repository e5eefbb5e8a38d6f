//! The executor, the clock, the files, and the driver's ports over them.

use super::server::{Script, Server};
use dsh_workspace_intelligence::driver::bell::Bell;
use dsh_workspace_intelligence::driver::ports::{Host, Level, NodeKind};
use futures::channel::oneshot;
use futures::executor::{LocalPool, LocalSpawner};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::rc::Rc;

/// The command, and the variables of the server.
pub type Lookup = (String, Vec<(String, String)>);
type Factory = Rc<dyn Fn(usize) -> Script>;

pub struct Timer {
    pub at: u64,
    pub number: u64,
    pub wake: oneshot::Sender<()>,
}

/// What the driver sees of the world. Clones are the same world.
#[derive(Clone)]
pub struct Outside(pub Rc<Inner>);

pub struct Inner {
    pub now: Cell<u64>,
    pub timers: RefCell<Vec<Timer>>,
    pub timer_count: Cell<u64>,
    pub spawner: LocalSpawner,
    pub programs: RefCell<BTreeMap<String, Factory>>,
    pub servers: RefCell<Vec<Server>>,
    pub files: RefCell<BTreeMap<String, String>>,
    pub links: RefCell<BTreeMap<String, String>>,
    pub log: RefCell<Vec<(Level, String)>>,
    pub file_calls: Cell<usize>,
    pub lookups: RefCell<Vec<Lookup>>,
    pub spawn_errors: RefCell<Vec<String>>,
    pub hanging_files: Cell<bool>,
    pub spawn_delay: Cell<u64>,
    pub chunks: RefCell<Option<Rng>>,
}

/// A small generator (xorshift), so that every run of a seed is the same.
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// The world of one test.
pub struct World {
    pub outside: Outside,
    pool: LocalPool,
}

/// Work that was started; its output can be fetched when it is over.
pub struct Task<T> {
    output: Rc<RefCell<Option<T>>>,
}

impl<T> Task<T> {
    pub fn is_over(&self) -> bool {
        self.output.borrow().is_some()
    }

    pub fn take(&self) -> T {
        self.output
            .borrow_mut()
            .take()
            .expect("the task is not over")
    }
}

impl World {
    /// A world with the directory `/ws` and without programs.
    pub fn new() -> Self {
        let pool = LocalPool::new();
        let inner = Inner {
            now: Cell::new(0),
            timers: RefCell::default(),
            timer_count: Cell::new(0),
            spawner: pool.spawner(),
            programs: RefCell::default(),
            servers: RefCell::default(),
            files: RefCell::new(BTreeMap::from([(
                "/ws/README".to_owned(),
                "text".to_owned(),
            )])),
            links: RefCell::default(),
            log: RefCell::default(),
            file_calls: Cell::new(0),
            lookups: RefCell::default(),
            spawn_errors: RefCell::default(),
            hanging_files: Cell::new(false),
            spawn_delay: Cell::new(0),
            chunks: RefCell::new(None),
        };
        Self {
            outside: Outside(Rc::new(inner)),
            pool,
        }
    }

    /// Installs a program; every process of it plays this script.
    pub fn program(&self, name: &str, script: Script) {
        self.programs(name, move |_| script.clone());
    }

    /// Installs a program whose processes, counted from 0, play different scripts.
    pub fn programs(&self, name: &str, factory: impl Fn(usize) -> Script + 'static) {
        self.outside
            .0
            .programs
            .borrow_mut()
            .insert(name.to_owned(), Rc::new(factory));
    }

    /// Adds a file and the directories above it.
    pub fn file(&self, path: &str, content: &str) {
        self.outside
            .0
            .files
            .borrow_mut()
            .insert(path.to_owned(), content.to_owned());
    }

    pub fn remove_files(&self, below: &str) {
        self.outside
            .0
            .files
            .borrow_mut()
            .retain(|path, _| !path.starts_with(below));
    }

    /// Makes `path` lead to `target`.
    pub fn link(&self, path: &str, target: &str) {
        self.outside
            .0
            .links
            .borrow_mut()
            .insert(path.to_owned(), target.to_owned());
    }

    /// The servers that were started, in order.
    pub fn servers(&self) -> Vec<Server> {
        self.outside.0.servers.borrow().clone()
    }

    pub fn server(&self, index: usize) -> Server {
        self.servers().swap_remove(index)
    }

    pub fn now(&self) -> u64 {
        self.outside.0.now.get()
    }

    pub fn warnings(&self) -> Vec<String> {
        let log = self.outside.0.log.borrow();
        log.iter()
            .filter(|(level, _)| *level == Level::Warn)
            .map(|(_, text)| text.clone())
            .collect()
    }

    pub fn file_calls(&self) -> usize {
        self.outside.0.file_calls.get()
    }

    pub fn lookups(&self) -> Vec<Lookup> {
        self.outside.0.lookups.borrow().clone()
    }

    /// The next starts of a process are refused with these texts, last one first.
    pub fn refuse_spawns(&self, reasons: &[&str]) {
        self.outside
            .0
            .spawn_errors
            .borrow_mut()
            .extend(reasons.iter().map(|reason| (*reason).to_owned()));
    }

    /// From now on no file operation ends.
    pub fn hang_files(&self) {
        self.outside.0.hanging_files.set(true);
    }

    /// From now on starting a process takes this long.
    pub fn delay_spawns(&self, milliseconds: u64) {
        self.outside.0.spawn_delay.set(milliseconds);
    }

    /// From now on what servers write arrives in random chunks.
    pub fn chunk_output(&self, seed: u64) {
        *self.outside.0.chunks.borrow_mut() = Some(Rng::new(seed));
    }

    /// Starts work beside everything else.
    pub fn start<T: 'static>(&self, work: impl Future<Output = T> + 'static) -> Task<T> {
        let output = Rc::new(RefCell::new(None));
        let slot = output.clone();
        self.outside.start_task(async move {
            let value = work.await;
            *slot.borrow_mut() = Some(value);
        });
        Task { output }
    }

    /// Lets everything happen that happens without time passing.
    pub fn settle(&mut self) {
        self.pool.run_until_stalled();
    }

    /// Lets time pass.
    pub fn advance(&mut self, milliseconds: u64) {
        let end = self.now() + milliseconds;
        self.settle();
        while self.outside.fire_next_timer(end) {
            self.settle();
        }
        self.outside.0.now.set(end);
    }

    /// Lets time pass until the task is over, and gives its output.
    pub fn finish<T>(&mut self, task: &Task<T>) -> T {
        self.settle();
        while !task.is_over() {
            assert!(
                self.outside.fire_next_timer(u64::MAX),
                "nothing can happen any more, and the task is not over"
            );
            self.settle();
        }
        task.take()
    }

    /// Starts work and waits for it.
    pub fn run<T: 'static>(&mut self, work: impl Future<Output = T> + 'static) -> T {
        let task = self.start(work);
        self.finish(&task)
    }
}

impl Outside {
    fn fire_next_timer(&self, end: u64) -> bool {
        let mut timers = self.0.timers.borrow_mut();
        timers.retain(|timer| !timer.wake.is_canceled());
        let next = timers
            .iter()
            .enumerate()
            .min_by_key(|(_, timer)| (timer.at, timer.number));
        let Some((index, at)) = next
            .map(|(index, timer)| (index, timer.at))
            .filter(|(_, at)| *at <= end)
        else {
            return false;
        };
        let timer = timers.swap_remove(index);
        drop(timers);
        self.0.now.set(self.0.now.get().max(at));
        timer.wake.send(()).ok();
        true
    }

    /// Splits what a server writes as the test wants it.
    pub fn chunk(&self, bytes: Vec<u8>) -> Vec<Vec<u8>> {
        let mut chunks = self.0.chunks.borrow_mut();
        let Some(rng) = chunks.as_mut() else {
            return vec![bytes];
        };
        let mut parts = Vec::new();
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let length = usize::try_from(rng.below(400) + 1).unwrap().min(rest.len());
            let (part, after) = rest.split_at(length);
            parts.push(part.to_vec());
            rest = after;
        }
        parts
    }

    pub async fn file_call(&self) {
        self.0.file_calls.set(self.0.file_calls.get() + 1);
        if self.0.hanging_files.get() {
            Bell::default().until(|| None::<()>).await;
        }
    }

    pub fn real_path(&self, path: &str) -> String {
        let links = self.0.links.borrow();
        for (link, target) in links.iter() {
            if path == link || path.starts_with(&format!("{link}/")) {
                return path.replacen(link, target, 1);
            }
        }
        path.to_owned()
    }

    pub fn kind_of(&self, path: &str) -> Option<NodeKind> {
        let files = self.0.files.borrow();
        if files.contains_key(path) {
            return Some(NodeKind::File);
        }
        let prefix = format!("{path}/");
        files
            .keys()
            .any(|file| file.starts_with(&prefix))
            .then_some(NodeKind::Directory)
    }
}

impl Outside {
    pub fn servers_of(&self, program: &str) -> Vec<Server> {
        self.0
            .servers
            .borrow()
            .iter()
            .filter(|server| server.program() == program)
            .cloned()
            .collect()
    }
}
