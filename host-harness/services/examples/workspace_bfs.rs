//! Walks a tree breadth-first the way a plugin does and prints how long it took: `workspace_bfs ROOT [BATCH] [ROUNDS]`.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use dsh_services::workspace::{Directory, EntryKind, ListOptions, LocalDirectory, Outcome};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let root = arguments
        .next()
        .ok_or("usage: workspace_bfs ROOT [BATCH] [ROUNDS]")?;
    let batch = arguments
        .next()
        .map_or(Ok(256), |text| text.parse::<usize>())?;
    let rounds = arguments.next().map_or(Ok(5), |text| text.parse::<u32>())?;
    let threads = std::env::var("THREADS")
        .ok()
        .map_or(Ok(2), |text| text.parse::<usize>())?;
    let options = ListOptions {
        limit: 1 << 20,
        mark_ignored: std::env::var_os("MARK").is_some(),
        ..ListOptions::default()
    };
    let directory = LocalDirectory::new(root).with_threads(threads);
    let stop = AtomicBool::new(false);
    for _ in 0..rounds {
        let start = Instant::now();
        let (mut queue, mut next, mut entries, mut ignored) = (vec![String::new()], 0, 0_usize, 0);
        while next < queue.len() {
            let end = queue.len().min(next + batch);
            let outcomes = directory.list(&queue[next..end], &options, &stop);
            for (at, outcome) in (next..end).zip(outcomes) {
                let Outcome::Listed(listing) = outcome else {
                    continue;
                };
                entries += listing.kinds.len();
                ignored += listing.ignored.len();
                for (name, kind) in listing.names.split_terminator('/').zip(&listing.kinds) {
                    if *kind == EntryKind::Directory {
                        let path = if queue[at].is_empty() {
                            name.to_owned()
                        } else {
                            format!("{}/{name}", queue[at])
                        };
                        queue.push(path);
                    }
                }
            }
            next = end;
        }
        println!(
            "{entries} entries ({ignored} ignored) in {} directories: {:?}",
            queue.len(),
            start.elapsed()
        );
    }
    let single = [String::from("src")];
    let start = Instant::now();
    for _ in 0..1_000 {
        directory.list(&single, &options, &stop);
    }
    println!("one directory: {:?}", start.elapsed() / 1_000);
    Ok(())
}
