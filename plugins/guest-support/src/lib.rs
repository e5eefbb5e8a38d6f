//! The few things that the plugin components share.

pub mod js_space;
pub mod utf16;
