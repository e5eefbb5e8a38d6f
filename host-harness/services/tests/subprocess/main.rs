//! Processes of this machine, without and with a supervisor.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod endings;
mod granted;
mod letting_go;
mod pipes;
mod requests;
mod sudden_death;
mod support;
mod surroundings;
mod trees;
