//! Trees far larger than the index may become: SPEC.md of file-reference-local, section 4.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "this is how a test fails"
)]

use dsh_host::{AbortSignal, Host, LimitedBy, SearchResult};
use dsh_tests::hosts::{COMPLETION, agent, host_with, mount, paths};
use dsh_tests::workspaces::Imagined;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

const AGENT: &str = "agent";

async fn host_on(tree: &Imagined, max_entries: usize) -> Host {
    let host = host_with(Arc::new(tree.clone()));
    mount(&host, COMPLETION, json!({"maxEntries": max_entries}))
        .await
        .unwrap();
    agent(&host, AGENT, Path::new("/imagined")).await;
    host
}

async fn search(host: &Host, query: &str) -> SearchResult {
    host.search_file_references(AGENT, query, &AbortSignal::never())
        .await
        .unwrap()
}

fn memory(host: &Host) -> usize {
    host.memory(COMPLETION).expect("the plugin is mounted")
}

fn folders(count: usize, files: usize) -> Vec<(String, usize)> {
    (0..count)
        .map(|folder| (format!("a-folder-{folder:03}"), files))
        .collect()
}

#[tokio::test]
async fn no_more_of_a_large_tree_is_read_than_the_index_may_hold() {
    const CAP: usize = 10_000;
    let (count, files) = (300, 1_000);
    let tree = Imagined::new(folders(count, files));
    let host = host_on(&tree, CAP).await;
    let found = search(&host, "f000999").await;
    assert_eq!(found.candidates[0].path, "a-folder-000/f000999");
    assert_eq!(found.indexed, CAP as u64);
    assert!(matches!(found.limited_by, LimitedBy::MaxEntries));
    // The root, and the folders up to the one that fills the index: a folder is the least that is read.
    assert_eq!(tree.directories(), 1 + (CAP - count).div_ceil(files));
    assert!(tree.entries() < CAP + files);
}

#[tokio::test]
async fn an_index_takes_less_than_a_hundred_bytes_an_entry() {
    let (count, files) = (100, 1_000);
    let entries = count * (files + 1);
    let host = host_on(&Imagined::new(folders(count, files)), entries).await;
    let before = memory(&host);
    let found = search(&host, "f000999").await;
    assert!(matches!(found.limited_by, LimitedBy::None));
    assert_eq!(found.indexed, entries as u64);
    // All that the first query needed is counted, the listings that crossed the boundary included.
    let taken = (memory(&host) - before) / entries;
    println!("{taken} bytes an entry");
    assert!(taken < 100, "{taken} bytes an entry");
}

#[tokio::test]
async fn a_folder_of_half_a_million_entries_neither_fills_the_memory_nor_hides_the_others() {
    let huge = ("a-huge-one".to_owned(), 500_000);
    let tree = Imagined::new(vec![huge, ("b-small-one".to_owned(), 3)]);
    for (cap, all) in [(10_000, false), (600_000, true)] {
        let host = host_on(&tree, cap).await;
        let found = search(&host, "bsmallf000002").await;
        let paths_found: Vec<_> = found.candidates.iter().map(|found| &*found.path).collect();
        if all {
            assert_eq!(paths_found, ["b-small-one/f000002"]);
            assert!(matches!(found.limited_by, LimitedBy::None));
            assert_eq!(found.indexed, 500_005);
        } else {
            assert!(paths_found.is_empty());
            assert!(matches!(found.limited_by, LimitedBy::MaxEntries));
            assert_eq!(found.indexed, cap as u64);
        }
        assert_eq!(paths(&host, AGENT, "b-small-one/").await.len(), 3);
        println!("a cap of {cap}: {} MiB", memory(&host) >> 20);
        assert!(memory(&host) < 256 << 20);
    }
}
