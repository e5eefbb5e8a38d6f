//! Tools whose argument `do` is what to do.

use crate::Component;
use crate::bindings::dsh::ctx::abort::{AbortReason, AbortSignal};
use crate::bindings::dsh::ctx::call::Caller;
use crate::bindings::dsh::ctx::logger::{self, Level};
use crate::bindings::dsh::ctx::session_query::{self, PageLimits};
use crate::bindings::dsh::ctx::types::Failure;
use crate::bindings::dsh::ctx::workspace::Options;
use crate::bindings::dsh::ctx::{timers, tools};
use crate::bindings::exports::dsh::ctx::tool_provider::{
    self, CallCard, ToolCall, ToolDefinition, ToolError, ToolOutput,
};
use crate::handles::misuse;
use crate::lifecycle::{agents, config, take_directory};
use crate::machine::attempt;
use crate::misdeeds::{commit, commit_async};
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::hint::black_box;
use std::rc::Rc;
use std::time::{Duration, Instant};

thread_local! {
    /// Calls that this instance has seen.
    static CALLS: Cell<u32> = const { Cell::new(0) };
    /// Calls that are at work now, and the most at one time.
    static ACTIVE: Cell<u32> = const { Cell::new(0) };
    static MOST_ACTIVE: Cell<u32> = const { Cell::new(0) };
    /// Calls that came to a meeting.
    static MET: Cell<u64> = const { Cell::new(0) };
    /// Directories that `crowd` has listed.
    static LISTED: Cell<u64> = const { Cell::new(0) };
    static KEPT: RefCell<Option<Caller>> = const { RefCell::new(None) };
}

impl tool_provider::Guest for Component {
    fn definitions() -> Vec<ToolDefinition> {
        let config = config();
        commit(config["definitions"].as_str().unwrap_or_default());
        if let Some(count) = config["manyTools"].as_u64() {
            let named = |index| json!({"name": format!("tool-{index}")});
            return (0..count).map(|index| define(&named(index))).collect();
        }
        match config["tools"].as_array() {
            Some(tools) => tools.iter().map(define).collect(),
            None => vec![define(&json!({"name": "act"}))],
        }
    }

    fn present_call(name: String, arguments: String) -> Option<CallCard> {
        let arguments: Value = serde_json::from_str(&arguments).ok()?;
        let verb = arguments["do"].as_str()?;
        commit(verb);
        let title = format!("{name} {verb}");
        Some(CallCard {
            title,
            kind: "other".into(),
        })
    }

    async fn execute(call: ToolCall, signal: AbortSignal) -> Result<ToolOutput, ToolError> {
        CALLS.set(CALLS.get() + 1);
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
        let verb = arguments["do"].as_str().unwrap_or_default();
        let number = |name: &str| arguments[name].as_u64().unwrap_or_default();
        match verb {
            "echo" => return Ok(answer(echo(&call, &arguments))),
            "slices" => {
                // Far more work than the limit in all, and never much at once.
                for _ in 0..number("slices") {
                    let start = Instant::now();
                    while start.elapsed() < Duration::from_millis(number("ms")) {
                        black_box(());
                    }
                    timers::sleep(0).await;
                }
            }
            "nap" => timers::sleep(number("ms") as u32).await,
            "gauge" => {
                ACTIVE.set(ACTIVE.get() + 1);
                MOST_ACTIVE.set(MOST_ACTIVE.get().max(ACTIVE.get()));
                timers::sleep(number("ms") as u32).await;
                ACTIVE.set(ACTIVE.get() - 1);
                return Ok(answer(json!({"mostActive": MOST_ACTIVE.get()})));
            }
            "meet" => {
                MET.set(MET.get() + 1);
                while MET.get() < number("party") {
                    timers::sleep(1).await;
                }
            }
            "wait" => {
                signal.wait().await;
                return Err(ToolError::Aborted);
            }
            "reason" => {
                let reason = shown(signal.wait().await);
                logger::log(Level::Info, &format!("reason: {reason}"));
                timers::sleep(number("ms") as u32).await;
                return Err(ToolError::Aborted);
            }
            "wait-then-fail" => {
                signal.wait().await;
                return Err(failed("OWN_FAILURE", "a failure of its own"));
            }
            "wait-then-succeed" => {
                signal.wait().await;
            }
            "wait-then-panic" => {
                signal.wait().await;
                commit("panic");
            }
            "aborted" => return Err(ToolError::Aborted),
            "fail" => return Err(failed("OWN_FAILURE", "a failure of its own")),
            "value" => return Ok(answer(arguments["value"].clone())),
            "no-json" => {
                return Ok(ToolOutput {
                    value: "{".into(),
                    content: String::new(),
                });
            }
            "large" => {
                return Ok(ToolOutput {
                    value: "{}".into(),
                    content: "x".repeat(number("bytes") as usize),
                });
            }
            "log-large" => logger::log(Level::Info, &"x".repeat(number("bytes") as usize)),
            "many-paths" => {
                let directory = agents().first().and_then(|agent| take_directory(agent));
                let paths = vec![String::new(); number("paths") as usize];
                if let Some(directory) = directory {
                    let outcomes = directory.list(paths, no_options()).await;
                    return Ok(answer(json!({"outcomes": outcomes.len()})));
                }
            }
            "crowd" => {
                let directory = agents().first().and_then(|agent| take_directory(agent));
                let directory = Rc::new(directory.ok_or(failed("NO_AGENT", "no agent"))?);
                for _ in 0..number("calls") {
                    let (directory, path) =
                        (directory.clone(), "x".repeat(number("bytes") as usize));
                    drop(wit_bindgen::spawn_local(async move {
                        directory.list(vec![path], no_options()).await;
                        LISTED.set(LISTED.get() + 1);
                    }));
                }
                while LISTED.get() < number("calls") {
                    timers::sleep(1).await;
                }
            }
            "alarms" => {
                for _ in 0..number("alarms") {
                    drop(wit_bindgen::spawn_local(timers::sleep(3_600_000)));
                }
                timers::sleep(1).await;
            }
            "visible" => {
                let (tool, agent) = (arguments["tool"].as_str(), arguments["agent"].as_str());
                let visible = tools::visible(tool.unwrap_or_default(), agent.unwrap_or_default());
                return Ok(answer(json!({"visible": visible})));
            }
            "keep-caller" => {
                let count = count_events(&call.caller).await?;
                KEPT.set(Some(call.caller));
                return Ok(answer(json!({"events": count})));
            }
            "search-and-keep" => {
                attempt("authorize", &arguments, &call.caller, &signal).await;
                let found = attempt("spawn", &arguments, &call.caller, &signal).await;
                KEPT.set(Some(call.caller));
                return found.unwrap_or(Err(ToolError::Aborted)).map(answer);
            }
            "use-kept" => {
                if let Some(kept) = KEPT.take() {
                    return Ok(answer(json!({"events": count_events(&kept).await?})));
                }
            }
            other => {
                if let Some(made) = misuse(other, &arguments, &signal) {
                    return Ok(answer(made));
                }
                if let Some(outcome) = attempt(other, &arguments, &call.caller, &signal).await {
                    return outcome.map(answer);
                }
                commit_async(other).await;
            }
        }
        Ok(answer(json!({"did": verb})))
    }
}

fn define(tool: &Value) -> ToolDefinition {
    let schema = |key: &str| match &tool[key] {
        Value::Null => r#"{"type":"object"}"#.into(),
        // A text stands for itself, so that it need not be JSON.
        Value::String(text) => text.clone(),
        schema => schema.to_string(),
    };
    ToolDefinition {
        name: tool["name"].as_str().unwrap_or_default().into(),
        description: "Does what it is told.".into(),
        parameters: schema("parameters"),
        output_schema: schema("output"),
        timeout_ms: tool["timeoutMs"].as_u64().map(|ms| ms as u32),
        concurrency_safe: tool["concurrencySafe"].as_bool().unwrap_or(true),
    }
}

fn echo(call: &ToolCall, arguments: &Value) -> Value {
    json!({
        "tool": call.name,
        "callId": call.call_id,
        "arguments": arguments,
        "config": config(),
        "agents": agents(),
        "calls": CALLS.get(),
        "caller": {
            "agent": call.caller.agent(),
            "session": call.caller.session(),
            "cwd": call.caller.cwd(),
            "currentStep": call.caller.current_step(),
        },
    })
}

fn answer(value: Value) -> ToolOutput {
    let value = value.to_string();
    ToolOutput {
        content: value.clone(),
        value,
    }
}

fn failed(code: &str, message: &str) -> ToolError {
    ToolError::Failed(Failure {
        name: Some("OwnError".into()),
        code: Some(code.into()),
        message: message.into(),
    })
}

fn shown(reason: AbortReason) -> String {
    match reason {
        AbortReason::CallerError(failure) => format!("error {}", failure.message),
        AbortReason::CallerValue(value) => format!("value {value}"),
        AbortReason::Timeout(ms) => format!("timeout {ms}"),
        AbortReason::Disposed => "disposed".into(),
    }
}

async fn count_events(caller: &Caller) -> Result<usize, ToolError> {
    let limits = PageLimits {
        max_documents: 10,
        max_text_bytes: 100,
        max_page_bytes: u32::MAX,
        document_bytes: 0,
        centre_on_hit: false,
        before_seq: None,
    };
    match session_query::filter_events(caller, Vec::new(), limits).await {
        Ok(page) => Ok(page.documents.len()),
        Err(failure) => Err(ToolError::Failed(failure)),
    }
}

fn no_options() -> Options {
    Options {
        exclude_directories: Vec::new(),
        limit: 1,
        mark_ignored: false,
        hide_ignored: false,
    }
}
