//! The actor that owns one instance of a component.
//!
//! A wasmtime store belongs to one task at a time, and component-model tasks of one instance only make progress while that task is inside
//! `Store::run_concurrent`. So a task of its own keeps each instance there for the instance's whole life. Calls reach it as closures through a
//! channel, run side by side, and answer through channels of their own.

mod pulse;

use pulse::Pulse;

use crate::component::{Exports, LoadedComponent};
use crate::ctx::PluginEnv;
use crate::ctx::logger::Level;
use crate::engine::Engine;
use crate::failure::{Failure, codes};
use crate::guards::Watchdog;
use crate::limits::Limits;
use crate::stderr::Stderr;
use crate::store::{MAX_RESOURCES, PluginState};
use futures::future::{BoxFuture, poll_fn};
use futures::stream::{FuturesUnordered, StreamExt};
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinError;
use wasmtime::component::{Accessor, ResourceTableError};
use wasmtime::{Store, Trap};
use wasmtime_wasi::I32Exit;

/// What a call may use inside the instance.
pub(crate) type Access = Accessor<PluginState>;

/// One piece of work inside the instance. It answers through what it captured.
type Job =
    Box<dyn for<'a> FnOnce(&'a Access, &'a Exports) -> BoxFuture<'a, wasmtime::Result<()>> + Send>;

/// Why an instance is no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It was closed on purpose.
    Closed,
    /// The guest trapped, broke the rules of the component model, or the host gave up on it; the text says why.
    Trapped(String),
}

impl End {
    /// What calls in flight are told.
    pub(crate) fn failure(&self, plugin: &str) -> Failure {
        match self {
            Self::Closed => Failure::host(
                codes::PLUGIN_DISPOSED,
                format!("plugin \"{plugin}\" was unloaded"),
            ),
            Self::Trapped(reason) => Failure::host(
                codes::PLUGIN_TRAPPED,
                format!("plugin \"{plugin}\" stopped: {reason}"),
            ),
        }
    }
}

/// A running instance. Dropping the handle closes it.
pub(crate) struct Instance {
    jobs: mpsc::UnboundedSender<Job>,
    ended: watch::Receiver<Option<End>>,
    kill: watch::Sender<Option<End>>,
    pulse: Arc<Pulse>,
}

impl Instance {
    /// Instantiates the component; only its start code runs.
    pub(crate) async fn start(
        engine: &Engine,
        component: &LoadedComponent,
        limits: &Limits,
        env: Arc<PluginEnv>,
    ) -> Result<Self, Failure> {
        let (watchdog, stderr) = (Watchdog::default(), Stderr::default());
        let plugin = env.plugin.clone();
        let mut store = PluginState::store(engine, limits, &watchdog, env.clone(), stderr.clone());
        let made = async {
            let instance = component.pre().instantiate_async(&mut store).await?;
            component.exports_of(&mut store, &instance)
        };
        let exports = match tokio::time::timeout(limits.apply, made).await {
            Ok(Ok(exports)) => exports,
            Ok(Err(error)) => {
                let reason = explain(&error, &stderr, &store, limits);
                return Err(End::Trapped(reason).failure(&plugin));
            }
            Err(_) => {
                let message = format!(
                    "plugin \"{plugin}\" did not start within {} ms",
                    limits.apply.as_millis()
                );
                return Err(Failure::host(codes::PLUGIN_UNRESPONSIVE, message));
            }
        };
        let (jobs, queue) = mpsc::unbounded_channel();
        let (announce, ended) = watch::channel(None);
        let (kill, killed) = watch::channel(None);
        let pulse = Arc::new(Pulse::default());
        let actor = Actor {
            store,
            exports,
            queue,
            killed,
            watchdog,
            stderr,
            limits: limits.clone(),
            env,
            pulse: pulse.clone(),
        };
        tokio::spawn(async move {
            let (env, ending) = (actor.env.clone(), actor.pulse.clone());
            // A bug of the host, or of wasmtime, must not cost more than the instance that met it.
            let end = match tokio::spawn(actor.run()).await {
                Ok(end) => end,
                Err(error) => {
                    ending.stop();
                    abandoned(&env, error).await
                }
            };
            announce.send_replace(Some(end));
        });
        Ok(Self {
            jobs,
            ended,
            kill,
            pulse,
        })
    }

    /// Runs `work` inside the instance and waits for its answer.
    ///
    /// # Errors
    /// The instance ended first; the reason says how.
    pub(crate) async fn run<R, F>(&self, work: F) -> Result<R, End>
    where
        R: Send + 'static,
        F: for<'a> FnOnce(&'a Access, &'a Exports) -> BoxFuture<'a, wasmtime::Result<R>>
            + Send
            + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move |access, exports| {
            let work = work(access, exports);
            Box::pin(async move {
                // The caller may have gone; the work was done all the same.
                let _ = reply.send(work.await?);
                Ok(())
            })
        });
        let _in_flight = self.pulse.begin();
        if self.jobs.send(job).is_err() {
            return Err(self.ended().await);
        }
        match answer.await {
            Ok(result) => Ok(result),
            Err(_) => Err(self.ended().await),
        }
    }

    /// Resolves when no call is in flight.
    pub(crate) async fn idle(&self) {
        self.pulse.until_idle().await;
    }

    /// Resolves when the instance is gone: its store dropped, its processes ended.
    pub(crate) async fn ended(&self) -> End {
        let mut ended = self.ended.clone();
        match ended.wait_for(Option::is_some).await.map(|end| end.clone()) {
            Ok(Some(end)) => end,
            // The actor itself was torn down, with the runtime.
            _ => End::Closed,
        }
    }

    /// How it ended, if it has. Waits for one that is being cleaned up: it takes no calls any more.
    pub(crate) async fn settled(&self) -> Option<End> {
        match self.pulse.is_stopping() {
            true => Some(self.ended().await),
            false => None,
        }
    }

    /// Drops the instance at once, whatever it is doing.
    pub(crate) fn kill(&self, end: End) {
        self.kill.send_if_modified(|current| {
            let first = current.is_none();
            if first {
                *current = Some(end);
            }
            first
        });
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.kill(End::Closed);
    }
}

struct Actor {
    store: Store<PluginState>,
    exports: Exports,
    queue: mpsc::UnboundedReceiver<Job>,
    killed: watch::Receiver<Option<End>>,
    watchdog: Watchdog,
    stderr: Stderr,
    limits: Limits,
    env: Arc<PluginEnv>,
    pulse: Arc<Pulse>,
}

impl Actor {
    async fn run(self) -> End {
        let Self {
            mut store,
            exports,
            mut queue,
            mut killed,
            watchdog,
            stderr,
            limits,
            env,
            pulse,
        } = self;
        // A blocked guest gets twice the time of a computing one, so that the more exact explanation wins.
        let patience = limits.spin * 2;
        let served = {
            let serving = store.run_concurrent(async |access: &Access| {
                serve(access, &exports, &mut queue, &watchdog, &pulse).await
            });
            tokio::select! {
                biased;
                end = killed.wait_for(Option::is_some) => Err(end.ok().and_then(|end| end.clone()).unwrap_or(End::Closed)),
                served = serving => Ok(served),
                () = pulse.stopped(patience, &watchdog) => Err(End::Trapped(format!(
                    "it blocked its instance for more than {} ms in a host call",
                    patience.as_millis()
                ))),
            }
        };
        let end = match served {
            Err(end) => end,
            Ok(Ok(Ok(never))) => match never {},
            Ok(Ok(Err(error)) | Err(error)) => {
                End::Trapped(explain(&error, &stderr, &store, &limits))
            }
        };
        pulse.stop();
        // Dropping the store drops every resource that the guest held, and dropping the queue tells the callers of jobs that never began.
        drop((store, queue));
        env.end_processes().await;
        if let End::Trapped(reason) = &end {
            env.logger.log(
                Level::Error,
                &format!("the plugin's instance stopped: {reason}"),
            );
        }
        end
    }
}

/// What is left to do when the task of an actor panicked: its store is dropped already, its processes are not ended.
async fn abandoned(env: &PluginEnv, error: JoinError) -> End {
    env.end_processes().await;
    if error.is_cancelled() {
        // The runtime is shutting down.
        return End::Closed;
    }
    let reason = "the host itself failed while it served the plugin";
    env.logger.log(
        Level::Error,
        &format!("the plugin's instance stopped: {reason}"),
    );
    End::Trapped(reason.into())
}

/// Takes jobs and drives them until the guest traps. wasmtime polls this future at every turn of the instance's loop, and at no time while a
/// guest function computes or blocks: so each poll tells the watchdogs that the guest has given way.
async fn serve(
    access: &Access,
    exports: &Exports,
    queue: &mut mpsc::UnboundedReceiver<Job>,
    watchdog: &Watchdog,
    pulse: &Pulse,
) -> wasmtime::Result<Infallible> {
    let work = async {
        let mut running = FuturesUnordered::new();
        loop {
            tokio::select! {
                job = queue.recv() => match job {
                    Some(job) => running.push(job(access, exports)),
                    // The handle is gone; its drop has asked for the end, which comes from outside.
                    None => std::future::pending().await,
                },
                Some(done) = running.next(), if !running.is_empty() => done?,
                () = pulse.probed() => {}
            }
        }
    };
    let mut work = std::pin::pin!(work);
    poll_fn(|context| {
        watchdog.reset();
        pulse.turn();
        work.as_mut().poll(context)
    })
    .await
}

/// Why an instance stopped, in words for the one who reads the log.
fn explain(
    error: &wasmtime::Error,
    stderr: &Stderr,
    store: &Store<PluginState>,
    limits: &Limits,
) -> String {
    match error.downcast_ref::<Trap>() {
        Some(Trap::Interrupt) => {
            return format!(
                "it computed for more than {} ms without giving way",
                limits.spin.as_millis()
            );
        }
        Some(Trap::StackOverflow) => return "it used up its stack".into(),
        _ => {}
    }
    if let Some(ResourceTableError::Full) = error.downcast_ref() {
        return format!("it holds more than {MAX_RESOURCES} things of the host");
    }
    if error.is::<I32Exit>() {
        return "it asked its process to exit".into();
    }
    let cause = error.root_cause().to_string();
    // wasmtime keeps the type of this error to itself.
    if cause.contains("fuel allocated for hostcalls has been exhausted") {
        return format!(
            "it passed more than {} MiB in one message",
            limits.message >> 20
        );
    }
    // A guest may survive a refused allocation and panic much later for another reason, so its own word comes first.
    if let Some(message) = stderr.panic_message() {
        return message;
    }
    if store.data().limiter.refused() {
        return format!(
            "it asked for more than its memory limit of {} MiB",
            limits.memory >> 20
        );
    }
    cause
}
