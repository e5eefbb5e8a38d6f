//! The components at work in the published DSH: real builds of it, a real `dsh-host`, and a model on this machine that says what the test wants.
//!
//! Without a build of DSH the tests say so and are counted as passed over; with `DSH_REQUIRE_REAL_TOOLS=1` they fail. `just tools-dsh` installs
//! both builds, pinned.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "this is how a test fails"
)]

mod builds;
mod completion;
mod examples;
mod history;
mod lifecycle;
mod model;
mod presentation;
mod symbols;
mod turn;
