//! What `LocalFileSystem` reads, and what it refuses.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod confinement;
mod reading;
mod support;
