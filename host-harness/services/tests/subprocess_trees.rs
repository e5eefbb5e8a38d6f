//! No process is left behind: proved by process identifiers, through every way in which a tree can end.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use dsh_services::subprocess::{LocalSubprocess, SpawnSpec, Subprocess, SubprocessError};
use support::*;

/// A leader, a child, and a grandchild; prints the two younger ones' identifiers.
const FAMILY: &str = "sh -c 'sleep 1000 & echo $!; wait' & echo $!; wait";
/// The same, all deaf to the request to end.
const DEAF_FAMILY: &str =
    "trap '' TERM; sh -c 'sleep 1000 & echo $!; wait; sleep 1000' & echo $!; wait; sleep 1000";
/// Prints the identifier of a process in a session of its own, which lets go of the pipes, and then stays.
const ESCAPEE: &str = "setsid sleep 1000 >/dev/null 2>&1 & echo $!; wait";
/// The same, deaf and forgotten: its parent has ended, so nothing links it to the tree any more.
const FORGOTTEN: &str =
    "(trap '' TERM; setsid sh -c 'echo $$; exec sleep 1000 >/dev/null 2>&1' &); exec sleep 1000";

#[tokio::test]
async fn the_whole_family_ends_with_the_leader() {
    for service in services() {
        for (script, grace_ms) in [(FAMILY, NEVER), (DEAF_FAMILY, 50)] {
            let process = start(
                &service,
                SpawnSpec {
                    grace_ms,
                    ..sh(script)
                },
            )
            .await;
            let mut lines = lines(process.as_ref());
            let family = [
                process.pid().unwrap().cast_signed(),
                next_pid(&mut lines).await,
                next_pid(&mut lines).await,
            ];
            assert!(family.into_iter().all(is_running));
            process.terminate();
            assert!(soon(process.wait_for_exit(None)).await);
            eventually("the family is gone", || !family.into_iter().any(is_running)).await;
        }
    }
}

#[tokio::test]
async fn waiting_for_the_tree_is_bounded_and_sees_survivors_of_the_leader() {
    for service in services() {
        let process = start(&service, sh("sleep 1000 >/dev/null 2>&1 & echo $!; exit 0")).await;
        let mut lines = lines(process.as_ref());
        let helper = next_pid(&mut lines).await;
        drop(lines);
        assert_eq!(soon(process.done()).await.unwrap().code, Some(0));
        assert!(!soon(process.wait_for_exit(Some(Duration::ZERO))).await);
        assert!(!soon(process.wait_for_exit(Some(Duration::from_millis(50)))).await);
        assert!(is_running(helper));
        process.terminate();
        assert!(soon(process.wait_for_exit(None)).await);
        assert!(soon(process.wait_for_exit(Some(Duration::ZERO))).await);
        assert!(!is_running(helper));
    }
}

#[tokio::test]
async fn a_survivor_that_ignores_the_request_is_killed_after_the_leader_has_settled() {
    for service in services() {
        let script = "(trap '' TERM; echo $(sh -c 'echo $PPID'); exec sleep 1000 >/dev/null 2>&1) & wait; exit 5";
        let process = start(
            &service,
            SpawnSpec {
                grace_ms: 200,
                ..sh(script)
            },
        )
        .await;
        let mut lines = lines(process.as_ref());
        let survivor = next_pid(&mut lines).await;
        eventually("the survivor sleeps", || {
            std::fs::read_to_string(format!("/proc/{survivor}/comm"))
                .is_ok_and(|name| name == "sleep\n")
        })
        .await;
        drop(lines);
        process.terminate();
        assert_eq!(
            soon(process.done()).await.unwrap().signal.as_deref(),
            Some("SIGTERM")
        );
        assert!(soon(process.wait_for_exit(None)).await);
        assert!(!is_running(survivor));
    }
}

/// Without a supervisor an escapee is out of reach, so its being alive shows that nothing was killed in the end.
#[tokio::test]
async fn without_a_supervisor_a_tree_is_gone_with_its_group_and_nothing_is_killed_after() {
    let [service, _] = services();
    let script = "setsid sleep 1000 & echo $!; wait";
    let process = start(
        &service,
        SpawnSpec {
            grace_ms: 100,
            ..sh(script)
        },
    )
    .await;
    let mut lines = lines(process.as_ref());
    let escapee = next_pid(&mut lines).await;
    eventually("it has escaped", || {
        stat(escapee).is_some_and(|(_, _, group)| group == escapee)
    })
    .await;
    process.terminate();
    assert!(soon(process.wait_for_exit(None)).await);
    // The escapee holds the pipes, so this takes as long as the grace would have.
    assert_eq!(
        soon(process.done()).await.unwrap().signal.as_deref(),
        Some("SIGTERM")
    );
    assert!(is_running(escapee));
    kill(escapee);
}

#[tokio::test]
async fn a_group_of_nothing_but_zombies_is_gone() {
    let [service, _] = services();
    // The subshell leaves a child behind that it never waits for, and then leaves the group itself.
    let script =
        "(true & echo $!; exec setsid sh -c 'echo $$; exec sleep 1000 >/dev/null 2>&1') & exit 0";
    let process = start(&service, sh(script)).await;
    let leader = process.pid().unwrap().cast_signed();
    let mut lines = lines(process.as_ref());
    let zombie = next_pid(&mut lines).await;
    let escapee = next_pid(&mut lines).await;
    assert!(soon(process.wait_for_exit(None)).await);
    let (state, parent, group) = stat(zombie).expect("it is still there");
    assert_eq!((state, parent, group), ('Z', escapee, leader));
    kill(escapee);
}

#[tokio::test]
async fn with_a_supervisor_an_escapee_is_part_of_the_tree() {
    let [_, service] = services();
    for (script, grace_ms) in [(ESCAPEE, NEVER), (FORGOTTEN, 50)] {
        let process = start(
            &service,
            SpawnSpec {
                grace_ms,
                ..sh(script)
            },
        )
        .await;
        let mut lines = lines(process.as_ref());
        let escapee = next_pid(&mut lines).await;
        eventually("it has escaped", || {
            stat(escapee).is_some_and(|(_, _, group)| group == escapee)
        })
        .await;
        process.terminate();
        assert!(soon(process.wait_for_exit(None)).await);
        assert!(!exists(escapee));
    }
}

#[tokio::test]
async fn with_a_supervisor_an_escapee_that_outlives_the_group_is_waited_for() {
    let [_, service] = services();
    let process = start(
        &service,
        sh("setsid sleep 1000 >/dev/null 2>&1 & echo $!; exit 0"),
    )
    .await;
    let mut lines = lines(process.as_ref());
    let escapee = next_pid(&mut lines).await;
    drop(lines);
    assert_eq!(soon(process.done()).await.unwrap().code, Some(0));
    assert!(!soon(process.wait_for_exit(Some(Duration::from_millis(100)))).await);
    process.terminate();
    assert!(soon(process.wait_for_exit(None)).await);
    assert!(!exists(escapee));
}

#[tokio::test]
async fn dropping_the_handle_ends_the_tree() {
    for service in services() {
        let process = start(
            &service,
            SpawnSpec {
                grace_ms: 50,
                ..sh(DEAF_FAMILY)
            },
        )
        .await;
        let leader = process.pid().unwrap().cast_signed();
        let mut lines = lines(process.as_ref());
        let family = [
            leader,
            next_pid(&mut lines).await,
            next_pid(&mut lines).await,
        ];
        drop(process);
        eventually("the family is gone", || !family.into_iter().any(is_running)).await;
    }
}

#[tokio::test]
async fn dropping_the_service_kills_every_tree_before_it_returns() {
    for service in services() {
        let mut families = Vec::new();
        let mut handles = Vec::new();
        for _ in 0..3 {
            let process = start(&service, sh(DEAF_FAMILY)).await;
            let mut lines = lines(process.as_ref());
            families.extend([
                process.pid().unwrap().cast_signed(),
                next_pid(&mut lines).await,
                next_pid(&mut lines).await,
            ]);
            handles.push(process);
        }
        drop(service);
        assert!(!families.into_iter().any(is_running));
        for process in handles {
            assert_eq!(
                soon(process.done()).await.unwrap().signal.as_deref(),
                Some("SIGKILL")
            );
            assert!(soon(process.wait_for_exit(None)).await);
        }
    }
}

#[test]
fn a_runtime_that_ends_takes_its_trees_along() {
    for service in services() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let (process, family) = runtime.block_on(async {
            let process = start(&service, sh(DEAF_FAMILY)).await;
            let mut lines = lines(process.as_ref());
            let leader = process.pid().unwrap().cast_signed();
            let family = [
                leader,
                next_pid(&mut lines).await,
                next_pid(&mut lines).await,
            ];
            (process, family)
        });
        drop(runtime);
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            eventually("the family is gone", || !family.into_iter().any(is_running)).await;
            assert_eq!(
                soon(process.done()).await.unwrap_err().code(),
                Some("SUBPROCESS_LOST")
            );
        });
    }
}

#[tokio::test]
async fn disposal_ends_everything_waits_for_it_and_refuses_more() {
    for service in services() {
        let deaf = start(
            &service,
            SpawnSpec {
                grace_ms: 50,
                ..sh(DEAF_FAMILY)
            },
        )
        .await;
        let mut deaf_lines = lines(deaf.as_ref());
        let survivor_of_its_leader =
            start(&service, sh("sleep 1000 >/dev/null 2>&1 & echo $!; exit 0")).await;
        let mut survivor_lines = lines(survivor_of_its_leader.as_ref());
        let stillborn = start(&service, spec(&["/no/such/program"])).await;
        let dropped = start(&service, sh("exec sleep 1000")).await;
        let everybody = [
            deaf.pid().unwrap().cast_signed(),
            next_pid(&mut deaf_lines).await,
            next_pid(&mut deaf_lines).await,
            next_pid(&mut survivor_lines).await,
            dropped.pid().unwrap().cast_signed(),
        ];
        drop((deaf_lines, survivor_lines, dropped));
        let (first, second) =
            soon(async { tokio::join!(service.dispose(), service.dispose()) }).await;
        assert_eq!((first, second), (Ok(()), Ok(())));
        assert!(!everybody.into_iter().any(is_running));
        assert_eq!(
            soon(deaf.done()).await.unwrap().signal.as_deref(),
            Some("SIGKILL")
        );
        assert!(soon(stillborn.done()).await.is_err());
        assert_eq!(
            service.spawn(sh("exit")).await.err(),
            Some(SubprocessError::Disposed)
        );
        assert_eq!(
            service.resolve_executable("sh", &[], None).await,
            Err(SubprocessError::Disposed)
        );
    }
}

#[tokio::test]
async fn a_start_that_is_abandoned_leaves_nothing() {
    for (index, service) in services().into_iter().enumerate() {
        // A length of sleep that nobody else asks for.
        let mark = format!("1000.{}{index}", std::process::id());
        let running = || {
            std::fs::read_dir("/proc").unwrap().any(|entry| {
                let command =
                    std::fs::read(entry.unwrap().path().join("cmdline")).unwrap_or_default();
                command
                    .split(|byte| *byte == 0)
                    .any(|argument| argument == mark.as_bytes())
            })
        };
        // Given up earlier and later, until one was late enough to have started.
        let mut patience = Duration::from_micros(50);
        let mut has_started = false;
        while !has_started {
            let start = async {
                let process = service.spawn(spec(&["/bin/sleep", &mark])).await.unwrap();
                has_started = true;
                process
            };
            drop(tokio::time::timeout(patience, start).await);
            patience = patience * 5 / 4;
            assert!(patience < PATIENCE);
        }
        soon(service.dispose()).await.unwrap();
        eventually("all that started have ended", || !running()).await;
    }
}

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

#[tokio::test]
async fn a_supervisor_that_is_none_is_reported() {
    for executable in ["/no/such/file", "/bin/true", "/bin/echo"] {
        let service = LocalSubprocess::new(Some(executable.into()));
        match service.spawn(sh("exit")).await {
            Ok(_) => panic!("{executable} started it"),
            Err(error) => assert_eq!(error.code(), Some("SUBPROCESS_LOST"), "{error}"),
        }
    }
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

/// A terminal's interrupt goes to the whole foreground group; the host decides what becomes of its children.
#[tokio::test]
async fn the_tree_is_out_of_the_reach_of_the_hosts_group() {
    let [_, service] = services();
    let process = start(&service, sh("exec sleep 1000")).await;
    let leader = process.pid().unwrap().cast_signed();
    let (_, supervisor, _) = stat(leader).unwrap();
    let pid = |pid| rustix::process::Pid::from_raw(pid);
    let session = rustix::process::getsid(pid(leader)).unwrap();
    assert_eq!(Some(session), pid(supervisor));
    assert_ne!(Some(session), Some(rustix::process::getsid(None).unwrap()));
    process.terminate();
}
