//! The numbered cases of SPEC 20, and what lies around them. A test is named after the case that it decides.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod arguments;
mod cancellation;
mod configuration;
mod configuration_numbers;
mod determinism;
mod examples;
mod framing;
mod handshake;
mod lifetime;
mod machine;
mod mounting;
mod open_files;
mod outcomes;
mod ranking;
mod rendering;
mod responses;
mod results;
mod server_requests;
mod support;
mod uris;
mod warm_up;
