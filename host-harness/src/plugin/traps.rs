//! When a plugin has trapped too often.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Traps within [`TRAP_PERIOD`] after which a plugin is given up.
pub const TRAP_LIMIT: usize = 5;
/// See [`TRAP_LIMIT`].
pub const TRAP_PERIOD: Duration = Duration::from_secs(60);

/// When the plugin trapped, latest last.
#[derive(Default)]
pub(crate) struct TrapRecord(VecDeque<Instant>);

impl TrapRecord {
    /// Notes a trap and says whether that was one too many.
    pub(crate) fn note(&mut self, now: Instant) -> bool {
        self.0.push_back(now);
        while self
            .0
            .front()
            .is_some_and(|first| now.duration_since(*first) > TRAP_PERIOD)
        {
            self.0.pop_front();
        }
        self.0.len() >= TRAP_LIMIT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_traps_within_a_minute_are_too_many() {
        let mut traps = TrapRecord::default();
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        for second in 0..4 {
            assert!(!traps.note(at(second)));
        }
        assert!(!traps.note(at(61)), "the first has lapsed");
        assert!(!traps.note(at(100)));
        assert!(!traps.note(at(101)));
        assert!(!traps.note(at(102)));
        assert!(traps.note(at(103)));
    }
}
