use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdStream;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, Command};

use super::error::SubprocessError;
use super::supervisor::VERB;
use super::tree::{ChildStdio, Launch, Reach, Report, keep, send_stdio};

/// How long a supervisor may take to start the program. One that is no supervisor at all would never answer.
const START: Duration = Duration::from_secs(30);

/// The host's line to a keeper.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) reports: Lines<BufReader<OwnedReadHalf>>,
    pub(super) orders: OwnedWriteHalf,
    /// The same socket, for a thread that must not wait for the runtime.
    pub(super) socket: StdStream,
    /// The supervisor, if the keeper is one; it ends by itself.
    pub(super) supervisor: Option<Child>,
}

/// Hands the launch to a keeper and waits for its first report: `Spawned` or `Failed`. Dropping the future, or the line,
/// kills the tree.
pub(super) async fn launch(
    supervisor: Option<&Path>,
    launch: Launch,
    stdio: ChildStdio,
) -> Result<(Line, Report), SubprocessError> {
    let message = supervisor.map(|_| launch.encode()).unwrap_or_default();
    let mut line = match supervisor {
        Some(executable) => supervised(executable, &launch, stdio),
        None => on_a_thread(launch, stdio),
    }
    .map_err(|error| lost(format!("its supervisor could not be started: {error}")))?;
    let answer = async {
        line.orders.write_all(&message).await.ok()?;
        next_report(&mut line.reports).await
    };
    let first = tokio::time::timeout(START, answer)
        .await
        .unwrap_or_default();
    match first {
        Some(report @ (Report::Spawned(_) | Report::Failed(_))) => Ok((line, report)),
        _ => {
            if let Some(supervisor) = &mut line.supervisor {
                let _ = supervisor.start_kill();
            }
            Err(lost("its supervisor did not start it".into()))
        }
    }
}

/// The next report; none when the keeper has ended. Dropping the future loses nothing.
pub(super) async fn next_report(reports: &mut Lines<BufReader<OwnedReadHalf>>) -> Option<Report> {
    let line = reports.next_line().await.ok().flatten()?;
    Report::parse(&line)
}

fn lost(reason: String) -> SubprocessError {
    SubprocessError::Lost { reason }
}

fn on_a_thread(launch: Launch, stdio: ChildStdio) -> io::Result<Line> {
    let (ours, theirs) = StdStream::pair()?;
    std::thread::Builder::new()
        .name("process-keeper".into())
        .spawn(move || keep(theirs, &launch, stdio, Reach::Group))?;
    connect(ours, None)
}

fn supervised(executable: &Path, launch: &Launch, stdio: ChildStdio) -> io::Result<Line> {
    let (ours, theirs) = StdStream::pair()?;
    // One byte into an empty socket never blocks.
    send_stdio(&ours, &stdio)?;
    drop(stdio);
    let name = executable.file_name().filter(|name| *name != "exe");
    let supervisor = Command::new(executable)
        .arg0(name.unwrap_or("dsh-host".as_ref()))
        .arg(VERB)
        // For people who look at the list of processes.
        .args(launch.argv.first())
        .current_dir("/")
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    connect(ours, Some(supervisor))
}

fn connect(ours: StdStream, supervisor: Option<Child>) -> io::Result<Line> {
    ours.set_nonblocking(true)?;
    let socket = ours.try_clone()?;
    let (reports, orders) = UnixStream::from_std(ours)?.into_split();
    Ok(Line {
        reports: BufReader::new(reports).lines(),
        orders,
        socket,
        supervisor,
    })
}
