//! The few things that the plugin components share.

pub mod args;
pub mod js_json;
pub mod js_space;
pub mod utf16;
