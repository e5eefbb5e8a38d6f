//! One connection from its first line to its end.

use super::agents::{self, Events};
use super::fs::BridgeFileSystem;
use super::mounting::{self, Providers};
use super::peer::Peer;
use super::requests::{self, Running};
use super::session_query::BridgeSessionQuery;
use super::subprocess::{BridgeSubprocess, Remotes};
use super::wire::{Frame, codes, member};
use crate::abort::AbortSignal;
use crate::ctx::logger::{Level, LogSink};
use crate::failure::Failure;
use crate::host::{Host, HostOptions};
use crate::lines::{Line, Lines, MAX_LINE};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;

/// Requests of DSH in flight at once; more are refused.
pub const MAX_CALLS: usize = 256;

/// How long the plugins have to come down when the connection has ended. DSH ends the processes that it started itself.
const PARTING: Duration = Duration::from_secs(10);

/// Why the bridge could not serve.
#[derive(Debug, Error)]
pub enum ServeError {
    /// wasmtime does not support this machine.
    #[error("no host: {0:#}")]
    NoHost(wasmtime::Error),
}

/// What the requests of one connection work on.
pub(super) struct Served {
    pub(super) host: Host,
    pub(super) providers: Providers,
    pub(super) events: Events,
    peer: Peer,
    running: Running,
    greeted: AtomicBool,
    over: Notify,
}

/// Serves one DSH over a pair of streams until `input` ends, DSH asks for the end, nobody reads `output`, or `stop` resolves. Then everything
/// is unmounted.
///
/// # Errors
/// See [`ServeError`]. The end of the connection is none.
pub async fn serve<R, W>(
    input: R,
    output: W,
    mut options: HostOptions,
    stop: impl Future<Output = ()> + Send,
) -> Result<(), ServeError>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (peer, writing) = Peer::new(output);
    options.log = Arc::new(BridgeLog(peer.clone()));
    let host = Host::new(options).map_err(ServeError::NoHost)?;
    let remotes = Arc::new(Remotes::default());
    let served = Arc::new(Served {
        providers: Providers {
            fs: Arc::new(BridgeFileSystem::new(
                peer.clone(),
                host.services().agent_roots().clone(),
            )),
            subprocess: Arc::new(BridgeSubprocess::new(peer.clone(), remotes.clone())),
            session_query: Arc::new(BridgeSessionQuery::new(peer.clone())),
            present: Mutex::default(),
        },
        events: Events::new(host.clone()),
        host,
        peer: peer.clone(),
        running: Running::default(),
        greeted: AtomicBool::new(false),
        over: Notify::new(),
    });
    let mut writing = tokio::spawn(writing);
    let is_read = tokio::select! {
        () = read(&served, &remotes, input) => true,
        () = served.over.notified() => true,
        _ = &mut writing => false,
        () = stop => true,
    };
    // Plugins that wait for DSH are told that it is gone, so that they come down at once.
    peer.close();
    remotes.lose();
    served.running.cancel_all();
    if tokio::time::timeout(PARTING, served.host.shutdown())
        .await
        .is_err()
    {
        tracing::warn!("a plugin did not come down in time");
    }
    drop((served, peer));
    if is_read {
        // What has been answered is written out, unless nobody reads any more.
        let _ = tokio::time::timeout(Duration::from_secs(1), writing).await;
    }
    Ok(())
}

async fn read<R: AsyncRead + Unpin>(served: &Arc<Served>, remotes: &Remotes, input: R) {
    let mut lines = Lines::new(input, MAX_LINE);
    loop {
        let frame = match lines.next().await {
            Ok(Some(Line::Whole(line))) if line.iter().all(u8::is_ascii_whitespace) => continue,
            Ok(Some(Line::Whole(line))) => Frame::parse(&line),
            Ok(Some(Line::TooLong)) => Err(format!("longer than {MAX_LINE} bytes")),
            Ok(None) => return,
            Err(error) => {
                tracing::warn!("the connection cannot be read: {error}");
                return;
            }
        };
        match frame {
            Ok(Frame::Request { id, method, params }) => begin(served, id, method, params),
            Ok(Frame::Answer { id, outcome }) => served.peer.take_answer(id, outcome),
            Ok(Frame::Part { id, value }) => served.peer.take_part(id, value),
            Ok(Frame::Notification { method, params }) => {
                if let Err(failure) = notice(served, remotes, &method, &params) {
                    complain(served, &format!("{method}: {failure}"));
                }
            }
            Err(reason) => complain(served, &reason),
        }
    }
}

/// Garbage is reported and otherwise without effect: it belongs to no request that could be answered.
fn complain(served: &Served, reason: &str) {
    served
        .peer
        .tell_record(json!({ "row": "bridge", "level": "warn", "message": format!("a line was not understood: {reason}") }));
}

fn notice(served: &Served, remotes: &Remotes, method: &str, params: &Value) -> Result<(), Failure> {
    match method {
        "cancel" => served.running.cancel(params),
        "sessionEvent" => served.events.tell(params),
        _ if method.starts_with("process.") => remotes.take(method, params)?,
        _ => return Err(unknown(method)),
    }
    Ok(())
}

/// Starts to answer a request. It is known before the next line is read, so that its cancel finds it.
fn begin(served: &Arc<Served>, id: u64, method: String, params: Value) {
    let Some(signal) = served.running.enter(id, MAX_CALLS) else {
        let message = format!("request {id} is in flight already, or {MAX_CALLS} others are");
        let failure = Failure::host(codes::BUSY, message);
        return served.peer.answer(id, Err(failure));
    };
    // Before the next line is read, so that what follows a greeting need not wait for its answer.
    if method == "hello" {
        let outcome = greet(served, &params);
        served.running.leave(id);
        return served.peer.answer(id, outcome);
    }
    let served = served.clone();
    tokio::spawn(async move {
        let outcome = answer(&served, &method, &params, signal).await;
        served.running.leave(id);
        served.peer.answer(id, outcome);
        if method == "shutdown" {
            served.over.notify_one();
        }
    });
}

fn greet(served: &Served, params: &Value) -> Result<Value, Failure> {
    let answer = mounting::hello(params)?;
    let temporary = member::<Option<PathBuf>>(params, "temporaryDirectory")?;
    let temporary = temporary.unwrap_or_else(std::env::temp_dir);
    served.providers.find_spill(&served.host, temporary);
    served.greeted.store(true, Ordering::Release);
    Ok(answer)
}

async fn answer(
    served: &Served,
    method: &str,
    params: &Value,
    signal: AbortSignal,
) -> Result<Value, Failure> {
    let host = &served.host;
    if !served.greeted.load(Ordering::Acquire) {
        let message = format!("\"{method}\" before \"hello\"");
        return Err(Failure::host(codes::PROTOCOL, message));
    }
    match method {
        "mount" => {
            follow(served, params)?;
            mounting::mount(host, params).await
        }
        "services" => {
            follow(served, params)?;
            host.settle().await;
            Ok(mounting::describe(host))
        }
        "agent" => agents::announce(host, params).await,
        "agentGone" => agents::forget(host, params).await,
        "call" => requests::call(served, params, signal).await,
        "card" => requests::card(served, params).await,
        "complete" => requests::complete(served, params, signal).await,
        "prompt" => {
            served.events.delivered().await;
            agents::sections(host, params).await
        }
        // While the plugins come down the connection is still read, since they end their processes through it.
        "shutdown" => {
            served.host.shutdown().await;
            Ok(Value::Null)
        }
        _ => Err(unknown(method)),
    }
}

fn follow(served: &Served, params: &Value) -> Result<(), Failure> {
    let present: BTreeSet<String> = member(params, "services")?;
    served.providers.follow(&served.host, present);
    Ok(())
}

fn unknown(method: &str) -> Failure {
    Failure::host(codes::PROTOCOL, format!("there is no method \"{method}\""))
}

/// Hands the records of plugins to DSH's own log.
struct BridgeLog(Peer);

impl LogSink for BridgeLog {
    fn record(&self, plugin: &str, level: Level, message: &str) {
        let level = match level {
            Level::Error => "error",
            Level::Warn => "warn",
            Level::Info => "info",
            Level::Debug => "debug",
        };
        self.0
            .tell_record(json!({ "row": plugin, "level": level, "message": message }));
    }
}
