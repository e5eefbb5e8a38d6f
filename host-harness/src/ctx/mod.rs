//! What the host gives to plugins: one module for each interface of `dsh:ctx` that a plugin may import.

pub mod abort;
pub mod call;
pub mod fs;
pub mod logger;
pub mod session_query;
pub mod spill;
pub mod subprocess;
mod timers;
mod tools;
pub mod workspace;

mod env;
mod history;
mod lanes;

pub(crate) use env::PluginEnv;
pub(crate) use lanes::Lanes;
