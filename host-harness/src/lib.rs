//! A reference host for plugins of the DeepSeek Harness (DSH) that are WebAssembly components of `dsh:ctx@0.1.0`.

mod abort;
mod agents;
#[allow(
    missing_docs,
    unsafe_code,
    clippy::all,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]
mod bindings;
pub mod bundled;
mod component;
mod ctx;
mod dispatch;
mod engine;
mod failure;
mod file_references;
mod host;
mod instance;
mod limits;
mod permissions;
mod plugin;
mod plugin_tool;
pub mod profile;
pub mod registry;
pub mod schema;
mod services;
mod stderr;
mod store;
mod tool;

pub use abort::{AbortController, AbortReason, AbortSignal};
pub use agents::AgentSpec;
pub use component::{CTX_VERSION, LoadError, LoadedComponent};
pub use ctx::call::Caller;
pub use ctx::logger::{Level, LogSink, TracingSink};
pub use ctx::workspace::Directory;
pub use dispatch::CallRequest;
pub use engine::{CodeCache, Engine};
pub use failure::{Failure, codes};
pub use file_references::{AtToken, Candidate, Kind, LimitedBy, SearchError, SearchResult};
pub use host::{Host, HostOptions, PluginRow, RowState};
pub use limits::Limits;
pub use permissions::{Permission, permissions};
pub use plugin::{Manifest, TRAP_LIMIT, TRAP_PERIOD};
pub use services::{LocalWorkspaces, Services, Workspaces, names};
pub use tool::{CallCard, Tool, ToolDefinition, ToolError, ToolInvocation, ToolOutput, ToolResult};
