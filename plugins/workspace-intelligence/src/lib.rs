//! `workspace_symbol`: deterministic symbol search through the workspace's language servers.
//!
//! The numbers in the comments are those of the sections of `SPEC.md` beside this crate. Everything outside [`driver`] is pure; the driver
//! waits, behind traits; only the component glue knows of WIT.

pub mod arguments;
#[cfg(target_family = "wasm")]
mod component;
pub mod config;
pub mod driver;
pub mod failure;
pub mod framing;
pub mod glob;
pub mod handshake;
pub mod jsonrpc;
pub mod languages;
pub mod loose;
pub mod machine;
pub mod merge;
pub mod normalise;
pub mod outcome;
pub mod render;
pub mod retry;
pub mod server_requests;
pub mod symbol;
pub mod uri;
pub mod warmup;
