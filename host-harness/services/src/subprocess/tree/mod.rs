//! One process tree and what keeps it: the part that holds the child, watches it, and ends it.
//!
//! A keeper is a plain blocking loop that owns one tree. It runs on a thread of the host, where it knows the child's
//! process group, or as the main thread of a supervisor process, where it knows every descendant and outlives the host.
//! Either way the host talks to it over one socket, and the socket's end is the order to kill.

mod keeper;
mod ladder;
mod launch;
mod members;
#[cfg(target_os = "linux")]
mod procfs;
mod report;

pub(super) use keeper::{TERMINATE, keep};
pub(super) use launch::{ChildStdio, Launch, send_stdio};
pub(super) use members::{Reach, group_is_gone};
pub(super) use report::{Ending, Report};
