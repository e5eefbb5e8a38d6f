use std::os::fd::AsFd;
use std::os::unix::net::UnixStream as StdStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::{mpsc, oneshot, watch};

use super::abort::AbortSignal;
use super::collector::Collector;
use super::contract::{ChildStdin, ChildStdout, Exit, Process, Window};
use super::error::SubprocessError;
use super::launcher::{Line, next_report};
use super::stdio::{HostStdio, Stdin, Stdout, collect};
use super::tree::{Ending, Report, TERMINATE, group_is_gone};

/// What is known of a process so far.
#[derive(Debug, Clone, Default)]
struct Progress {
    /// What `done` answers.
    settled: Option<Result<Exit, SubprocessError>>,
    /// No process of the tree is left.
    gone: bool,
}

/// A process of this machine, as seen from the host. A task of its own drives it; this is the shared view.
pub(super) struct LiveProcess {
    pid: Option<u32>,
    stdin: Mutex<Option<Stdin>>,
    stdout: Mutex<Option<Stdout>>,
    collector: Arc<Mutex<Collector>>,
    progress: watch::Receiver<Progress>,
    terminate: mpsc::UnboundedSender<()>,
    /// The line to the keeper, none when nothing was started. Shutting it down is the order to kill.
    socket: Option<StdStream>,
}

impl LiveProcess {
    /// A process that could not be started.
    pub(super) fn stillborn(error: SubprocessError) -> Self {
        let (_, progress) = watch::channel(Progress {
            settled: Some(Err(error)),
            gone: true,
        });
        Self {
            pid: None,
            stdin: Mutex::new(None),
            stdout: Mutex::new(None),
            collector: Arc::new(Mutex::new(Collector::new(0))),
            progress,
            terminate: mpsc::unbounded_channel().0,
            socket: None,
        }
    }

    /// A process that runs; starts the task that follows it.
    pub(super) fn follow(
        pid: u32,
        line: Line,
        stdio: HostStdio,
        stderr_limit: usize,
        grace: Duration,
        signal: Option<AbortSignal>,
    ) -> std::io::Result<Self> {
        let socket = line.socket.try_clone()?;
        let collector = Arc::new(Mutex::new(Collector::new(stderr_limit)));
        let (progress_sender, progress) = watch::channel(Progress::default());
        let (terminate, requests) = mpsc::unbounded_channel();
        let driver = Driver {
            pid,
            line,
            progress: progress_sender,
            grace,
        };
        let outputs = Outputs {
            stdout_closed: stdio.stdout_closed,
            stderr: stdio.stderr,
            collector: Arc::clone(&collector),
        };
        tokio::spawn(driver.run(outputs, requests, signal));
        Ok(Self {
            pid: Some(pid),
            stdin: Mutex::new(stdio.stdin),
            stdout: Mutex::new(Some(stdio.stdout)),
            collector,
            progress,
            terminate,
            socket: Some(socket),
        })
    }

    /// Orders the keeper to kill the tree now. Does not wait and needs no runtime.
    pub(super) fn order_kill(&self) {
        if let Some(socket) = &self.socket {
            let _ = socket.shutdown(std::net::Shutdown::Write);
        }
    }

    /// Waits, blocking the thread, until the keeper has done its work or `deadline` has passed.
    pub(super) fn block_until_kept(&self, deadline: Instant) {
        let Some(socket) = &self.socket else { return };
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(timeout) = Timespec::try_from(left) else {
                return;
            };
            // The end of the connection is reported unasked.
            let mut descriptors = [PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::empty())];
            match poll(&mut descriptors, Some(&timeout)) {
                Err(rustix::io::Errno::INTR) => {}
                _ => return,
            }
        }
    }
}

impl Process for LiveProcess {
    fn pid(&self) -> Option<u32> {
        self.pid
    }

    fn take_stdin(&self) -> Option<ChildStdin> {
        let stdin = self
            .stdin
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()?;
        Some(Box::new(stdin))
    }

    fn take_stdout(&self) -> Option<ChildStdout> {
        let stdout = self
            .stdout
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()?;
        Some(Box::new(stdout))
    }

    fn stderr_from(&self, offset: u64) -> Window {
        self.collector
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .window(offset)
    }

    fn done(&self) -> BoxFuture<'static, Result<Exit, SubprocessError>> {
        let mut progress = self.progress.clone();
        Box::pin(async move {
            let seen = progress
                .wait_for(|progress| progress.settled.is_some())
                .await;
            match seen.ok().and_then(|progress| progress.settled.clone()) {
                Some(settled) => settled,
                None => Err(lost("the runtime that followed it has ended")),
            }
        })
    }

    fn terminate(&self) {
        let _ = self.terminate.send(());
    }

    fn wait_for_exit(&self, timeout: Option<Duration>) -> BoxFuture<'static, bool> {
        let mut progress = self.progress.clone();
        Box::pin(async move {
            if progress.borrow().gone {
                return true;
            }
            let gone = async { progress.wait_for(|progress| progress.gone).await.is_ok() };
            match timeout {
                Some(timeout) => tokio::time::timeout(timeout, gone).await.unwrap_or(false),
                None => gone.await,
            }
        })
    }
}

fn lost(reason: &str) -> SubprocessError {
    SubprocessError::Lost {
        reason: reason.into(),
    }
}

/// The host's ends whose closing `done` waits for.
struct Outputs {
    stdout_closed: oneshot::Receiver<()>,
    stderr: Receiver,
    collector: Arc<Mutex<Collector>>,
}

impl Outputs {
    async fn closed(self) {
        // An error means that the reader was dropped, which closes the pipe as well.
        let (_, ()) = tokio::join!(self.stdout_closed, collect(self.stderr, self.collector));
    }
}

/// Follows one process to its end.
struct Driver {
    pid: u32,
    line: Line,
    progress: watch::Sender<Progress>,
    grace: Duration,
}

impl Driver {
    async fn run(
        mut self,
        outputs: Outputs,
        mut requests: mpsc::UnboundedReceiver<()>,
        signal: Option<AbortSignal>,
    ) {
        let mut reading = Some(Box::pin(outputs.closed()));
        let mut signal = signal.map(|signal| Box::pin(async move { signal.aborted().await }));
        let mut ended: Option<Result<Exit, SubprocessError>> = None;
        let mut drained_at = None;
        let mut keeper_ended = false;
        let mut handle_dropped = false;
        loop {
            let settled = self.progress.borrow().settled.is_some();
            if let (false, None, Some(outcome)) = (settled, &reading, &ended) {
                self.progress
                    .send_modify(|progress| progress.settled = Some(outcome.clone()));
                signal = None;
                continue;
            }
            if keeper_ended && settled {
                break;
            }
            tokio::select! {
                report = next_report(&mut self.line.reports), if !keeper_ended => match report {
                    Some(Report::Exited(ending)) => {
                        ended = Some(Ok(exit(ending)));
                        drained_at = Some(tokio::time::Instant::now() + self.grace);
                    }
                    Some(Report::StatusLost) => {
                        ended = Some(Err(lost("somebody else took its exit status")));
                        drained_at = Some(tokio::time::Instant::now() + self.grace);
                    }
                    Some(Report::Gone) => {
                        self.progress.send_modify(|progress| progress.gone = true);
                        keeper_ended = true;
                    }
                    Some(Report::Spawned(_) | Report::Failed(_)) | None => {
                        keeper_ended = true;
                        let gone = self.kill_unkept().await;
                        self.progress.send_modify(|progress| progress.gone = gone);
                        ended.get_or_insert_with(|| Err(lost("its supervisor has ended")));
                        // What it may still have had to say is of no use without its end.
                        reading = None;
                    }
                },
                () = async { match &mut reading { Some(reading) => reading.await, None => std::future::pending().await } } => {
                    reading = None;
                }
                () = async { match drained_at { Some(at) => tokio::time::sleep_until(at).await, None => std::future::pending().await } },
                    if reading.is_some() =>
                {
                    // Closes standard error; standard output belongs to whoever took it.
                    reading = None;
                }
                _ = async { match &mut signal { Some(signal) => signal.await, None => std::future::pending().await } } => {
                    signal = None;
                    self.order_terminate().await;
                }
                request = requests.recv(), if !handle_dropped => match request {
                    Some(()) => self.order_terminate().await,
                    None => handle_dropped = true,
                },
            }
        }
        if let Some(supervisor) = &mut self.line.supervisor {
            let _ = supervisor.wait().await;
        }
    }

    /// A keeper that has ended needs no order.
    async fn order_terminate(&mut self) {
        let _ = self.line.orders.write_all(&[TERMINATE]).await;
    }

    /// Ends the process group of a keeper that died before its time. Whether it is gone in the end.
    async fn kill_unkept(&self) -> bool {
        const LOOK: Duration = Duration::from_millis(15);
        const LOOKS: u32 = 1000;
        let Some(leader) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else {
            return false;
        };
        for _ in 0..LOOKS {
            if group_is_gone(leader) {
                return true;
            }
            let _ = kill_process_group(leader, Signal::KILL);
            tokio::time::sleep(LOOK).await;
        }
        false
    }
}

fn exit(ending: Ending) -> Exit {
    Exit {
        code: match ending {
            Ending::Code(code) => Some(code),
            Ending::Signal(_) => None,
        },
        signal: ending.signal_name(),
    }
}
