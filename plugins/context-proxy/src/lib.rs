//! Reads persisted session history back on demand, as a DSH plugin component.
//!
//! Three model-facing tools: `context_query` lists events, `context_slice` opens one with its neighbours, `context_grep` searches a spill
//! file with ripgrep or, without one, the session. What they promise is in `SPEC.md`; code and tests cite its numbers.
//!
//! The crate is a pure core that any `cargo test` runs, behind the traits of [`services`]. Only the module `component`, built for
//! WebAssembly alone, knows the WIT contract.

pub mod arguments;
pub mod config;
pub mod definitions;
pub mod driver;
pub mod errors;
pub mod grep;
pub mod grep_session;
pub mod grep_spill;
pub mod output;
pub mod query;
pub mod rg_json;
pub mod rg_only_matching;
pub mod rg_run;
pub mod services;
pub mod slice;
pub mod text_cut;

#[cfg(target_family = "wasm")]
mod component;
