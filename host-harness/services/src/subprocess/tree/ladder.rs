use std::time::{Duration, Instant};

/// What to do to the tree now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing.
    Wait,
    /// Ask every process to end.
    Term,
    /// Kill every process.
    Kill,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    Idle,
    Asked { kill_at: Instant },
    Killing,
    Gone,
}

/// The way down: asked to end, killed after the grace, never signalled again once it was seen to be gone. The last rule
/// keeps a recycled process identifier safe.
#[derive(Debug)]
pub(super) struct Ladder {
    grace: Duration,
    phase: Phase,
}

impl Ladder {
    pub(super) fn new(grace: Duration) -> Self {
        Self {
            grace,
            phase: Phase::Idle,
        }
    }

    /// The request to end. Only the first one counts.
    pub(super) fn terminate(&mut self, now: Instant) -> Step {
        if !matches!(self.phase, Phase::Idle) {
            return Step::Wait;
        }
        self.phase = Phase::Asked {
            kill_at: now + self.grace,
        };
        Step::Term
    }

    /// The order to kill without grace.
    pub(super) fn kill(&mut self) -> Step {
        if matches!(self.phase, Phase::Gone) {
            return Step::Wait;
        }
        self.phase = Phase::Killing;
        Step::Kill
    }

    /// Takes in whether any process of the tree is left. While killing, each look kills again: a process may have been
    /// born between the last look and the signal.
    pub(super) fn observe(&mut self, alive: bool, now: Instant) -> Step {
        match self.phase {
            Phase::Gone => Step::Wait,
            _ if !alive => {
                self.phase = Phase::Gone;
                Step::Wait
            }
            Phase::Idle => Step::Wait,
            Phase::Asked { kill_at } if now < kill_at => Step::Wait,
            Phase::Asked { .. } | Phase::Killing => self.kill(),
        }
    }

    /// Whether the end was asked for and the tree is still there.
    pub(super) fn is_descending(&self) -> bool {
        matches!(self.phase, Phase::Asked { .. } | Phase::Killing)
    }

    /// Whether the tree was seen to be gone.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self.phase, Phase::Gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_millis(100);

    #[test]
    fn an_idle_tree_is_left_alone() {
        let now = Instant::now();
        let mut ladder = Ladder::new(GRACE);
        assert_eq!(ladder.observe(true, now + 1000 * GRACE), Step::Wait);
        assert!(!ladder.is_descending());
    }

    #[test]
    fn a_tree_that_ignores_the_request_is_killed_at_the_end_of_the_grace_until_it_is_gone() {
        let now = Instant::now();
        let mut ladder = Ladder::new(GRACE);
        assert_eq!(ladder.terminate(now), Step::Term);
        assert_eq!(ladder.observe(true, now + GRACE / 2), Step::Wait);
        assert_eq!(ladder.observe(true, now + GRACE), Step::Kill);
        assert_eq!(ladder.observe(true, now + GRACE), Step::Kill);
        assert_eq!(ladder.observe(false, now + GRACE), Step::Wait);
        assert!(ladder.is_gone());
    }

    #[test]
    fn a_second_request_neither_signals_nor_extends_the_grace() {
        let now = Instant::now();
        let mut ladder = Ladder::new(GRACE);
        assert_eq!(ladder.terminate(now), Step::Term);
        assert_eq!(ladder.terminate(now + GRACE / 2), Step::Wait);
        assert_eq!(ladder.observe(true, now + GRACE), Step::Kill);
    }

    #[test]
    fn nothing_is_signalled_after_the_tree_was_seen_to_be_gone() {
        let now = Instant::now();
        let mut asked = Ladder::new(GRACE);
        asked.terminate(now);
        for mut ladder in [Ladder::new(GRACE), asked] {
            assert_eq!(ladder.observe(false, now), Step::Wait);
            assert_eq!(ladder.terminate(now), Step::Wait);
            assert_eq!(ladder.kill(), Step::Wait);
            assert_eq!(ladder.observe(true, now + 2 * GRACE), Step::Wait);
            assert!(ladder.is_gone() && !ladder.is_descending());
        }
    }

    #[test]
    fn the_order_to_kill_cuts_the_grace_short() {
        let now = Instant::now();
        let mut ladder = Ladder::new(GRACE);
        ladder.terminate(now);
        assert_eq!(ladder.kill(), Step::Kill);
        assert_eq!(ladder.observe(true, now), Step::Kill);
    }
}
