//! What mounts, queries and kills of language servers leave behind in the host's process. The tests look at the whole process, so they have a
//! binary of their own and run one after another.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "this is how a test fails"
)]

use dsh_tests::residue::{children, descriptors, status_kib, threads};
use dsh_tests::symbols::{Desk, answering, eventually, exists, names};
use serde_json::json;
use tokio::sync::Mutex;

static ALONE: Mutex<()> = Mutex::const_new(());

/// Rounds before the first look: allocators and pools take what they need at first.
const WARM: usize = 100;

/// Growth that is the allocator's: a few threads that come and go with pools of their own, in a process that holds little itself. A leak of a
/// round, the smallest of whose buffers has 64 KiB, would be several times as much.
const ALLOCATOR_KIB: u64 = 4 << 10;

/// What the process holds: threads, descriptors, KiB.
fn held() -> (usize, usize, u64) {
    (threads().len(), descriptors(), status_kib("VmRSS:"))
}

async fn check(before: (usize, usize, u64)) {
    let note = || format!("children: {:?}", children());
    eventually(note, || children().is_empty()).await;
    let note = || {
        format!(
            "threads and descriptors before and after: {before:?} {:?}",
            held()
        )
    };
    eventually(note, || held().0 <= before.0 && held().1 <= before.1).await;
    let after = held();
    println!("threads, descriptors and resident KiB: {before:?} before, {after:?} after");
    assert!(
        after.2 <= before.2 + (before.2 / 20).max(ALLOCATOR_KIB),
        "memory: {before:?} {after:?}"
    );
}

/// Mounts the plugin, asks once, unmounts it.
async fn rounds(desk: &Desk, count: usize) {
    for _ in 0..count {
        desk.mount_scripted(json!([answering(&["Gear"])])).await;
        assert_eq!(names(desk.ask("Gear").await), ["Gear"]);
        desk.unmount().await.unwrap();
    }
}

/// Kills the server in the middle of a request; its successor answers.
async fn kills(desk: &Desk, series: &str, count: usize) {
    for round in 0..count {
        let id = format!("{series}-{round}");
        let helper = json!([{"helper": "exec sleep 1000"}]);
        let dying = json!({"initialized": helper, "workspace/symbol": [{"kill": true}]});
        let server = desk.server(&id, json!([dying, answering(&["Gear"])]));
        desk.mount(&[("server", server)]).await.unwrap();
        assert_eq!(names(desk.ask("Gear").await), ["Gear"]);
        desk.unmount().await.unwrap();
        let journal = desk.journal(&id);
        let pids = journal.pids();
        assert_eq!(pids.len(), 2);
        assert!(!pids.into_iter().any(exists), "round {round}");
        let helper = journal.of("helper")[0].as_i64().unwrap();
        assert!(!exists(i32::try_from(helper).unwrap()), "round {round}");
    }
}

async fn nothing_is_left(more_rounds: usize, more_kills: usize) {
    let _alone = ALONE.lock().await;
    let desk = Desk::new().await;
    rounds(&desk, WARM).await;
    kills(&desk, "first", 10).await;
    let before = held();
    rounds(&desk, more_rounds).await;
    kills(&desk, "then", more_kills).await;
    check(before).await;
    assert!(!desk.journal("server").pids().into_iter().any(exists));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mounts_queries_and_kills_leave_nothing_behind() {
    nothing_is_left(150, 30).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes: the same with a thousand mounts and two hundred kills"]
async fn a_thousand_mounts_and_two_hundred_kills_leave_nothing_behind() {
    nothing_is_left(900, 200).await;
}
