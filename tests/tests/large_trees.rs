//! Trees far larger than the index may become: SPEC.md of file-reference-local, section 4.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "this is how a test fails"
)]

use dsh_host::{AbortSignal, Host, LimitedBy};
use dsh_tests::hosts::{COMPLETION, agent, host, host_with, mount, paths};
use dsh_tests::workspaces::Counted;
use serde_json::json;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

const AGENT: &str = "agent";

fn fill(directory: &Path, files: usize) {
    std::fs::create_dir_all(directory).unwrap();
    for file in 0..files {
        File::create(directory.join(format!("f{file:06}"))).unwrap();
    }
}

fn memory(host: &Host) -> usize {
    host.memory(COMPLETION).expect("the plugin is mounted")
}

#[tokio::test]
async fn no_more_of_a_large_tree_is_read_than_the_index_may_hold() {
    const CAP: usize = 10_000;
    let (folders, files) = (300, 1_000);
    let tree = tempfile::tempdir().unwrap();
    for folder in 0..folders {
        fill(&tree.path().join(format!("d{folder:03}")), files);
    }
    let counted = Counted::default();
    let host = host_with(Arc::new(counted.clone()));
    mount(&host, COMPLETION, json!({"maxEntries": CAP}))
        .await
        .unwrap();
    agent(&host, AGENT, tree.path()).await;
    assert_eq!(paths(&host, AGENT, "f000999").await[0], "d000/f000999");
    // The root, and the folders that fill the index; the last of them in part.
    let full = (CAP - folders) / files;
    assert_eq!(counted.directories(), 1 + full + 1);
    assert_eq!(counted.entries(), CAP);
}

#[tokio::test]
async fn an_index_takes_less_than_a_hundred_bytes_an_entry() {
    let (folders, files) = (100, 1_000);
    let entries = folders * (files + 1);
    let tree = tempfile::tempdir().unwrap();
    for folder in 0..folders {
        fill(&tree.path().join(format!("a-folder-{folder:03}")), files);
    }
    let host = host();
    mount(&host, COMPLETION, json!({"maxEntries": entries}))
        .await
        .unwrap();
    agent(&host, AGENT, tree.path()).await;
    let before = memory(&host);
    let found = host
        .search_file_references(AGENT, "f000999", &AbortSignal::never())
        .await
        .unwrap();
    assert_eq!((found.indexed, found.complete), (entries as u64, true));
    // Everything that the first query needed besides the index is counted too, the listings that crossed the boundary included.
    let taken = memory(&host) - before;
    assert!(taken < 100 * entries, "{} bytes an entry", taken / entries);
}

#[tokio::test]
async fn a_folder_of_half_a_million_entries_neither_fills_the_memory_nor_hides_the_others() {
    let tree = tempfile::tempdir().unwrap();
    fill(&tree.path().join("a-huge-one"), 500_000);
    fill(&tree.path().join("b-small-one"), 3);
    for (cap, all) in [(10_000, false), (600_000, true)] {
        let host = host();
        mount(&host, COMPLETION, json!({"maxEntries": cap}))
            .await
            .unwrap();
        agent(&host, AGENT, tree.path()).await;
        let found = host
            .search_file_references(AGENT, "bsmallf000002", &AbortSignal::never())
            .await
            .unwrap();
        let expected = if all {
            vec!["b-small-one/f000002"]
        } else {
            vec![]
        };
        let candidates: Vec<_> = found.candidates.iter().map(|c| &*c.path).collect();
        assert_eq!(candidates, expected, "with a cap of {cap}");
        assert_eq!(found.complete, all);
        let limited = if all {
            LimitedBy::None
        } else {
            LimitedBy::MaxEntries
        };
        assert_eq!(found.limited_by, limited);
        assert_eq!(found.indexed, if all { 500_005 } else { cap });
        assert_eq!(paths(&host, AGENT, "b-small-one/").await.len(), 3);
        assert!(memory(&host) < 256 << 20);
    }
}
