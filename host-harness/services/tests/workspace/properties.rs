//! What holds for any tree and any batch.

use dsh_services::workspace::{Directory, ListOptions, LocalDirectory, Outcome, Resolver};
use proptest::prelude::*;

use crate::support::{NEVER, Scene};

const FOLDERS: [&str; 6] = ["", "a", "a/b", "c", "missing", ".."];

fn held(outcome: &Outcome) -> u64 {
    if let Outcome::Listed(listing) = outcome {
        listing.kinds.len() as u64
    } else {
        0
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_batch_answers_as_its_directories_would_alone(
        files in proptest::collection::vec("(a/|a/b/|c/)?[a-e\u{e000}\u{10000}]{1,2}[.]x", 0..25),
        batch in proptest::collection::vec(0..FOLDERS.len(), 0..60),
        patterns in "([!/]?[a-e*][.]?[x/]?\n){0,3}",
        limit in prop_oneof![0_u64..30, Just(u64::MAX)],
        threads in 1_usize..9,
        mark_ignored: bool,
        hide_ignored: bool,
        exclude in proptest::option::of("[abc]"),
    ) {
        let scene = Scene::new().with(&["a/b/", "c/"]);
        for file in &files {
            scene.write(file, "");
        }
        scene.write(".gitignore", &patterns);
        let options = ListOptions { exclude_directories: exclude.into_iter().collect(), limit, mark_ignored, hide_ignored };
        let paths: Vec<String> = batch.iter().map(|folder| FOLDERS[*folder].to_owned()).collect();
        let mut answers = Vec::new();
        for resolver in [Resolver::Auto, Resolver::Segments] {
            let directory = LocalDirectory::new(scene.root().to_str().unwrap()).with_resolver(resolver).with_threads(threads);
            let answer = directory.list(&paths, &options, &NEVER);
            let mut before = 0_u64;
            let alone: Vec<Outcome> = paths.iter().map(|path| {
                if before >= limit {
                    return Outcome::Skipped;
                }
                let outcome = directory.list(std::slice::from_ref(path), &options, &NEVER).remove(0);
                before += held(&outcome);
                outcome
            }).collect();
            prop_assert_eq!(&answer, &alone);
            answers.push(answer);
        }
        prop_assert_eq!(&answers[0], &answers[1], "both resolvers answer alike");
        for outcome in &answers[0] {
            if let Outcome::Listed(listing) = outcome {
                prop_assert!(listing.kinds.len() as u64 <= limit);
                prop_assert_eq!(listing.names.matches('/').count(), listing.kinds.len());
                prop_assert!(listing.ignored.is_sorted_by(|a, b| a < b));
                prop_assert!(listing.ignored.last().is_none_or(|last| (*last as usize) < listing.kinds.len()));
                prop_assert!(listing.ignored.is_empty() || (mark_ignored && !hide_ignored));
                let names: Vec<&str> = listing.names.split_terminator('/').collect();
                prop_assert!(names.is_sorted_by(|a, b| a.encode_utf16().lt(b.encode_utf16())));
            }
        }
    }

    #[test]
    fn no_path_leads_to_anything_outside(path in "(\\.\\.|\\.|/|//|a|b|out|\u{0}|\\\\|é|\u{202e}){0,8}") {
        let scene = Scene::new().with(&["a/b/a/", "b/a/"]);
        std::fs::create_dir(scene.outside().join("secret")).unwrap();
        scene.link("out", "..");
        scene.link("a/out", "../../");
        for directory in scene.directories() {
            let outcome = directory.list(std::slice::from_ref(&path), &ListOptions { limit: 9, ..ListOptions::default() }, &NEVER).remove(0);
            if let Outcome::Listed(listing) = outcome {
                prop_assert!(!listing.names.contains("secret") && !listing.names.contains("root"), "{:?}", path);
            }
        }
    }
}
