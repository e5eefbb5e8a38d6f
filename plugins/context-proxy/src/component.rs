//! The component: the WIT contract on one side, the service traits on the other. No decision is made here.

mod bindings {
    #![allow(missing_docs, unsafe_code, clippy::all)]
    wit_bindgen::generate!({
        world: "context-proxy",
        path: "../../wit",
    });
    use super::Component;
    export!(Component);
}

use crate::config::{Config, ConfigError};
use crate::definitions::{self, Tool};
use crate::driver;
use crate::errors::{CallError, Failure};
use crate::services::{self, Access, Caller, Exit, Filter, PageLimits, Services, Surface};
use bindings::dsh::ctx::abort::AbortSignal;
use bindings::dsh::ctx::call::Caller as WitCaller;
use bindings::dsh::ctx::logger::{self, Level};
use bindings::dsh::ctx::types::Failure as WitFailure;
use bindings::dsh::ctx::{session_query, spill, subprocess};
use bindings::exports::dsh::ctx::lifecycle::{self, Manifest};
use bindings::exports::dsh::ctx::tool_provider::{
    self, CallCard, ToolCall, ToolDefinition, ToolError, ToolOutput,
};
use std::cell::Cell;
use wit_bindgen::{StreamReader, StreamResult};

/// How many bytes one read of standard output asks for.
const READ_BYTES: usize = crate::rg_json::MAX_CHUNK;

struct Component;

thread_local! {
    /// What `apply` accepted last.
    static CONFIG: Cell<Config> = Cell::new(Config::default());
}

impl lifecycle::Guest for Component {
    fn describe() -> Manifest {
        Manifest {
            name: "dsh-context-proxy".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            summary: env!("CARGO_PKG_DESCRIPTION").to_owned(),
            required: vec!["tools".to_owned()],
            optional: vec!["sessionQuery".to_owned(), "subprocess".to_owned()],
            config_schema: Config::SCHEMA.to_owned(),
        }
    }

    async fn apply(config: String) -> Result<(), WitFailure> {
        let loaded = Config::load(&config).map_err(|error| WitFailure {
            name: Some(ConfigError::NAME.to_owned()),
            code: Some(ConfigError::CODE.to_owned()),
            message: error.to_string(),
        })?;
        for key in &loaded.unknown_keys {
            logger::log(Level::Warn, &format!("unknown configuration key \"{key}\""));
        }
        CONFIG.set(loaded.config);
        Ok(())
    }

    async fn dispose() -> Result<(), WitFailure> {
        // Nothing outlives a call: each one ends what it started.
        Ok(())
    }
}

impl tool_provider::Guest for Component {
    fn definitions() -> Vec<ToolDefinition> {
        let define = |tool: Tool| ToolDefinition {
            name: tool.name().to_owned(),
            description: tool.description().to_owned(),
            parameters: definitions::parameters(tool).to_owned(),
            output_schema: definitions::output_schema(tool).to_owned(),
            timeout_ms: tool.timeout_ms(),
            // All three only read.
            concurrency_safe: true,
        };
        Tool::ALL.into_iter().map(define).collect()
    }

    fn present_call(name: String, arguments: String) -> Option<CallCard> {
        definitions::card(&name, &arguments).map(|card| CallCard {
            title: card.title,
            kind: card.kind.to_owned(),
        })
    }

    async fn execute(call: ToolCall, signal: AbortSignal) -> Result<ToolOutput, ToolError> {
        let caller = Caller {
            has_session: call.caller.session().is_some(),
            cwd: call.caller.cwd(),
            current_step: call.caller.current_step(),
        };
        let services = Services {
            session_query: &HostSessionQuery(&call.caller),
            spill: &HostSpill(&call.caller),
            subprocess: &HostSubprocess,
            signal: &signal,
        };
        let config = CONFIG.get();
        match driver::execute(&call.name, &call.arguments, config, &caller, &services).await {
            Ok(answer) => Ok(ToolOutput {
                value: answer.clone(),
                content: answer,
            }),
            Err(CallError::Aborted) => Err(ToolError::Aborted),
            Err(CallError::Failed(error)) => {
                if let Some(detail) = error.detail() {
                    logger::log(Level::Warn, &format!("{}: {error}: {detail}", call.name));
                }
                Err(ToolError::Failed(Failure::from(&error).into()))
            }
        }
    }
}

impl From<Failure> for WitFailure {
    fn from(failure: Failure) -> Self {
        WitFailure {
            name: failure.name,
            code: failure.code,
            message: failure.message,
        }
    }
}

impl From<WitFailure> for Failure {
    fn from(failure: WitFailure) -> Self {
        Failure {
            name: failure.name,
            code: failure.code,
            message: failure.message,
        }
    }
}

impl services::Signal for AbortSignal {
    fn aborted(&self) -> bool {
        AbortSignal::aborted(self).is_some()
    }

    async fn wait(&self) {
        AbortSignal::wait(self).await;
    }
}

struct HostSessionQuery<'a>(&'a WitCaller);

impl services::SessionQuery for HostSessionQuery<'_> {
    fn available(&self) -> bool {
        session_query::available()
    }

    async fn filter_events(
        &self,
        filters: Vec<Filter>,
        limits: PageLimits,
    ) -> Result<services::Page, Failure> {
        let filters: Vec<_> = filters.into_iter().map(wit_filter).collect();
        let limits = session_query::PageLimits {
            max_documents: limits.max_documents,
            max_text_bytes: limits.max_text_bytes,
            max_page_bytes: limits.max_page_bytes,
            document_bytes: limits.document_bytes,
            centre_on_hit: limits.centre_on_hit,
            before_seq: limits.before_seq,
        };
        let page = session_query::filter_events(self.0, filters, limits).await?;
        let document = |document: session_query::Document| services::Document {
            seq: document.seq,
            event_type: document.event_type,
            text: document.text,
            text_bytes: document.text_bytes,
        };
        Ok(services::Page {
            documents: page.documents.into_iter().map(document).collect(),
            next_seq: page.next_seq,
        })
    }

    async fn read_event(
        &self,
        seq: u64,
        before: u32,
        after: u32,
        max_neighbour_bytes: u32,
    ) -> Result<services::Window, Failure> {
        // Safe integers, so the conversion is exact.
        let (seq, before, after) = (seq as f64, f64::from(before), f64::from(after));
        let window =
            session_query::read_event(self.0, seq, before, after, max_neighbour_bytes).await?;
        let event = |event: session_query::RawEvent| services::RawEvent {
            seq: event.seq,
            event_type: event.event_type,
            text: event.text,
            text_cut: event.text_cut,
            data: event.data,
        };
        Ok(services::Window {
            target: window.target,
            start_seq: window.start_seq,
            end_seq: window.end_seq,
            events: window.events.into_iter().map(event).collect(),
        })
    }
}

fn wit_filter(filter: Filter) -> session_query::EventFilter {
    use session_query::EventFilter;
    match filter {
        Filter::Seq { from, to } => EventFilter::Seq(session_query::Bounds {
            from: from.map(|seq| seq as f64),
            to: to.map(|seq| seq as f64),
        }),
        Filter::Types(types) => EventFilter::Types(types),
        Filter::Surfaces(surfaces) => {
            let surface = |surface| match surface {
                Surface::Current => session_query::Surface::Current,
                Surface::Shadowed => session_query::Surface::Shadowed,
                Surface::LogOnly => session_query::Surface::LogOnly,
            };
            EventFilter::Surfaces(surfaces.into_iter().map(surface).collect())
        }
        Filter::Text(text) => EventFilter::Text(text),
    }
}

struct HostSpill<'a>(&'a WitCaller);

impl services::Spill for HostSpill<'_> {
    async fn authorize(&self, path: &str) -> Result<Access, Failure> {
        Ok(match spill::authorize(self.0, path.to_owned()).await? {
            spill::Access::Granted(path) => Access::Granted(path),
            spill::Access::Vanished => Access::Vanished,
            spill::Access::Denied => Access::Denied,
        })
    }
}

struct HostSubprocess;

impl services::Subprocess for HostSubprocess {
    type Process = HostProcess;

    fn available(&self) -> bool {
        subprocess::available()
    }

    async fn resolve_rg(&self) -> Result<String, Failure> {
        Ok(subprocess::resolve_executable("rg".to_owned(), Vec::new()).await?)
    }

    async fn spawn(&self, spec: services::SpawnSpec) -> Result<HostProcess, Failure> {
        let spec = subprocess::SpawnSpec {
            argv: spec.argv,
            cwd: spec.cwd,
            stdin: false,
            stderr_max_bytes: spec.stderr_max_bytes,
            grace_ms: spec.grace_ms,
            env: Vec::new(),
        };
        let process = subprocess::spawn(spec).await?;
        let stdout = Some(process.take_stdout());
        Ok(HostProcess { process, stdout })
    }
}

struct HostProcess {
    process: subprocess::Process,
    /// None once the stream has ended.
    stdout: Option<StreamReader<u8>>,
}

impl services::Process for HostProcess {
    async fn read(&mut self) -> Option<Vec<u8>> {
        while let Some(stdout) = &mut self.stdout {
            let (result, chunk) = stdout.read(Vec::with_capacity(READ_BYTES)).await;
            if matches!(result, StreamResult::Dropped) {
                self.stdout = None;
            }
            if !chunk.is_empty() {
                return Some(chunk);
            }
        }
        None
    }

    fn stderr_tail(&self) -> String {
        self.process.stderr_tail()
    }

    async fn done(&self) -> Result<Exit, Failure> {
        let exit = self.process.done().await?;
        Ok(Exit {
            code: exit.code,
            signal: exit.signal,
        })
    }

    fn terminate(&self) {
        self.process.terminate();
    }

    async fn gone(&self) {
        // Without a bound it only resolves with true.
        self.process.wait_for_exit(None).await;
    }
}
