//! Runs the connections: everything that waits. What it needs of the outside stands behind [`ports::Host`], so that tests can play servers,
//! files and time.

mod all;
pub mod bell;
pub mod instance;
mod io_tasks;
pub mod open_files;
pub mod plugin;
pub mod ports;
pub mod provider;
pub mod queue;
pub mod stop;
mod teardown;
pub mod workspace;
