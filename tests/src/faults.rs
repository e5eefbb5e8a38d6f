//! Services that work, until the call that is to go wrong.

use dsh_host::{AbortController, AbortReason, Directory, Workspaces};
use dsh_services::fs::{FileSystem, FsChild, FsError, FsErrorCode, FsInfo, FsTarget};
use dsh_services::session_query::{
    Cancel, EventFilter, EventRecord, Page, PageLimits, ReadRequest, SessionQuery,
    SessionQueryError, SessionRecord, Window,
};
use dsh_services::subprocess::{
    AbortSignal, ChildStdin, ChildStdout, DisposeError, EnvChange, Exit, Process, SpawnSpec,
    Subprocess, SubprocessError, Window as StderrWindow,
};
use dsh_services::workspace::{self, ListError, ListOptions, Listing, LocalDirectory, Outcome};
use futures::FutureExt;
use futures::future::BoxFuture;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::AsyncReadExt;

/// What can go wrong with one call of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It fails.
    Fail,
    /// It takes its time.
    Delay,
    /// It answers with a part only.
    Truncate,
    /// Its caller's caller cancels while it is under way.
    Cancel,
}

/// All of them.
pub const FAULTS: [Fault; 4] = [Fault::Fail, Fault::Delay, Fault::Truncate, Fault::Cancel];

/// How long a slow call takes, and one during which the caller cancels.
const PAUSE: Duration = Duration::from_millis(30);
/// What is left of a truncated output.
const FIRST_BYTES: u64 = 20;

/// Which call goes wrong, and how. Clones are the same plan.
#[derive(Clone, Default)]
pub struct Plan(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    calls: usize,
    armed: Option<(usize, Fault, Arc<AbortController>)>,
}

impl Plan {
    /// From now on the `number`-th call, from 1, goes wrong; `controller` is the one of the call that is driven.
    pub fn arm(&self, number: usize, fault: Fault, controller: Arc<AbortController>) {
        let mut state = self.0.lock().unwrap();
        *state = State {
            calls: 0,
            armed: Some((number, fault, controller)),
        };
    }

    /// From now on nothing goes wrong. Tells whether something did.
    pub fn disarm(&self) -> bool {
        let mut state = self.0.lock().unwrap();
        let armed = state.armed.take();
        armed.is_some_and(|(number, _, _)| state.calls >= number)
    }

    /// One more call; its fault, if it is the one.
    fn step(&self) -> Option<Fault> {
        let mut state = self.0.lock().unwrap();
        state.calls += 1;
        let (number, fault, controller) = state.armed.as_ref()?;
        if *number != state.calls {
            return None;
        }
        if *fault == Fault::Cancel {
            controller.abort(AbortReason::unspecified());
        }
        Some(*fault)
    }

    /// The same where waiting is allowed.
    async fn pass(&self) -> Option<Fault> {
        let fault = self.step();
        if matches!(fault, Some(Fault::Delay | Fault::Cancel)) {
            tokio::time::sleep(PAUSE).await;
        }
        fault
    }

    /// The same on a thread that may block.
    fn pass_blocking(&self) -> Option<Fault> {
        let fault = self.step();
        if matches!(fault, Some(Fault::Delay | Fault::Cancel)) {
            std::thread::sleep(PAUSE);
        }
        fault
    }
}

/// A service with a plan in front of it.
pub struct Faulty<S> {
    /// What goes wrong.
    pub plan: Plan,
    /// What answers otherwise.
    pub service: S,
}

impl Workspaces for Plan {
    fn directory(&self, path: &str) -> Directory {
        Arc::new(Faulty {
            plan: self.clone(),
            service: LocalDirectory::new(path),
        })
    }
}

impl workspace::Directory for Faulty<LocalDirectory> {
    fn path(&self) -> &str {
        self.service.path()
    }

    fn list(&self, paths: &[String], options: &ListOptions, stop: &AtomicBool) -> Vec<Outcome> {
        let fault = self.plan.pass_blocking();
        let outcomes = self.service.list(paths, options, stop);
        match fault {
            Some(Fault::Fail) => vec![Outcome::Failed(ListError::Io); paths.len()],
            Some(Fault::Truncate) => outcomes.into_iter().map(without_entries).collect(),
            _ => outcomes,
        }
    }
}

fn without_entries(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Listed(listing) => Outcome::Listed(Listing {
            omitted: listing.omitted + listing.kinds.len() as u64,
            ..Listing::default()
        }),
        other => other,
    }
}

impl<S: SessionQuery> Faulty<S> {
    fn query(&self, id: &str) -> Result<Option<Fault>, SessionQueryError> {
        match self.plan.pass_blocking() {
            Some(Fault::Fail) => Err(SessionQueryError::ReadFailed {
                verb: "inspect",
                id: id.into(),
                detail: "as the test wants it".into(),
            }),
            other => Ok(other),
        }
    }
}

impl<S: SessionQuery> SessionQuery for Faulty<S> {
    fn list_sessions(&self, cancel: &Cancel) -> Result<Vec<SessionRecord>, SessionQueryError> {
        self.query("")?;
        self.service.list_sessions(cancel)
    }

    fn list_events(
        &self,
        id: &str,
        cancel: &Cancel,
    ) -> Result<Vec<EventRecord>, SessionQueryError> {
        self.query(id)?;
        self.service.list_events(id, cancel)
    }

    fn filter_page(
        &self,
        id: &str,
        filters: &[EventFilter],
        limits: &PageLimits,
        cancel: &Cancel,
    ) -> Result<Page, SessionQueryError> {
        let fault = self.query(id)?;
        let mut page = self.service.filter_page(id, filters, limits, cancel)?;
        if fault == Some(Fault::Truncate) && page.documents.len() > 1 {
            let rest = page.documents.split_off(page.documents.len() / 2);
            page.next_seq = rest.first().map(|document| document.record.seq);
        }
        Ok(page)
    }

    fn read_event(
        &self,
        id: &str,
        request: &ReadRequest,
        cancel: &Cancel,
    ) -> Result<Window, SessionQueryError> {
        self.query(id)?;
        self.service.read_event(id, request, cancel)
    }
}

impl<S: FileSystem> Faulty<S> {
    async fn touch(&self) -> Result<Option<Fault>, FsError> {
        match self.plan.pass().await {
            Some(Fault::Fail) => Err(FsError {
                code: FsErrorCode::IoError,
                message: "as the test wants it".into(),
            }),
            other => Ok(other),
        }
    }
}

impl<S: FileSystem> FileSystem for Faulty<S> {
    fn resolve<'a>(
        &'a self,
        path: &'a str,
        cwd: Option<&'a str>,
    ) -> BoxFuture<'a, Result<FsTarget, FsError>> {
        async move {
            self.touch().await?;
            self.service.resolve(path, cwd).await
        }
        .boxed()
    }

    fn stat<'a>(&'a self, target: &'a FsTarget) -> BoxFuture<'a, Result<Option<FsInfo>, FsError>> {
        async move {
            self.touch().await?;
            self.service.stat(target).await
        }
        .boxed()
    }

    fn lstat<'a>(
        &'a self,
        path: &'a str,
        cwd: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<FsInfo>, FsError>> {
        async move {
            self.touch().await?;
            self.service.lstat(path, cwd).await
        }
        .boxed()
    }

    fn read_text<'a>(
        &'a self,
        target: &'a FsTarget,
        max_bytes: u64,
    ) -> BoxFuture<'a, Result<String, FsError>> {
        async move {
            let fault = self.touch().await?;
            let mut text = self.service.read_text(target, max_bytes).await?;
            if fault == Some(Fault::Truncate) {
                text.truncate(text.floor_char_boundary(text.len() / 2));
            }
            Ok(text)
        }
        .boxed()
    }

    fn read_bytes<'a>(
        &'a self,
        target: &'a FsTarget,
        max_bytes: u64,
    ) -> BoxFuture<'a, Result<Vec<u8>, FsError>> {
        async move {
            let fault = self.touch().await?;
            let mut bytes = self.service.read_bytes(target, max_bytes).await?;
            if fault == Some(Fault::Truncate) {
                bytes.truncate(bytes.len() / 2);
            }
            Ok(bytes)
        }
        .boxed()
    }

    fn list_dir<'a>(
        &'a self,
        target: &'a FsTarget,
    ) -> BoxFuture<'a, Result<Vec<FsChild>, FsError>> {
        async move {
            let fault = self.touch().await?;
            let mut children = self.service.list_dir(target).await?;
            if fault == Some(Fault::Truncate) {
                children.truncate(children.len() / 2);
            }
            Ok(children)
        }
        .boxed()
    }
}

impl Subprocess for Faulty<Arc<dyn Subprocess>> {
    fn resolve_executable<'a>(
        &'a self,
        command: &'a str,
        env: &'a [EnvChange],
        signal: Option<&'a AbortSignal>,
    ) -> BoxFuture<'a, Result<String, SubprocessError>> {
        async move {
            match self.plan.pass().await {
                Some(Fault::Fail) => Err(absent(command)),
                _ => self.service.resolve_executable(command, env, signal).await,
            }
        }
        .boxed()
    }

    fn spawn(&self, spec: SpawnSpec) -> BoxFuture<'_, Result<Box<dyn Process>, SubprocessError>> {
        async move {
            match self.plan.pass().await {
                Some(Fault::Fail) => Err(absent("the program")),
                Some(Fault::Truncate) => {
                    let process = self.service.spawn(spec).await?;
                    Ok(Box::new(Mute(process)) as Box<dyn Process>)
                }
                _ => self.service.spawn(spec).await,
            }
        }
        .boxed()
    }

    fn dispose(&self) -> BoxFuture<'_, Result<(), DisposeError>> {
        self.service.dispose()
    }
}

fn absent(command: &str) -> SubprocessError {
    SubprocessError::NotFound {
        command: command.into(),
    }
}

/// A process whose output ends after a few bytes.
struct Mute(Box<dyn Process>);

impl Process for Mute {
    fn pid(&self) -> Option<u32> {
        self.0.pid()
    }

    fn take_stdin(&self) -> Option<ChildStdin> {
        self.0.take_stdin()
    }

    fn take_stdout(&self) -> Option<ChildStdout> {
        let stdout = self.0.take_stdout()?;
        Some(Box::new(stdout.take(FIRST_BYTES)))
    }

    fn stderr_from(&self, offset: u64) -> StderrWindow {
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
