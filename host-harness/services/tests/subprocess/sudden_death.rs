//! A host or a supervisor that is killed leaves no process behind.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use crate::support::*;

#[tokio::test]
async fn a_supervisor_that_is_killed_takes_the_group_along_and_is_reported() {
    let [_, service] = services();
    let process = start(&service, sh(DEAF_FAMILY)).await;
    let leader = process.pid().unwrap().cast_signed();
    let mut lines = lines(process.as_ref());
    let family = [
        leader,
        next_pid(&mut lines).await,
        next_pid(&mut lines).await,
    ];
    let (_, supervisor, _) = stat(leader).unwrap();
    assert_ne!(supervisor, std::process::id().cast_signed());
    kill(supervisor);
    let error = soon(process.done()).await.unwrap_err();
    assert_eq!(error.code(), Some("SUBPROCESS_LOST"));
    assert!(soon(process.wait_for_exit(None)).await);
    assert!(!family.into_iter().any(is_running));
}

/// The example host, running a script under its own supervisor.
struct Host {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    leader: i32,
    supervisor: i32,
}

impl Host {
    fn start(script: &str) -> Self {
        let mut child = Command::new(supervised_host())
            .arg(script)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let leader = lines.next().unwrap().unwrap().parse().unwrap();
        let (_, supervisor, _) = stat(leader).unwrap();
        assert_ne!(supervisor, child.id().cast_signed());
        Self {
            child,
            lines,
            leader,
            supervisor,
        }
    }

    fn next_pid(&mut self) -> i32 {
        self.lines.next().unwrap().unwrap().parse().unwrap()
    }
}

#[tokio::test]
async fn a_host_that_is_killed_leaves_no_process() {
    for (script, printed) in [(FAMILY, 2), (DEAF_FAMILY, 2), (ESCAPEE, 1), (FORGOTTEN, 1)] {
        let mut host = Host::start(script);
        let mut family = vec![host.leader, host.supervisor];
        for _ in 0..printed {
            family.push(host.next_pid());
        }
        assert!(family.iter().all(|pid| is_running(*pid)));
        host.child.kill().unwrap();
        host.child.wait().unwrap();
        eventually("nothing is left", || {
            !family.iter().any(|pid| is_running(*pid))
        })
        .await;
        // The supervisor took notice of everybody, so not even zombies of its family are left.
        assert!(
            family
                .iter()
                .all(|pid| *pid == host.supervisor || !exists(*pid))
        );
    }
}

#[tokio::test]
async fn a_host_that_is_killed_early_leaves_no_process() {
    for delay in 0..20 {
        let mut host = Command::new(supervised_host())
            .arg("trap '' TERM; while :; do sleep 1; done")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        tokio::time::sleep(Duration::from_millis(delay)).await;
        let supervisors: Vec<i32> = children_of(host.id().cast_signed());
        host.kill().unwrap();
        host.wait().unwrap();
        eventually("nothing is left", || {
            !supervisors
                .iter()
                .any(|supervisor| is_running(*supervisor) || !children_of(*supervisor).is_empty())
        })
        .await;
    }
}

fn children_of(parent: i32) -> Vec<i32> {
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok())
        .filter(|pid| stat(*pid).is_some_and(|(_, of, _)| of == parent))
        .collect()
}
