//! What the fuzzer runs. The targets are shared with `tests/tests/corpora.rs`, which replays every input that is kept.
//!
//! Pure parts of the host are taken from its sources: the host itself needs wasmtime, which the fuzzer need not build.

#[path = "../../../host-harness/src/schema/fits.rs"]
mod fits;
#[allow(dead_code, reason = "the host uses the rest")]
#[path = "../../../host-harness/src/grants.rs"]
pub mod grants;
#[allow(dead_code, reason = "the host uses the rest")]
#[path = "../../../host-harness/src/limits.rs"]
pub mod limits;
#[allow(dead_code, reason = "the host uses the rest")]
#[path = "../../../host-harness/src/profile.rs"]
pub mod profile;
#[path = "../../../host-harness/src/schema/violations.rs"]
mod violations;

/// The host's judgement of arguments and answers.
pub mod schema {
    pub use crate::fits::fits;
    pub use crate::violations::violations;
}

pub mod targets;
