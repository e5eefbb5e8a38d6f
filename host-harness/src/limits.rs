//! What one plugin instance may use up.

use crate::grants::ProgramRequest;
use std::time::Duration;

/// Limits of one mounted plugin. A profile row can change them under `limits`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Linear memory, in bytes. Profile key `memoryMiB`.
    pub memory: usize,
    /// Longest time the guest may compute without giving way to its other calls. Profile key `spinMs`.
    pub spin: Duration,
    /// How long a call may go on after its abort signal was set; at least as long as its programs may take to end. Profile key `abortGraceMs`.
    pub abort_grace: Duration,
    /// Longest time for mounting, that is for `apply`, and for an answer to any other question of the host's own, which nobody can cancel.
    /// Profile key `applyMs`.
    pub apply: Duration,
    /// Longest time for unmounting, that is for `dispose`; at least as long as its programs may take to end. Profile key `disposeMs`.
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

/// What a call may need beyond the end of its programs, to notice and to answer.
const MARGIN: Duration = Duration::from_secs(5);

impl Limits {
    /// The same, with grace enough for a call, and for the unmounting, to end each of these programs in the time that the deployer gave it:
    /// otherwise the grace of one place would cut the grace of another short, with a trap.
    pub(crate) fn covering(&self, programs: &[ProgramRequest]) -> Self {
        let longest = programs.iter().map(|program| program.ending).max();
        let least = longest.map_or(Duration::ZERO, |ending| ending.saturating_add(MARGIN));
        Self {
            abort_grace: self.abort_grace.max(least),
            dispose: self.dispose.max(least),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grants::requests;

    #[test]
    fn the_graces_cover_what_the_programs_may_take() {
        let servers = |server: serde_json::Value| serde_json::json!({"servers": {"a": {"command": "a"}, "b": server}});
        let limits = Limits::default();
        let covering =
            |server| limits.covering(&requests("dsh-workspace-intelligence", &servers(server)));
        assert_eq!(covering(serde_json::json!({"command": "b"})), limits);
        let slow = covering(
            serde_json::json!({"command": "b", "shutdownTimeoutMs": 60_000, "killGraceMs": 10_000}),
        );
        assert_eq!(
            (slow.abort_grace, slow.dispose),
            (Duration::from_secs(85), Duration::from_secs(85))
        );
        let endless = covering(serde_json::json!({"command": "b", "killGraceMs": u64::MAX}));
        assert!(endless.abort_grace > Duration::from_secs(1 << 32));
        assert_eq!(limits.covering(&[]), limits);
    }
}
