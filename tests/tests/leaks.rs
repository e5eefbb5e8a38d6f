//! What a host leaves behind in its process. The tests look at the whole process, so they run one after another, in a binary of their own.
#![cfg(target_os = "linux")]

use dsh_host::codes;
use dsh_tests::hostile::{PATIENCE, Stage, failure, limits, soon};
use dsh_tests::residue::{descriptors, status_kib, threads};
use serde_json::json;
use std::sync::Mutex;
use std::time::{Duration, Instant};

static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ALONE
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn tickers() -> usize {
    threads().iter().filter(|name| *name == "dsh-epoch").count()
}

fn wait_until(what: &str, mut reached: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !reached() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Runs a stretch of rounds and sees that the process has grown by nothing: no thread, no descriptor, no address space (an instance reserves
/// gigabytes of it), and at most `slack` KiB of memory. What stays of each round grows in every stretch; what the allocator keeps for later, in
/// one or two of them. So memory has a few stretches to show that it does not grow. Says how many it took.
async fn nothing_grows(slack: u64, stretch: impl AsyncFn()) -> usize {
    const STRETCHES: usize = 4;
    let look = || {
        let kib = |name| status_kib(name);
        (
            threads().len(),
            descriptors(),
            kib("VmSize:"),
            kib("VmRSS:"),
        )
    };
    let mut grown = Vec::new();
    for count in 1..=STRETCHES {
        let before = look();
        stretch().await;
        let after = look();
        assert!(after.0 <= before.0, "threads: {before:?} {after:?}");
        assert!(after.1 <= before.1, "descriptors: {before:?} {after:?}");
        assert!(
            after.2 <= before.2 + (64 << 10),
            "address space: {before:?} {after:?}"
        );
        if after.3 <= before.3 + slack {
            return count;
        }
        grown.push((before.3, after.3));
    }
    panic!("memory grows in every stretch: {grown:?} KiB");
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

#[test]
fn the_ticker_ends_with_the_host() {
    let _alone = alone();
    wait_until("the tickers of other tests end", || tickers() == 0);
    let runtime = runtime();
    runtime.block_on(async {
        let stage = Stage::new();
        stage.mount("row", json!({})).await.unwrap();
        stage.echo("act").await;
        assert_eq!(tickers(), 1);
        soon(stage.host.shutdown()).await;
    });
    wait_until("the ticker ends", || tickers() == 0);

    // Without a shutdown, too: dropping the host drops its instances.
    runtime.block_on(async {
        let stage = Stage::new();
        stage.mount("row", json!({})).await.unwrap();
        stage.echo("act").await;
    });
    wait_until("the ticker ends", || tickers() == 0);
}

#[test]
fn two_hundred_traps_leave_no_thread_descriptor_or_memory_behind() {
    let _alone = alone();
    let runtime = runtime();
    runtime.block_on(async {
        let stage = Stage::new();
        stage.agent("a").await;
        stage.mount("row", json!({})).await.unwrap();
        let rounds = async |rounds: usize| {
            for round in 0..rounds {
                let answer = stage.call("act", json!({"do": "panic"})).await;
                assert!(failure(answer).is(codes::PLUGIN_TRAPPED), "round {round}");
                // A row is switched off at its fifth trap, so it is loaded anew before that.
                if round % 4 == 3 {
                    soon(stage.host.reload("row", json!({}))).await.unwrap();
                }
                assert_eq!(stage.echo("act").await["calls"], 1, "round {round}");
            }
        };
        // The allocator and the pools of wasmtime and tokio take what they need at first.
        rounds(40).await;
        // An instance has over 1 MiB of memory: 200 that stayed would be over 200 MiB.
        nothing_grows(16 << 10, async || rounds(200).await).await;
        soon(stage.host.shutdown()).await;
    });
}

#[test]
fn calls_and_agents_that_are_over_leave_nothing_in_a_living_instance() {
    /// More than the things of the host that an instance may hold: one that stays of each round ends it.
    const MORE: usize = 10_500;
    let _alone = alone();
    let runtime = runtime();
    runtime.block_on(async {
        let stage = Stage::new();
        stage.mount_with("row", json!({}), limits()).await.unwrap();
        let rounds = async |rounds: usize| {
            for _ in 0..rounds {
                stage.agent("a").await;
                stage.echo("act").await;
                soon(stage.host.dispose_agent("a")).await;
            }
        };
        rounds(200).await;
        let stretches = nothing_grows(8 << 10, async || rounds(MORE).await).await;
        let last = stage.echo("act").await;
        assert_eq!(last["agents"], json!([]));
        assert_eq!(
            last["calls"],
            200 + MORE * stretches + 1,
            "it is one instance"
        );
    });
}
