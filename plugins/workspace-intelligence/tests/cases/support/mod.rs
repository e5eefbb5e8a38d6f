//! A world of paper: a clock that is moved by hand, servers that are scripts, files that are a list. Nothing here waits in real time.

pub mod fixtures;
pub mod ports;
pub mod server;
pub mod world;

pub use fixtures::*;
pub use server::{Script, Server};
pub use world::World;
