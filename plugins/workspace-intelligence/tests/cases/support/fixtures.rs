//! Configurations, symbols and calls that the tests share.

use super::world::{Outside, Task, World};
use dsh_workspace_intelligence::driver::plugin::Plugin;
use dsh_workspace_intelligence::driver::stop::StopReason;
use dsh_workspace_intelligence::outcome::{CallEnd, CallError};
use dsh_workspace_intelligence::render::Rendered;
use futures::channel::oneshot;
use serde_json::{Value, json};
use std::rc::Rc;

pub type Mounted = Rc<Plugin<Outside>>;
pub type Outcome = Result<Rendered, CallEnd>;

/// A server without warm-up, whose program is called like its id.
pub fn server(id: &str) -> Value {
    json!({"command": id, "warmupMs": 0, "killGraceMs": 2000, "shutdownTimeoutMs": 5000})
}

/// A configuration of such servers.
pub fn servers(ids: &[&str]) -> Value {
    json!({"servers": ids.iter().map(|id| ((*id).to_owned(), server(id))).collect::<serde_json::Map<_, _>>()})
}

/// One symbol as servers write it.
pub fn symbol(name: &str, line: u32) -> Value {
    json!({"name": name, "kind": 5, "location": {"uri": "file:///ws/a.ts", "range": {
        "start": {"line": line, "character": 0}, "end": {"line": line, "character": 4}}}})
}

impl World {
    pub fn try_mount(&mut self, config: Value) -> Result<Mounted, String> {
        let outside = Rc::new(self.outside.clone());
        self.run(async move { Plugin::mount(outside, &config).await.map(Rc::new) })
    }

    pub fn mount(&mut self, config: Value) -> Mounted {
        self.try_mount(config).expect("the configuration is valid")
    }

    /// Starts a call of the workspace `/ws`.
    pub fn call(&self, plugin: &Mounted, query: &str) -> Call {
        self.call_in(plugin, "/ws", query)
    }

    pub fn call_in(&self, plugin: &Mounted, cwd: &str, query: &str) -> Call {
        self.call_with(plugin, json!({"query": query}), Some(cwd))
    }

    pub fn call_with(&self, plugin: &Mounted, arguments: Value, cwd: Option<&str>) -> Call {
        let (abort, aborted) = oneshot::channel();
        let (plugin, cwd) = (plugin.clone(), cwd.map(str::to_owned));
        let task = self.start(async move {
            let signal = async { aborted.await.unwrap_or(StopReason::Caller) };
            plugin.call(&arguments, cwd.as_deref(), signal).await
        });
        Call {
            task,
            abort: Some(abort),
        }
    }

    /// Makes a call and waits for its end.
    pub fn ask(&mut self, plugin: &Mounted, query: &str) -> Outcome {
        let call = self.call(plugin, query);
        self.finish(&call.task)
    }

    /// Makes a call that succeeds; its canonical value.
    pub fn value(&mut self, plugin: &Mounted, query: &str) -> Value {
        parsed(&self.ask(plugin, query).expect("the call succeeds"))
    }

    /// Makes a call that fails.
    pub fn error(&mut self, plugin: &Mounted, query: &str) -> CallError {
        failure(self.ask(plugin, query))
    }

    pub fn dispose(&mut self, plugin: &Mounted) -> Result<(), String> {
        let plugin = plugin.clone();
        self.run(async move { plugin.dispose().await })
    }
}

/// A call under way.
pub struct Call {
    pub task: Task<Outcome>,
    /// Dropping it would abort the call.
    abort: Option<oneshot::Sender<StopReason>>,
}

impl Call {
    pub fn abort(&mut self) {
        self.abort
            .take()
            .expect("aborted once")
            .send(StopReason::Caller)
            .expect("the call is under way");
    }

    pub fn is_over(&self) -> bool {
        self.task.is_over()
    }
}

pub fn parsed(rendered: &Rendered) -> Value {
    serde_json::from_str(&rendered.value).expect("the value is JSON")
}

pub fn failure(outcome: Outcome) -> CallError {
    match outcome {
        Err(CallEnd::Failed(error)) => error,
        other => panic!("not a failure: {other:?}"),
    }
}

pub fn names(value: &Value) -> Vec<String> {
    let symbols = value["symbols"].as_array().expect("a list");
    symbols
        .iter()
        .map(|symbol| symbol["name"].as_str().expect("a name").to_owned())
        .collect()
}

/// Succeeded, failed, unsupported.
pub fn counts(value: &Value) -> [u64; 3] {
    ["succeeded", "failed", "unsupported"]
        .map(|key| value["providers"][key].as_u64().expect("a count"))
}
