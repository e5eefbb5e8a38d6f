//! What ignore files exclude, as git decides it.

mod above;
mod brackets;
mod dialect;
mod matchers;
mod rules;

pub(super) use matchers::Matchers;
pub(super) use rules::Rules;
