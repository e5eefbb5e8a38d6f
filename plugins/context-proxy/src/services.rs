//! What the tools need from the world, as small traits: the component implements them over the WIT contract, tests with fakes.
//!
//! The types mirror the contract (`wit/session-query.wit`, `wit/spill.wit`, `wit/subprocess.wit`); only what the tools use is here.

use crate::errors::Failure;
use std::future::Future;

/// How an event stands to what the model sees now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    /// Part of the current model context.
    Current,
    /// Replaced by a later event.
    Shadowed,
    /// Never part of the model context.
    LogOnly,
}

impl Surface {
    /// All values, in the order in which the schema lists them.
    pub const ALL: [Surface; 3] = [Surface::Current, Surface::Shadowed, Surface::LogOnly];

    /// The name that the model uses.
    pub fn name(self) -> &'static str {
        match self {
            Surface::Current => "current",
            Surface::Shadowed => "shadowed",
            Surface::LogOnly => "log-only",
        }
    }

    /// The surface of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|surface| surface.name() == name)
    }
}

/// One condition of a query; conditions are combined by AND.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// By sequence number, both bounds inclusive.
    Seq {
        /// The least, if bounded.
        from: Option<u64>,
        /// The greatest, if bounded.
        to: Option<u64>,
    },
    /// By event type, any of these.
    Types(Vec<String>),
    /// By surface, any of these.
    Surfaces(Vec<Surface>),
    /// By literal text.
    Text(String),
}

/// How much a query may return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLimits {
    /// The most documents.
    pub max_documents: u32,
    /// The most bytes of text of each.
    pub max_text_bytes: u32,
    /// The most bytes of all together as JSON: their texts and types as strings, and `document_bytes` more for each.
    pub max_page_bytes: u32,
    /// See `max_page_bytes`.
    pub document_bytes: u32,
    /// Whether a cut text is centred on the first hit.
    pub centre_on_hit: bool,
    /// Events from this sequence number on are left out.
    pub before_seq: Option<u64>,
}

/// One event that has text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The sequence number.
    pub seq: u64,
    /// The event type.
    pub event_type: String,
    /// The text, cut to the limit.
    pub text: String,
    /// Length in bytes of the whole text.
    pub text_bytes: u64,
}

/// What a query returned.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// The matches in ascending order.
    pub documents: Vec<Document>,
    /// The sequence number of the first match that was not returned.
    pub next_seq: Option<u64>,
}

/// One event of a window.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawEvent {
    /// The sequence number.
    pub seq: u64,
    /// The event type.
    pub event_type: String,
    /// The text; whole for the target.
    pub text: String,
    /// Whether the text was cut.
    pub text_cut: bool,
    /// The event's data as JSON, for a target without text.
    pub data: Option<String>,
}

/// An event and what stands around it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Window {
    /// The sequence number that was asked for.
    pub target: u64,
    /// The sequence number of the first event.
    pub start_seq: u64,
    /// The sequence number of the last event.
    pub end_seq: u64,
    /// All events from first to last.
    pub events: Vec<RawEvent>,
}

/// `ctx.sessionQuery` over the caller's own session.
pub trait SessionQuery {
    /// Whether the service is there now.
    fn available(&self) -> bool;
    /// Events that satisfy all filters.
    fn filter_events(
        &self,
        filters: Vec<Filter>,
        limits: PageLimits,
    ) -> impl Future<Output = Result<Page, Failure>>;
    /// One event with `before` and `after` raw neighbours, whose texts are cut to `max_neighbour_bytes`.
    fn read_event(
        &self,
        seq: u64,
        before: u32,
        after: u32,
        max_neighbour_bytes: u32,
    ) -> impl Future<Output = Result<Window, Failure>>;
}

/// What the host says of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// The caller may search this file; links are resolved in the path.
    Granted(String),
    /// The path lies among the caller's spill files, but the file is gone.
    Vanished,
    /// Not a spill file of the caller.
    Denied,
}

/// The host's judgement on spill files.
pub trait Spill {
    /// Judges an absolute path for the caller.
    fn authorize(&self, path: &str) -> impl Future<Output = Result<Access, Failure>>;
}

/// How to start a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpawnSpec {
    /// The program and its arguments, verbatim.
    pub argv: Vec<String>,
    /// The working directory, an absolute path.
    pub cwd: String,
    /// How many bytes of standard error are kept.
    pub stderr_max_bytes: u64,
    /// Milliseconds between the request to end and the kill.
    pub grace_ms: u32,
}

/// How a program ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exit {
    /// The exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<String>,
}

/// A running program.
pub trait Process {
    /// The next chunk of standard output; none at its end.
    fn read(&mut self) -> impl Future<Output = Option<Vec<u8>>>;
    /// The kept tail of standard error.
    fn stderr_tail(&self) -> String;
    /// Resolves when the program has ended, or with the reason why it could not start.
    fn done(&self) -> impl Future<Output = Result<Exit, Failure>>;
    /// Asks the program and its descendants to end, and kills them after the grace.
    fn terminate(&self);
    /// Resolves once none of its processes is left.
    fn gone(&self) -> impl Future<Output = ()>;
}

/// `ctx.subprocess`.
pub trait Subprocess {
    /// A running program of this service.
    type Process: Process;
    /// Whether the service is there now.
    fn available(&self) -> bool;
    /// Where the granted ripgrep is.
    fn resolve_rg(&self) -> impl Future<Output = Result<String, Failure>>;
    /// Starts a program.
    fn spawn(&self, spec: SpawnSpec) -> impl Future<Output = Result<Self::Process, Failure>>;
}

/// The abort signal of one call.
pub trait Signal {
    /// Whether the call is to end.
    fn aborted(&self) -> bool;
    /// Resolves when the call is to end; otherwise never.
    fn wait(&self) -> impl Future<Output = ()>;
}

/// Everything that one call may use.
#[derive(Debug, Clone, Copy)]
pub struct Services<'a, Q, S, P, A> {
    /// The session query service.
    pub session_query: &'a Q,
    /// The judge of spill files.
    pub spill: &'a S,
    /// The subprocess service.
    pub subprocess: &'a P,
    /// The call's signal.
    pub signal: &'a A,
}

/// Who calls, as far as the tools need to know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    /// Whether the call comes from an agent with a session.
    pub has_session: bool,
    /// The working directory of that session.
    pub cwd: Option<String>,
    /// The sequence number at which the step that makes this call began.
    pub current_step: Option<u64>,
}
