//! The cases of SPEC 8 that can be decided without a real host, each named by its number.

// Clippy does not see that helpers of tests are tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod all;
mod grep;
mod grep_bounds;
mod grep_failures;
mod query;
mod slice;
mod support;
