//! The workspace directory against real file systems. Every test runs with both resolvers, and `without_openat2` runs
//! all of them again in a process that the system call is forbidden to.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers outside of test functions fail a test in the same way"
)]

mod confinement;
mod git_agreement;
mod ignore_files;
mod kinds;
mod limits;
mod permissions;
mod properties;
mod races;
mod support;
#[cfg(target_os = "linux")]
mod without_openat2;
