//! The way into a running DSH: the host speaks newline JSON with a small plugin of that DSH, mounts components for it, and has their imports
//! answered by the services there. `dsh-plugin/PROTOCOL.md` documents the protocol.
//!
//! Bridged are `ctx.fs`, `ctx.subprocess` and `ctx.sessionQuery`. The listing of workspace directories and the judgement of spill files stay
//! with the host, see the protocol's section on what is local.

mod agents;
mod fs;
mod mounting;
mod peer;
mod process;
mod requests;
mod serve;
mod session_query;
mod subprocess;
mod wire;

pub use crate::lines::MAX_LINE;
pub use serve::{MAX_CALLS, ServeError, serve};
pub use wire::PROTOCOL;
