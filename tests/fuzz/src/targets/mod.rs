//! One function for each target. It takes any bytes, and panics when a promise about them is broken.

mod arguments;
mod framing;
mod json_rpc;
mod logs;
mod profiles;
mod ranking;
mod session_log;
mod text_filter;
mod uri;

pub use arguments::arguments;
pub use framing::framing;
pub use json_rpc::json_rpc;
pub use profiles::profile;
pub use ranking::ranking;
pub use session_log::session_log;
pub use text_filter::text_filter;
pub use uri::uri;

/// What one target does with its input. It panics when something is wrong.
pub type Target = fn(&[u8]);

/// Every target by the name of its corpus.
#[allow(dead_code, reason = "the fuzzer runs one target at a time")]
pub const ALL: [(&str, Target); 8] = [
    ("arguments", arguments),
    ("framing", framing),
    ("json_rpc", json_rpc),
    ("profile", profile),
    ("ranking", ranking),
    ("session_log", session_log),
    ("text_filter", text_filter),
    ("uri", uri),
];

/// Cuts bytes into pieces of 1 to 16 bytes, by a rule that `seed` decides.
fn pieces(bytes: &[u8], seed: u8) -> Vec<&[u8]> {
    let (mut rest, mut state) = (bytes, u32::from(seed));
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (piece, after) = rest.split_at(rest.len().min((state >> 28) as usize + 1));
        pieces.push(piece);
        rest = after;
    }
    pieces
}
