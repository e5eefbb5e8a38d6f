//! The tool `workspace_symbol` through the mounted component: real processes, the tool registry, and what goes wrong between them. Numbers in
//! names are the cases of the plugin's SPEC 20 that are decided where the host is.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "this is how a test fails"
)]

mod amplification;
mod cancelling;
mod cases;
mod configuration;
mod examples;
mod faults;
mod journal;
mod mounting;
mod processes;
mod real;
mod workspaces;
