//! The commands that serve on standard input and output: `mcp` and `bridge`, by their raw lines.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "this is how a test fails"
)]

mod bridge;
mod ends;
mod mcp;
mod server;
