//! Trees end when whoever answers for them lets go: of the handle, the start, the service, the runtime.

use std::time::Duration;

use dsh_services::subprocess::{SpawnSpec, Subprocess, SubprocessError};

use crate::support::*;

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
