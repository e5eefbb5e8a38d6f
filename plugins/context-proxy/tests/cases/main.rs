//! The cases of SPEC 8 that can be decided without a real host, each named by its number.

mod all;
mod grep;
mod query;
mod slice;
mod support;
