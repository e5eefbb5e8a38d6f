//! The services of `ctx` for this machine: what a DSH plugin may ask of its host, without any WebAssembly.

pub mod session_query;
