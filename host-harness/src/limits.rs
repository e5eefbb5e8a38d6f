//! What one plugin instance may use up.

use std::time::Duration;

/// Limits of one mounted plugin. A profile row can change them under `limits`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Linear memory, in bytes. Profile key `memoryMiB`.
    pub memory: usize,
    /// Longest time the guest may compute without giving way to its other calls. Profile key `spinMs`.
    pub spin: Duration,
    /// How long a call may go on after its abort signal was set. Profile key `abortGraceMs`.
    pub abort_grace: Duration,
    /// Longest time for mounting, that is for `apply`, and for an answer to any other question of the host's own, which nobody can cancel.
    /// Profile key `applyMs`.
    pub apply: Duration,
    /// Longest time for unmounting, that is for `dispose`. Profile key `disposeMs`.
    pub dispose: Duration,
    /// Largest answer of one call, and largest request of one host call, in bytes. Profile key `messageMiB`.
    pub message: usize,
    /// Calls in flight at one time; further ones wait. Profile key `concurrentCalls`.
    pub concurrent_calls: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: 256 << 20,
            spin: Duration::from_secs(2),
            abort_grace: Duration::from_secs(15),
            apply: Duration::from_secs(30),
            dispose: Duration::from_secs(30),
            message: 64 << 20,
            concurrent_calls: 64,
        }
    }
}
