use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal};

use super::ladder::{Ladder, Step};
use super::launch::{ChildStdio, Launch};
use super::members::{Members, Reach};
use super::report::Report;

/// The byte by which the host asks the tree to end. Closing the socket is the order to kill at once.
pub(in crate::subprocess) const TERMINATE: u8 = b't';

/// Between two looks at a tree that is to end.
const LOOK: Duration = Duration::from_millis(15);
/// The longest time between two looks at helpers that outlived their leader unasked.
const IDLE_LOOK: Duration = Duration::from_millis(500);
/// How long a zombie that was inherited may stay.
const REAP: Duration = Duration::from_secs(1);

/// Starts the program and keeps its tree until nothing of it is left. Reports over `host`; a host that is gone is not
/// told, but the tree is ended.
pub(in crate::subprocess) fn keep(
    host: UnixStream,
    launch: &Launch,
    stdio: ChildStdio,
    reach: Reach,
) {
    let leader = match launch.start(stdio) {
        Ok(leader) => leader,
        Err(error) => {
            tell(
                &host,
                Report::Failed(error.raw_os_error().unwrap_or_default()),
            );
            return;
        }
    };
    tell(&host, Report::Spawned(leader));
    let Some(leader) = i32::try_from(leader).ok().and_then(Pid::from_raw) else {
        return;
    };
    let mut keeper = Keeper {
        host,
        listening: true,
        end_of_leader: exit_descriptor(leader),
        members: Members::new(leader, reach),
        ladder: Ladder::new(launch.grace),
        reach,
        idle_look: LOOK,
    };
    while keeper.turn() {}
}

/// What the host wants.
#[derive(Debug, Clone, Copy)]
enum Order {
    Terminate,
    Kill,
}

struct Keeper {
    /// Stays open to the end, so that the host can tell by it when the work is done.
    host: UnixStream,
    /// Whether the host may still say something.
    listening: bool,
    /// Becomes readable when the leader ends; none when it has, or where the system has no such thing.
    end_of_leader: Option<OwnedFd>,
    members: Members,
    ladder: Ladder,
    reach: Reach,
    idle_look: Duration,
}

impl Keeper {
    /// One wait and one look. False when the tree is gone. The look comes before the order is obeyed, because a tree
    /// that is gone by now must not be signalled.
    fn turn(&mut self) -> bool {
        let order = self.wait();
        let observation = self.members.observe();
        if let Some(news) = observation.news {
            self.end_of_leader = None;
            self.report(news);
        }
        let step = self.ladder.observe(observation.alive, Instant::now());
        if self.ladder.is_gone() {
            self.report(Report::Gone);
            return false;
        }
        self.act(step);
        match order {
            Some(Order::Terminate) => {
                let step = self.ladder.terminate(Instant::now());
                self.act(step);
            }
            Some(Order::Kill) => {
                let step = self.ladder.kill();
                self.act(step);
            }
            None => {}
        }
        true
    }

    fn act(&self, step: Step) {
        match step {
            Step::Wait => {}
            Step::Term => self.members.signal(Signal::TERM),
            Step::Kill => self.members.signal(Signal::KILL),
        }
    }

    /// Waits until there is something to see or to do.
    fn wait(&mut self) -> Option<Order> {
        let timeout = self.time_to_next_look();
        if !self.listening {
            std::thread::sleep(timeout.unwrap_or(LOOK));
            return None;
        }
        let mut descriptors = vec![PollFd::new(&self.host, PollFlags::IN)];
        if let Some(end_of_leader) = &self.end_of_leader {
            descriptors.push(PollFd::new(end_of_leader, PollFlags::IN));
        }
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        match poll(&mut descriptors, timeout.as_ref()) {
            Ok(_) if descriptors[0].revents().is_empty() => None,
            Ok(_) => self.listen(),
            Err(_) => {
                // Without a way to wait the next look must not come at once.
                std::thread::sleep(LOOK);
                None
            }
        }
    }

    fn listen(&mut self) -> Option<Order> {
        let mut said = [0; 64];
        match self.host.read(&mut said) {
            Ok(length) if length > 0 => said[..length]
                .contains(&TERMINATE)
                .then_some(Order::Terminate),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => None,
            _ => {
                self.listening = false;
                Some(Order::Kill)
            }
        }
    }

    /// None for as long as it takes: the leader's end will be noticed.
    fn time_to_next_look(&mut self) -> Option<Duration> {
        if self.ladder.is_descending() {
            return Some(LOOK);
        }
        if self.members.leader_ended() {
            let look = self.idle_look;
            self.idle_look = (look * 2).min(IDLE_LOOK);
            return Some(look);
        }
        match (&self.end_of_leader, self.reach) {
            (None, _) => Some(LOOK),
            (Some(_), Reach::Descendants) => Some(REAP),
            (Some(_), Reach::Group) => None,
        }
    }

    fn report(&self, report: Report) {
        tell(&self.host, report);
    }
}

/// Failure means that the host is gone, which the next read shows too.
fn tell(mut host: &UnixStream, report: Report) {
    let _ = host.write_all(format!("{report}\n").as_bytes());
}

#[cfg(target_os = "linux")]
fn exit_descriptor(leader: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(leader, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn exit_descriptor(_leader: Pid) -> Option<OwnedFd> {
    None
}
