//! How a process ends, and when it counts as ended.

use std::time::{Duration, Instant};

use dsh_services::subprocess::{SpawnSpec, abort_signal};

use crate::support::*;

#[tokio::test]
async fn the_exit_code_is_reported() {
    for service in services() {
        let process = start(&service, sh("exit 42")).await;
        drop(process.take_stdout());
        assert_eq!(soon(process.done()).await, code(42));
        assert!(soon(process.wait_for_exit(None)).await);
        assert_eq!(soon(process.done()).await, code(42), "asked again");
    }
}

#[tokio::test]
async fn a_signal_that_is_set_later_terminates() {
    for service in services() {
        let (controller, abort) = abort_signal();
        let process = start(
            &service,
            SpawnSpec {
                signal: Some(abort),
                ..spec(&["/bin/sleep", "1000"])
            },
        )
        .await;
        drop(process.take_stdout());
        controller.abort("stop");
        assert_eq!(soon(process.done()).await, signal("SIGTERM"));
    }
}

#[tokio::test]
async fn a_trapped_request_to_end_becomes_a_kill_after_the_grace() {
    for service in services() {
        let script = "trap '' TERM; echo ready; while :; do sleep 1; done";
        let process = start(
            &service,
            SpawnSpec {
                grace_ms: 50,
                ..sh(script)
            },
        )
        .await;
        let mut lines = lines(process.as_ref());
        assert_eq!(soon(lines.next_line()).await.unwrap().unwrap(), "ready");
        process.terminate();
        process.terminate();
        assert_eq!(soon(lines.next_line()).await.unwrap(), None);
        assert_eq!(soon(process.done()).await, signal("SIGKILL"));
        process.terminate();
        assert!(soon(process.wait_for_exit(None)).await);
    }
}

#[tokio::test]
async fn a_request_to_end_can_be_answered_with_an_exit_code() {
    for service in services() {
        let script = "trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done";
        let process = start(&service, sh(script)).await;
        let mut lines = lines(process.as_ref());
        soon(lines.next_line()).await.unwrap().unwrap();
        process.terminate();
        drop(lines);
        assert_eq!(soon(process.done()).await, code(7));
    }
}

#[tokio::test]
async fn output_held_open_by_others_delays_done_by_the_grace_and_no_longer() {
    for service in services() {
        let script = "echo kept >&2; setsid sleep 1000 & echo $!; exit 0";
        let process = start(
            &service,
            SpawnSpec {
                grace_ms: 100,
                ..sh(script)
            },
        )
        .await;
        let before = Instant::now();
        let mut lines = lines(process.as_ref());
        let holder = next_pid(&mut lines).await;
        assert_eq!(soon(process.done()).await, code(0));
        assert!(before.elapsed() >= Duration::from_millis(90));
        assert!(is_running(holder));
        assert_eq!(process.stderr_tail(), "kept\n");
        kill(holder);
        // Standard output is the caller's, and is not closed by the host.
        assert_eq!(soon(lines.next_line()).await.unwrap(), None);
        assert!(soon(process.wait_for_exit(None)).await);
    }
}

#[tokio::test]
async fn done_waits_until_the_output_was_read() {
    for service in services() {
        let process = start(&service, sh("echo out")).await;
        eventually("the program has ended", || {
            !is_running(process.pid().unwrap().cast_signed())
        })
        .await;
        assert!(
            tokio::time::timeout(Duration::from_millis(50), process.done())
                .await
                .is_err()
        );
        assert_eq!(output(process.as_ref()).await, "out\n");
        assert_eq!(soon(process.done()).await, code(0));
    }
}
