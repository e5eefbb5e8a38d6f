use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, kill_process_group, test_kill_process_group, wait,
    waitpid,
};

use super::report::{Ending, Report};

/// Which processes belong to a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::subprocess) enum Reach {
    /// The leader's process group: all that a process among others can know.
    Group,
    /// Every descendant of this process, which must be a child subreaper and start nothing else.
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "only Linux has subreapers")
    )]
    Descendants,
}

/// A started program and what it started.
#[derive(Debug)]
pub(super) struct Members {
    leader: Pid,
    reach: Reach,
    leader_ended: bool,
}

/// What a look at the tree showed.
#[derive(Debug)]
pub(super) struct Observation {
    /// How the leader ended, once.
    pub(super) news: Option<Report>,
    /// Whether any process is left.
    pub(super) alive: bool,
}

impl Members {
    pub(super) fn new(leader: Pid, reach: Reach) -> Self {
        Self {
            leader,
            reach,
            leader_ended: false,
        }
    }

    /// Whether the program itself has ended.
    pub(super) fn leader_ended(&self) -> bool {
        self.leader_ended
    }

    /// Takes notice of what has ended and says what is left.
    pub(super) fn observe(&mut self) -> Observation {
        let mut news = None;
        let childless = loop {
            if self.reach == Reach::Group && self.leader_ended {
                break true;
            }
            let ended = match self.reach {
                Reach::Group => waitpid(Some(self.leader), WaitOptions::NOHANG),
                Reach::Descendants => wait(WaitOptions::NOHANG),
            };
            match ended {
                Ok(Some((pid, status))) if pid == self.leader => {
                    self.leader_ended = true;
                    news = Some(Report::Exited(ending(status)));
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => break false,
                Err(_) => {
                    if !self.leader_ended {
                        self.leader_ended = true;
                        news = Some(Report::StatusLost);
                    }
                    break true;
                }
            }
        };
        // For a subreaper, having no child means having no descendant: an orphan would have become its child.
        let gone = match self.reach {
            Reach::Group => childless && group_is_gone(self.leader),
            Reach::Descendants => childless,
        };
        Observation { news, alive: !gone }
    }

    /// Signals every process. Must follow an observation that found some. A failure means that the process is gone or
    /// not ours to signal; the next look shows which.
    pub(super) fn signal(&self, signal: Signal) {
        match self.reach {
            Reach::Group => {
                let _ = kill_process_group(self.leader, signal);
            }
            Reach::Descendants => self.signal_descendants(signal),
        }
    }

    #[cfg(target_os = "linux")]
    fn signal_descendants(&self, signal: Signal) {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let leader = self.leader.as_raw_nonzero().get();
        let Ok(processes) = super::procfs::processes() else {
            let _ = kill_process_group(self.leader, signal);
            return;
        };
        let (group, escaped): (Vec<_>, Vec<_>) = super::procfs::descendants(&processes, own)
            .into_iter()
            .filter(|entry| !entry.is_zombie)
            .partition(|entry| entry.group == leader);
        // An empty group's number may belong to somebody else by now.
        if !group.is_empty() {
            let _ = kill_process_group(self.leader, signal);
        }
        for entry in escaped {
            signal_exactly(&entry, signal);
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn signal_descendants(&self, signal: Signal) {
        let _ = kill_process_group(self.leader, signal);
    }
}

/// Signals that process and no later owner of its pid: what the descriptor refers to is fixed, and then proven to be it.
#[cfg(target_os = "linux")]
fn signal_exactly(entry: &super::procfs::Entry, signal: Signal) {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};

    let Some(pid) = Pid::from_raw(entry.pid) else {
        return;
    };
    let Ok(descriptor) = pidfd_open(pid, PidfdFlags::empty()) else {
        return;
    };
    if super::procfs::process(entry.pid).is_some_and(|now| now.started == entry.started) {
        let _ = pidfd_send_signal(descriptor, signal);
    }
}

/// Whether no process of the group is left. Zombies do not count where they can be told apart: a parent outside the
/// group that never waits for them would keep the group for ever. What cannot be determined counts as alive.
pub(in crate::subprocess) fn group_is_gone(leader: Pid) -> bool {
    if test_kill_process_group(leader) == Err(Errno::SRCH) {
        return true;
    }
    #[cfg(target_os = "linux")]
    {
        // One pass over the processes is no snapshot: it misses a child born after the listing of a parent that leaves
        // the group before it is looked at. That must not happen twice in a row.
        has_only_zombies(leader) && has_only_zombies(leader)
    }
    #[cfg(not(target_os = "linux"))]
    {
        false
    }
}

#[cfg(target_os = "linux")]
fn has_only_zombies(leader: Pid) -> bool {
    let leader = leader.as_raw_nonzero().get();
    let Ok(all) = super::procfs::processes() else {
        return false;
    };
    let mut members = all.iter().filter(|entry| entry.group == leader).peekable();
    members.peek().is_some() && members.all(|entry| entry.is_zombie)
}

fn ending(status: WaitStatus) -> Ending {
    match status.terminating_signal() {
        Some(signal) => Ending::Signal(signal),
        None => Ending::Code(status.exit_status().unwrap_or_default()),
    }
}
