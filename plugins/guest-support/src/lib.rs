//! The few things that the plugin components share.
