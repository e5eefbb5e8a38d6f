use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::{BoxFuture, join_all};

use tokio::sync::{RwLock, RwLockReadGuard};

use super::contract::{ChildStdin, ChildStdout, Exit, Process, Window};
use super::error::{DisposeError, SubprocessError};

/// How long a killed tree may take to disappear before its disposal is reported as failed.
const MARGIN: Duration = Duration::from_secs(10);

/// The processes that somebody answers for, until their trees are gone.
pub(super) struct Roster<P: Process + ?Sized + 'static> {
    state: Arc<Mutex<State<P>>>,
    /// Shared by those who are starting a process, so that disposal can wait for them.
    starting: RwLock<()>,
}

/// Leave to start a process and have it admitted.
pub(super) struct Entry<'a> {
    _starting: RwLockReadGuard<'a, ()>,
}

struct State<P: ?Sized> {
    closed: bool,
    next: u64,
    members: HashMap<u64, Member<P>>,
}

struct Member<P: ?Sized> {
    process: Arc<P>,
    program: String,
    grace: Duration,
}

impl<P: Process + ?Sized + 'static> Roster<P> {
    pub(super) fn new() -> Self {
        Self {
            state: Arc::new(Mutex::new(State {
                closed: false,
                next: 0,
                members: HashMap::new(),
            })),
            starting: RwLock::new(()),
        }
    }

    /// Refuses once the roster was closed.
    pub(super) fn check_open(&self) -> Result<(), SubprocessError> {
        match lock(&self.state).closed {
            true => Err(SubprocessError::Disposed),
            false => Ok(()),
        }
    }

    /// Asks for leave to start a process. Disposal waits until it was used or dropped.
    pub(super) async fn enter(&self) -> Result<Entry<'_>, SubprocessError> {
        let starting = self.starting.read().await;
        self.check_open()?;
        Ok(Entry {
            _starting: starting,
        })
    }

    /// Takes responsibility for a process until its tree is gone, and keeps `permit` as long. Returns the handle for the
    /// owner. Must be called inside a tokio runtime.
    pub(super) fn admit(
        &self,
        _entry: Entry<'_>,
        process: Arc<P>,
        program: String,
        grace: Duration,
        permit: impl Send + 'static,
    ) -> Handle<P> {
        let handle = Handle::new(Arc::clone(&process));
        let gone = process.wait_for_exit(None);
        let id = {
            let mut state = lock(&self.state);
            state.next += 1;
            let id = state.next;
            state.members.insert(
                id,
                Member {
                    process,
                    program,
                    grace,
                },
            );
            id
        };
        let state = Arc::downgrade(&self.state);
        tokio::spawn(async move {
            gone.await;
            if let Some(state) = state.upgrade() {
                lock(&state).members.remove(&id);
            }
            drop(permit);
        });
        handle
    }

    /// The processes whose trees are not known to be gone.
    #[cfg(unix)]
    pub(super) fn processes(&self) -> Vec<Arc<P>> {
        let state = lock(&self.state);
        state
            .members
            .values()
            .map(|member| Arc::clone(&member.process))
            .collect()
    }

    /// Refuses newcomers, ends everybody, and waits until everybody has settled and is gone.
    pub(super) async fn dispose(&self) -> Result<(), DisposeError> {
        lock(&self.state).closed = true;
        drop(self.starting.write().await);
        let endings: Vec<_> = lock(&self.state)
            .members
            .values()
            .map(Member::end)
            .collect();
        let failures: Vec<String> = join_all(endings).await.into_iter().flatten().collect();
        match failures.is_empty() {
            true => Ok(()),
            false => Err(DisposeError { failures }),
        }
    }
}

impl<P: Process + ?Sized> Member<P> {
    /// Resolves with what went wrong. How the process itself ended is nobody's concern here.
    fn end(&self) -> impl Future<Output = Option<String>> + use<P> {
        self.process.terminate();
        let done = self.process.done();
        let gone = self.process.wait_for_exit(Some(self.grace + MARGIN));
        let label = format!(
            "{} (process {})",
            self.program,
            self.process.pid().unwrap_or_default()
        );
        async move {
            let is_gone = gone.await;
            // Settles within the grace of the exit, so it is not waited for when there was none.
            if is_gone {
                let _ = done.await;
                return None;
            }
            Some(format!("{label} is still there after it was killed"))
        }
    }
}

fn lock<P: ?Sized>(state: &Mutex<State<P>>) -> std::sync::MutexGuard<'_, State<P>> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the owner of a process holds. Dropping it asks the tree to end; whoever started the process sees to it that it does.
pub struct Handle<P: Process + ?Sized>(Arc<P>);

impl<P: Process + ?Sized> Handle<P> {
    /// Makes the holder of this the owner of `process`, which its maker may go on watching.
    pub fn new(process: Arc<P>) -> Self {
        Self(process)
    }
}

impl<P: Process + ?Sized> Drop for Handle<P> {
    fn drop(&mut self) {
        self.0.terminate();
    }
}

impl<P: Process + ?Sized> Process for Handle<P> {
    fn pid(&self) -> Option<u32> {
        self.0.pid()
    }

    fn take_stdin(&self) -> Option<ChildStdin> {
        self.0.take_stdin()
    }

    fn take_stdout(&self) -> Option<ChildStdout> {
        self.0.take_stdout()
    }

    fn stderr_from(&self, offset: u64) -> Window {
        self.0.stderr_from(offset)
    }

    fn done(&self) -> BoxFuture<'static, Result<Exit, SubprocessError>> {
        self.0.done()
    }

    fn terminate(&self) {
        self.0.terminate();
    }

    fn wait_for_exit(&self, timeout: Option<Duration>) -> BoxFuture<'static, bool> {
        self.0.wait_for_exit(timeout)
    }
}
