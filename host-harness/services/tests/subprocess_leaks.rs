//! Nothing of the host's own piles up. Alone in its binary, because it counts what the whole process holds.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "subprocess/support.rs"]
mod support;

use dsh_services::subprocess::SpawnSpec;
use support::*;

const ROUNDS: usize = 200;

#[derive(Debug, PartialEq, Eq)]
struct Held {
    descriptors: usize,
    children: usize,
    keepers: usize,
}

fn held() -> Held {
    let own = std::process::id().cast_signed();
    let names = |path: &str| -> Vec<String> {
        let entries = std::fs::read_dir(path).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    };
    Held {
        descriptors: names("/proc/self/fd").len(),
        children: names("/proc")
            .iter()
            .filter_map(|name| name.parse().ok())
            .filter(|pid| stat(*pid).is_some_and(|(_, parent, _)| parent == own))
            .count(),
        keepers: names("/proc/self/task")
            .iter()
            .filter(|task| {
                std::fs::read_to_string(format!("/proc/self/task/{task}/comm"))
                    .is_ok_and(|name| name.starts_with("process-keeper"))
            })
            .count(),
    }
}

#[tokio::test]
async fn descriptors_zombies_and_threads_stay_flat_over_many_rounds() {
    for service in services() {
        let round = async |index: usize| {
            let stdin = index.is_multiple_of(2);
            let process = start(
                &service,
                SpawnSpec {
                    stdin,
                    ..sh("echo x >&2; exec sleep 1000")
                },
            )
            .await;
            let missing = start(&service, spec(&["/no/such/program"])).await;
            process.terminate();
            drop(process.take_stdout());
            soon(process.done()).await.unwrap();
            assert!(soon(process.wait_for_exit(None)).await);
            assert!(soon(missing.done()).await.is_err());
        };
        // The first round brings up what the runtime keeps for good.
        round(0).await;
        eventually("the first round is cleared away", || {
            let held = held();
            held.children == 0 && held.keepers == 0
        })
        .await;
        let before = held();
        for index in 0..ROUNDS {
            round(index).await;
        }
        eventually("nothing more is held than before", || held() == before).await;
    }
}
