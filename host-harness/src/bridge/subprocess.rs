//! `ctx.subprocess` of a running DSH.

use super::peer::Peer;
use super::process::Remote;
use crate::failure::Failure;
use dsh_services::subprocess::{
    AbortSignal, DisposeError, EnvChange, Handle, Process, SpawnSpec, Subprocess, SubprocessError,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The processes that were asked for and are not known to be gone.
#[derive(Default)]
pub(super) struct Remotes(Mutex<HashMap<u64, Arc<Remote>>>);

impl Remotes {
    /// Takes what the other side tells of a process.
    pub(super) fn take(&self, what: &str, params: &Value) -> Result<(), Failure> {
        let handle = params.get("handle").and_then(Value::as_u64);
        let remote = handle.and_then(|handle| self.all().get(&handle).cloned());
        // What is told of a process that was given up is of no use to anybody.
        let Some(remote) = remote else { return Ok(()) };
        remote.take(what, params)?;
        if let (true, Some(handle)) = (remote.is_gone(), handle) {
            self.all().remove(&handle);
        }
        Ok(())
    }

    /// The other side is gone, and every process with it.
    pub(super) fn lose(&self) {
        for (_, remote) in self.all().drain() {
            remote.lose();
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<u64, Arc<Remote>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The subprocess service on the other side.
pub(super) struct BridgeSubprocess {
    peer: Peer,
    remotes: Arc<Remotes>,
    last: AtomicU64,
}

impl BridgeSubprocess {
    pub(super) fn new(peer: Peer, remotes: Arc<Remotes>) -> Self {
        Self {
            peer,
            remotes,
            last: AtomicU64::new(0),
        }
    }

    async fn find(
        &self,
        command: &str,
        env: &[EnvChange],
        signal: Option<&AbortSignal>,
    ) -> Result<String, SubprocessError> {
        let params = json!({ "command": command, "env": changes(env) });
        let asking = self.peer.ask("subprocess.resolveExecutable", params);
        let aborted = async {
            match signal {
                Some(signal) => signal.aborted().await,
                None => std::future::pending().await,
            }
        };
        let answer = tokio::select! {
            answer = asking => answer.map_err(convert)?,
            reason = aborted => return Err(SubprocessError::Aborted(reason)),
        };
        answer.as_str().map(String::from).ok_or_else(|| {
            convert(Failure {
                name: None,
                code: None,
                message: format!("the answer for executable \"{command}\" is no path"),
            })
        })
    }

    async fn start(&self, spec: SpawnSpec) -> Result<Box<dyn Process>, SubprocessError> {
        let handle = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let remote = Remote::new(self.peer.clone(), handle, spec.stdin, spec.stderr_max_bytes);
        // Known before it is asked for, since what is told of it may come right behind the answer.
        self.remotes.all().insert(handle, remote.clone());
        let params = json!({
            "handle": handle,
            "argv": spec.argv,
            "cwd": spec.cwd,
            "stdin": spec.stdin,
            "stderrMaxBytes": spec.stderr_max_bytes,
            "graceMs": spec.grace_ms,
            "env": changes(&spec.env),
        });
        match self.peer.ask("subprocess.spawn", params).await {
            Ok(answer) => {
                let pid = answer.get("pid").and_then(Value::as_u64);
                remote.started(pid.and_then(|pid| u32::try_from(pid).ok()));
            }
            Err(failure) => {
                self.remotes.all().remove(&handle);
                remote.never_started();
                return Err(convert(failure));
            }
        }
        Ok(Box::new(Handle::new(remote)))
    }
}

impl Subprocess for BridgeSubprocess {
    fn resolve_executable<'a>(
        &'a self,
        command: &'a str,
        env: &'a [EnvChange],
        signal: Option<&'a AbortSignal>,
    ) -> BoxFuture<'a, Result<String, SubprocessError>> {
        self.find(command, env, signal).boxed()
    }

    fn spawn(&self, spec: SpawnSpec) -> BoxFuture<'_, Result<Box<dyn Process>, SubprocessError>> {
        self.start(spec).boxed()
    }

    fn dispose(&self) -> BoxFuture<'_, Result<(), DisposeError>> {
        // The processes belong to the plugins, which have ended theirs by now; DSH ends what it started for this connection.
        let left: Vec<_> = self.remotes.all().values().cloned().collect();
        async move {
            for remote in left {
                remote.terminate();
            }
            Ok(())
        }
        .boxed()
    }
}

fn changes(env: &[EnvChange]) -> Value {
    let pairs = env
        .iter()
        .map(|change| (change.name.clone(), json!(change.value)));
    Value::Object(pairs.collect::<Map<_, _>>())
}

fn convert(failure: Failure) -> SubprocessError {
    SubprocessError::Foreign {
        code: failure.code,
        message: failure.message,
    }
}
