//! How far a batch is read.

use std::fs;
use std::sync::atomic::AtomicBool;

use dsh_services::workspace::{
    Directory, ListError, ListOptions, LocalDirectory, Outcome, Resolver,
};

use crate::support::{NEVER, Scene, everything, list};

fn limited(limit: u64) -> ListOptions {
    ListOptions {
        limit,
        ..ListOptions::default()
    }
}

fn counts(outcomes: &[Outcome]) -> Vec<Option<(usize, u64)>> {
    let count = |outcome: &Outcome| match outcome {
        Outcome::Listed(listing) => Some((listing.kinds.len(), listing.omitted)),
        Outcome::Skipped => None,
        Outcome::Failed(error) => panic!("{error}"),
    };
    outcomes.iter().map(count).collect()
}

#[test]
fn a_directory_is_read_unless_those_before_it_hold_the_limit() {
    let scene = Scene::new().with(&["a/1", "a/2", "b/1", "b/2", "b/3", "b/4", "c/1"]);
    for directory in scene.directories() {
        let read = |limit| counts(&list(&directory, &["a", "b", "c"], &limited(limit)));
        assert_eq!(read(0), [None, None, None]);
        assert_eq!(read(1), [Some((1, 1)), None, None]);
        assert_eq!(read(2), [Some((2, 0)), None, None]);
        assert_eq!(read(3), [Some((2, 0)), Some((3, 1)), None]);
        assert_eq!(read(6), [Some((2, 0)), Some((4, 0)), None]);
        assert_eq!(read(7), [Some((2, 0)), Some((4, 0)), Some((1, 0))]);
        assert_eq!(read(u64::MAX), [Some((2, 0)), Some((4, 0)), Some((1, 0))]);
    }
}

#[test]
fn failures_hold_nothing_and_are_skipped_like_others() {
    let scene = Scene::new().with(&["a/1", "a/2"]);
    let options = limited(2);
    for directory in scene.directories() {
        let outcomes = list(
            &directory,
            &["missing", "..", "a", "missing", ".."],
            &options,
        );
        assert_eq!(
            outcomes[..2],
            [
                Outcome::Failed(ListError::NotFound),
                Outcome::Failed(ListError::InvalidPath)
            ]
        );
        assert_eq!(outcomes[3..], [Outcome::Skipped, Outcome::Skipped]);
    }
}

#[test]
fn no_paths_is_no_outcome() {
    for directory in Scene::new().directories() {
        assert!(list(&directory, &[], &everything()).is_empty());
    }
}

#[test]
fn threads_read_little_in_vain_and_answer_alike() {
    let scene = Scene::new();
    let paths: Vec<String> = (0..300).map(|number| format!("{number:03}")).collect();
    for path in &paths {
        scene.write(&format!("{path}/a"), "");
        scene.write(&format!("{path}/b"), "");
    }
    for resolver in [Resolver::Auto, Resolver::Segments] {
        for threads in [1, 2, 8, 100] {
            for limit in [0, 1, 99, 100, 599, 600, 601] {
                let directory = LocalDirectory::new(scene.root().to_str().unwrap())
                    .with_resolver(resolver)
                    .with_threads(threads);
                let outcomes = directory.list(&paths, &limited(limit), &NEVER);
                let listed = counts(&outcomes).iter().flatten().count();
                let needed = (limit as usize).div_ceil(2).min(300);
                assert_eq!(listed, needed, "{threads} threads, limit {limit}");
                assert!(
                    outcomes[listed..]
                        .iter()
                        .all(|outcome| *outcome == Outcome::Skipped)
                );
                let in_vain = directory.directories_read() as usize - needed;
                assert!(
                    in_vain < threads.min(8),
                    "{in_vain} directories read in vain by {threads} threads"
                );
            }
        }
    }
}

#[test]
fn of_a_huge_directory_the_first_names_are_returned_and_the_rest_counted() {
    let scene = Scene::new();
    let folder = scene.root();
    for number in 0..100_000 {
        fs::File::create(folder.join(format!("{number:05}"))).unwrap();
    }
    for directory in scene.directories() {
        let mut outcomes = list(&directory, &["", ""], &limited(10_000));
        assert_eq!(outcomes.pop(), Some(Outcome::Skipped));
        let Some(Outcome::Listed(listing)) = outcomes.pop() else {
            panic!("the first is listed")
        };
        assert_eq!((listing.kinds.len(), listing.omitted), (10_000, 90_000));
        assert!(
            listing
                .names
                .split_terminator('/')
                .eq((0..10_000).map(|number| format!("{number:05}")))
        );
        let stop = AtomicBool::new(true);
        assert_eq!(
            directory.list(&[String::new()], &everything(), &stop),
            [Outcome::Skipped]
        );
        assert_eq!(
            directory.directories_read(),
            1,
            "a stopped call opens nothing"
        );
    }
}

#[test]
fn a_call_can_be_stopped_while_it_reads() {
    let scene = Scene::new().with(&["a/", "b/"]);
    for number in 0..2_000 {
        fs::File::create(scene.root().join(format!("a/{number}"))).unwrap();
    }
    let paths: Vec<String> = (0..60_000)
        .map(|number| if number % 2 == 0 { "a" } else { "b" }.to_owned())
        .collect();
    for directory in scene.directories() {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let listing = scope.spawn(|| directory.list(&paths, &everything(), &stop));
            while directory.directories_read() == 0 && !listing.is_finished() {
                std::thread::yield_now();
            }
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            let outcomes = listing.join().unwrap();
            assert_eq!(outcomes.len(), paths.len());
            assert!(outcomes.contains(&Outcome::Skipped), "the call ended early");
            for (path, outcome) in paths.iter().zip(&outcomes) {
                let whole = if path == "a" { 2_000 } else { 0 };
                match outcome {
                    Outcome::Listed(listing) => assert_eq!(
                        listing.kinds.len(),
                        whole,
                        "no part of a directory is passed off as the whole"
                    ),
                    other => assert_eq!(*other, Outcome::Skipped),
                }
            }
        });
    }
}
