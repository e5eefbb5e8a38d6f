//! A reference host for plugins of the DeepSeek Harness (DSH) that are WebAssembly components of `dsh:ctx@0.1.0`.
//!
//! A [`Host`] mounts components, is `ctx` for them, and answers for them: tools through [`Host::call`], `@path` completion through
//! [`Host::list_file_references`], prompt sections through [`Host::prompt`]. It runs inside a tokio runtime.
//!
//! ```
//! use dsh_host::{AbortSignal, AgentSpec, Host, HostOptions, LoadedComponent, PluginRow, bundled};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # std::fs::write(folder.path().join("main.rs"), "")?;
//! # let folder = folder.path().to_str().ok_or("a path that is no text")?;
//! let host = Host::new(HostOptions::default())?;
//! let bundled = bundled::find("dsh-file-reference-local").ok_or("not bundled")?;
//! let component = LoadedComponent::new(host.engine(), bundled.bytes)?;
//! host.mount(PluginRow::new("files", component)).await?;
//! host.create_agent(AgentSpec::new("agent-1", folder)).await?;
//!
//! let found = host.list_file_references("agent-1", "main", &AbortSignal::never()).await;
//! for candidate in found.map_err(|error| error.into_failure())? {
//!     println!("{}", candidate.path);
//! #   assert_eq!(candidate.path, "main.rs");
//! }
//! host.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! Services of this machine are provided through [`Host::services`]; without them a plugin that requires one stays pending.

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
pub mod bridge;
pub mod bundled;
mod canonical_value;
mod component;
mod ctx;
mod dispatch;
mod engine;
mod failure;
mod file_references;
pub mod grants;
mod guards;
mod host;
mod instance;
mod limits;
pub mod lines;
mod mountings;
mod permissions;
mod plugin;
mod plugin_tool;
pub mod profile;
pub mod registry;
mod rows;
pub mod schema;
mod services;
mod stderr;
mod store;
mod tool;

pub use abort::{AbortController, AbortReason, AbortSignal};
pub use agents::AgentSpec;
pub use canonical_value::CanonicalValue;
pub use component::{CTX_VERSION, LoadError, LoadedComponent};
pub use ctx::call::Caller;
pub use ctx::logger::{Level, LogSink, TracingSink};
pub use ctx::workspace::Directory;
pub use dispatch::CallRequest;
pub use engine::{CodeCache, Engine};
pub use failure::{Failure, codes};
pub use file_references::{
    AtToken, Candidate, Kind, LimitedBy, SearchError, SearchResult, Section,
};
pub use host::{Host, HostOptions};
pub use limits::Limits;
pub use permissions::{Permission, permissions};
pub use plugin::{Manifest, TRAP_LIMIT, TRAP_PERIOD};
pub use rows::{PluginRow, RowState};
pub use services::{LocalWorkspaces, Services, Workspaces, names};
pub use tool::{CallCard, Tool, ToolDefinition, ToolError, ToolInvocation, ToolOutput, ToolResult};
