//! The end of a whole tree: helpers that outlive their leader, ignore the request to end, or leave the group.

use std::time::Duration;

use dsh_services::subprocess::SpawnSpec;

use crate::support::*;

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
    // The subshell becomes a program that never waits for the child it had, in a group of its own.
    let script = "(sh -c 'until grep -q sleep /proc/$PPID/comm; do sleep 0.01; done' & echo $!; \
                  exec setsid sh -c 'echo $$; exec sleep 1000 >/dev/null 2>&1') & exit 0";
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
