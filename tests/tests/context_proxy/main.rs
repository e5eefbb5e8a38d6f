//! The history plugin in its host, on real logs, real files and a real ripgrep. The numbers are those of SPEC 8 in `plugins/context-proxy`;
//! what the plugin decides alone is tested there.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "this is how a test fails"
)]

mod bad_input;
mod boundary;
mod citations;
mod compressed_logs;
mod damaged_logs;
mod other_logs;
mod processes;
mod real_rg;
mod services;
mod spill_files;
mod texts;
mod writers;
