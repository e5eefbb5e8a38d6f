//! The mounted plugin: all servers together (SPEC 15, 18.3).

use super::all::join_all;
use super::bell::Bell;
use super::instance::Server;
use super::ports::{Host, Level};
use super::provider::Provider;
use super::stop::{Stop, StopReason};
use super::workspace::Workspace;
use crate::arguments;
use crate::config::{Config, PREFIX, unknown_keys};
use crate::merge::merge;
use crate::outcome::{CallEnd, CallError, fold};
use crate::render::{Rendered, render};
use futures::future::{Either, select};
use serde_json::Value;
use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;

/// See the module.
pub struct Plugin<H: Host> {
    host: Rc<H>,
    config: Config,
    /// In the order of the configuration, which is that of the ids.
    providers: Vec<Provider<H>>,
    lifetime: Stop,
    calls: Cell<usize>,
    bell: Bell,
}

impl<H: Host> Plugin<H> {
    /// Reads the configuration and finds every program. No process is started. An error is a text for the deployer.
    pub async fn mount(host: Rc<H>, config: &Value) -> Result<Self, String> {
        for key in unknown_keys(config) {
            host.log(
                Level::Warn,
                &format!("{PREFIX}unknown key {key:?} is ignored"),
            );
        }
        let config = Config::parse(config).map_err(|error| error.to_string())?;
        let lookups = config
            .servers
            .iter()
            .map(|server| host.resolve_executable(&server.command, &server.env));
        let executables = join_all(lookups.collect()).await;
        let mut providers = Vec::with_capacity(executables.len());
        for (server, executable) in config.servers.iter().zip(executables) {
            let executable = executable
                .map_err(|reason| format!("{PREFIX}servers.{}.command: {reason}", server.id))?;
            providers.push(Provider::new(
                host.clone(),
                Server {
                    config: server.clone(),
                    executable,
                },
            ));
        }
        Ok(Self {
            host,
            config,
            providers,
            lifetime: Stop::default(),
            calls: Cell::new(0),
            bell: Bell::default(),
        })
    }

    /// The configuration in force.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Runs one call. `signal` resolves when the caller wants it to end; the call then still waits for its own cleaning up.
    pub async fn call(
        &self,
        arguments: &Value,
        cwd: Option<&str>,
        signal: impl Future<Output = StopReason>,
    ) -> Result<Rendered, CallEnd> {
        let _running = Running::begin(self);
        let stop = Stop::default();
        let mut work = pin!(self.search(arguments, cwd, &stop));
        let stopped = pin!(async {
            match select(pin!(self.lifetime.wait()), pin!(signal)).await {
                Either::Left((reason, _)) | Either::Right((reason, _)) => reason,
            }
        });
        let outcome = match select(stopped, &mut work).await {
            Either::Left((reason, _)) => {
                stop.set(reason);
                work.await
            }
            Either::Right((outcome, _)) => outcome,
        };
        match stop.reason() {
            Some(StopReason::Caller) => Err(CallEnd::Aborted),
            Some(StopReason::Disposed) => Err(CallError::Disposed.into()),
            None => outcome.map_err(CallEnd::from),
        }
    }

    async fn search(
        &self,
        arguments: &Value,
        cwd: Option<&str>,
        stop: &Stop,
    ) -> Result<Rendered, CallError> {
        // What a stopped call answers is never looked at.
        let stopped = |_: StopReason| CallError::Disposed;
        let query = arguments::query(arguments)?;
        let cwd = cwd
            .filter(|cwd| !cwd.is_empty())
            .ok_or(CallError::WorkspaceRequired)?;
        let workspace = stop
            .race(Workspace::resolve(&*self.host, cwd))
            .await
            .map_err(stopped)??;
        let asked = self.providers.iter().map(async |provider| {
            let answer = provider.ask(&workspace, query, stop).await;
            answer.map(|answer| (provider.id(), answer))
        });
        let answers: Option<Vec<_>> = join_all(asked.collect()).await.into_iter().collect();
        let (lists, counts) = fold(answers.ok_or(CallError::Disposed)?)?;
        let merged = merge(query, lists, self.config.max_results);
        Ok(render(&merged, counts, self.config.max_result_chars))
    }

    /// Ends every call and every process, and waits for all of them. An error says what is left.
    pub async fn dispose(&self) -> Result<(), String> {
        self.lifetime.set(StopReason::Disposed);
        let left: Vec<String> = join_all(self.providers.iter().map(Provider::end_all).collect())
            .await
            .into_iter()
            .flatten()
            .collect();
        // A call that was just starting a process ends it itself.
        self.bell
            .until(|| (self.calls.get() == 0).then_some(()))
            .await;
        match left.as_slice() {
            [] => Ok(()),
            [one] => Err(one.clone()),
            several => Err(format!(
                "{} language servers were not ended: {}",
                several.len(),
                several.join("; ")
            )),
        }
    }
}

/// Counts a call as running.
struct Running<'a, H: Host>(&'a Plugin<H>);

impl<'a, H: Host> Running<'a, H> {
    fn begin(plugin: &'a Plugin<H>) -> Self {
        plugin.calls.set(plugin.calls.get() + 1);
        Self(plugin)
    }
}

impl<H: Host> Drop for Running<'_, H> {
    fn drop(&mut self) {
        self.0.calls.set(self.0.calls.get() - 1);
        self.0.bell.ring();
    }
}
