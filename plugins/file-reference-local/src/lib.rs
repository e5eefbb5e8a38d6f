//! Bounded fuzzy completion of @path mentions, as a DSH plugin component.
//!
//! Everything here but the component itself is free of I/O and of bindings. What it does is written down in `SPEC.md`.

pub mod builder;
#[cfg(target_family = "wasm")]
mod component;
pub mod config;
pub mod grammar;
pub mod index;
pub mod listing;
pub mod names;
pub mod prompt;
pub mod rank;
mod score;
pub mod search;
pub mod service;
pub mod suggest;
pub mod top;
pub mod workspace;
