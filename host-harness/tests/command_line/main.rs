//! The command as people and scripts meet it: what it prints where, and how it exits.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "this is how a test fails"
)]

mod commands;
mod history;
mod history_tools;
mod output;
mod refusals;
mod support;
