//! Everything at once, for a while: four agents call three real plugins and one that misbehaves, calls are cancelled at random moments, language
//! servers crash or are killed, instances trap, rows are reloaded, agents come and go. Afterwards every call is accounted for and nothing is
//! left.
//!
//! The short form is an ordinary test. The long one is `cargo test --test soak -- --ignored`; `DSH_SOAK_SECONDS` sets how long it takes.
#![cfg(target_os = "linux")]

#[path = "soak/chaos.rs"]
mod chaos;
#[path = "soak/scene.rs"]
mod scene;
#[path = "soak/tally.rs"]
mod tally;
#[path = "soak/work.rs"]
mod work;

use scene::Scene;
use std::time::{Duration, Instant};
use tally::{Tally, descriptors, resident_kib};

/// Calls that are made side by side.
const WORKERS: u64 = 8;
/// Growth of the resident memory that the allocator may be the reason of.
const SLACK_KIB: u64 = 48 << 10;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()
        .unwrap()
}

fn soak(duration: Duration) {
    let seed = std::env::var("DSH_SOAK_SEED").ok();
    let seed = seed.map_or(0x5eed, |seed| seed.parse().unwrap());
    // What the process keeps for good, such as the pipe that signals come through, it takes at the first server.
    runtime().block_on(async {
        let scene = Scene::new().await;
        scene.one_of_each().await;
        scene.close().await;
    });
    let before = descriptors();
    let (tally, pids) = runtime().block_on(async {
        let scene = Scene::new().await;
        let tally = Tally::default();
        // Pools, caches and code take what they need at first.
        run(&scene, &tally, seed, duration / 4).await;
        let settled = resident_kib();
        run(&scene, &tally, seed ^ 0xffff, duration * 3 / 4).await;
        let after = resident_kib();
        assert!(
            after <= settled + SLACK_KIB,
            "resident memory grew from {settled} KiB to {after} KiB"
        );
        println!("resident memory: {settled} KiB after a quarter, {after} KiB at the end");
        let pids = scene.close().await;
        (tally, pids)
    });
    assert!(pids.len() > 2, "servers were started anew: {pids:?}");
    for pid in &pids {
        assert!(!dsh_tests::symbols::exists(*pid), "process {pid} is left");
    }
    let after = descriptors();
    assert!(
        after <= before,
        "{before} descriptors before, {after} after"
    );
    println!("{} language servers ran\n{tally}", pids.len());
    tally.judge();
}

async fn run(scene: &Scene, tally: &Tally, seed: u64, duration: Duration) {
    let until = Instant::now() + duration;
    let workers = (0..WORKERS).map(|worker| work::work(scene, tally, seed + worker, until));
    let workers = futures::future::join_all(workers);
    futures::future::join(workers, chaos::reign(scene, seed, until)).await;
}

/// The tests look at the whole process, so they run one after another.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[test]
fn a_short_soak_leaves_nothing_and_loses_no_call() {
    let _alone = ALONE.lock();
    soak(Duration::from_secs(6));
}

#[test]
#[ignore = "takes two minutes; the CI runs it"]
fn soak_for_minutes() {
    let seconds = std::env::var("DSH_SOAK_SECONDS").ok();
    let seconds = seconds.map_or(120, |seconds| seconds.parse().unwrap());
    let _alone = ALONE.lock();
    soak(Duration::from_secs(seconds));
}
