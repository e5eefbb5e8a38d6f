//! When a fresh server may be asked for the first time (SPEC 12).
//!
//! Most servers answer a query that comes right after `initialized` with nothing, as if there were no such symbol. Waiting until they have
//! been quiet for a moment makes the first answer complete.

use dsh_guest_support::js_json;
use serde_json::Value;
use std::collections::BTreeSet;

/// How long a server must have been quiet, in milliseconds.
pub const QUIET_MS: u64 = 500;
/// At this age a server that never reported progress is asked once more after an empty answer, in milliseconds.
pub const SECOND_LOOK_MS: u64 = 1_500;
/// Most progress tokens that are kept track of.
const MAX_TOKENS: usize = 1_024;
/// The longest of them, as JSON, in bytes (SPEC 12.1).
const MAX_TOKEN_BYTES: usize = 1_024;

/// The warm-up of one process. Times are milliseconds of one monotonic clock.
#[derive(Debug)]
pub struct Warmup {
    limit: u64,
    initialized_at: Option<u64>,
    open: BTreeSet<String>,
    saw_progress: bool,
    quiet_since: u64,
    over: bool,
    revision: u64,
}

impl Warmup {
    /// A warm-up of at most `limit_ms` after `initialized`; 0 for none.
    pub fn new(limit_ms: u32) -> Self {
        Self {
            limit: u64::from(limit_ms),
            initialized_at: None,
            open: BTreeSet::new(),
            saw_progress: false,
            quiet_since: 0,
            over: limit_ms == 0,
            revision: 0,
        }
    }

    /// Whether the deployer wants a warm-up at all.
    pub fn enabled(&self) -> bool {
        self.limit > 0
    }

    /// `initialized` was sent.
    pub fn initialized(&mut self, now: u64) {
        self.initialized_at = Some(now);
        self.quiet_since = self.quiet_since.max(now);
        self.revision += 1;
    }

    /// A `$/progress` notification came.
    pub fn progress(&mut self, params: &Value, now: u64) {
        let token = match params.get("token") {
            Some(token @ (Value::String(_) | Value::Number(_))) => js_json::stringify(token),
            _ => return,
        };
        if token.len() > MAX_TOKEN_BYTES {
            return;
        }
        match params.pointer("/value/kind").and_then(Value::as_str) {
            Some("begin" | "report") => {
                self.saw_progress = true;
                if self.open.len() < MAX_TOKENS {
                    self.open.insert(token);
                }
            }
            Some("end") => {
                if self.open.remove(&token) {
                    self.quiet_since = now;
                }
            }
            _ => return,
        }
        self.revision += 1;
    }

    /// Changes whenever [`Warmup::wait`] may have a new answer for the same time.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// How many milliseconds the first query is to wait before this is asked again; `None` when it may be sent.
    pub fn wait(&self, now: u64) -> Option<u64> {
        let initialized_at = self.initialized_at?;
        let end = initialized_at + self.limit;
        if self.over || now >= end {
            return None;
        }
        let quiet_at = if self.open.is_empty() {
            self.quiet_since + QUIET_MS
        } else {
            end
        };
        (now < quiet_at).then(|| quiet_at.min(end) - now)
    }

    /// The first query is being sent; nothing is held back any more.
    pub fn finish(&mut self) {
        self.over = true;
    }

    /// How many milliseconds after an empty first answer the query is to be sent once more, if at all.
    pub fn second_look(&self, now: u64) -> Option<u64> {
        let initialized_at = self.initialized_at?;
        let at = initialized_at + SECOND_LOOK_MS.min(self.limit);
        (!self.saw_progress && now < at).then(|| at - now)
    }

    /// Whether the server says that it is still at work.
    pub fn indexing(&self) -> bool {
        self.enabled() && !self.open.is_empty()
    }
}
