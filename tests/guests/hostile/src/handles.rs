//! Handles that the host never gave, or gave to somebody else.
#![allow(
    unsafe_code,
    reason = "a guest of another language needs no leave to make a handle up"
)]

use crate::bindings::dsh::ctx::abort::AbortSignal;
use crate::bindings::dsh::ctx::call::Caller;
use serde_json::{Value, json};

/// Uses a handle as it is told; none when the verb is not of this kind.
pub fn misuse(verb: &str, arguments: &Value, signal: &AbortSignal) -> Option<Value> {
    let handle = arguments["handle"].as_u64().unwrap_or_default() as u32;
    match verb {
        "forge-caller" => {
            let forged = unsafe { Caller::from_handle(handle) };
            Some(json!({"session": forged.session()}))
        }
        "signal-as-caller" => {
            let forged = unsafe { Caller::from_handle(signal.handle()) };
            Some(json!({"session": forged.session()}))
        }
        "drop-twice" => {
            drop(unsafe { AbortSignal::from_handle(signal.handle()) });
            drop(unsafe { AbortSignal::from_handle(signal.handle()) });
            Some(json!({}))
        }
        _ => None,
    }
}
