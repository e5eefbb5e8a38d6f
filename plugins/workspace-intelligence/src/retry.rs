//! What is tried again, and when (SPEC 14).

use crate::jsonrpc::{CONTENT_MODIFIED, RpcError, SERVER_CANCELLED};

/// How often one call of a server may meet a lost connection: the second loss is its answer.
pub const MAX_CONNECTIONS: u32 = 2;

/// The pauses before a query is sent again to the same process, in milliseconds.
pub const PAUSES_MS: [u32; 3] = [100, 200, 400];

/// Whether the server only asks to be asked again.
pub fn is_passing(error: &RpcError) -> bool {
    matches!(error.code, Some(CONTENT_MODIFIED | SERVER_CANCELLED))
}
