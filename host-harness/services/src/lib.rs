//! The services of `ctx` for this machine: what a DSH plugin may ask of its host, without any WebAssembly.

pub mod fs;
pub mod json;
pub mod session_query;
pub mod spill;
pub mod subprocess;
pub mod workspace;
