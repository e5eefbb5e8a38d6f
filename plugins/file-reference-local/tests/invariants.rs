//! What must hold for every tree, query and host.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "this is how a test fails"
)]

mod support;

use dsh_file_reference_local::builder::LimitedBy;
use dsh_file_reference_local::config::Config;
use dsh_file_reference_local::grammar::{active_at_token, format_file_mention};
use dsh_file_reference_local::index::Index;
use dsh_file_reference_local::listing::resolve;
use dsh_file_reference_local::rank::rank;
use dsh_file_reference_local::suggest::suggest;
use dsh_file_reference_local::workspace::{Kind, Outcome};
use proptest::prelude::*;

use support::memory::{self, memory};
use support::reference::{self, Memory};

fn paths(index: &Index) -> Vec<(String, Kind, bool)> {
    let path = |entry: usize| {
        [
            index.prefix(index.holder(entry)),
            index.names().original(entry),
        ]
        .concat()
    };
    (0..index.len())
        .map(|e| (path(e), index.kind(e), index.is_ignored(e)))
        .collect()
}

fn query() -> impl Strategy<Value = String> {
    prop_oneof![memory::name(), "[a-c.]{1,3}", "\\PC{0,3}"]
        .prop_filter("no separator", |q| !q.contains(['/', '\\']))
}

fn limit() -> impl Strategy<Value = u64> {
    prop_oneof![1..6_u64, Just(20), Just((1 << 53) - 1)]
}

fn ranked(index: &Index, query: &str, limit: u64) -> Vec<String> {
    rank(index, query, limit)
        .into_iter()
        .map(|candidate| candidate.path)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_index_is_the_breadth_first_order_however_the_host_answers(tree in memory(), limit in 1..40_u64, most in 1..5_usize) {
        let built = tree.build(limit, most);
        let expected = tree.breadth_first(limit as usize);
        let expected: Vec<_> = expected.into_iter().map(|e| (e.path, e.kind, e.ignored)).collect();
        prop_assert_eq!(paths(&built.index), expected);
        if built.limited_by == LimitedBy::None {
            prop_assert_eq!(built.index.len(), tree.breadth_first(usize::MAX).len());
        }
    }

    #[test]
    fn ranking_the_index_is_ranking_whole_paths(tree in memory(), query in query(), limit in limit()) {
        let built = tree.build(u64::MAX, usize::MAX);
        let entries = tree.breadth_first(usize::MAX);
        let expected = reference::rank(&entries, &query, usize::try_from(limit).unwrap());
        prop_assert_eq!(ranked(&built.index, &query, limit), expected);
    }

    #[test]
    fn ranking_a_listing_is_ranking_its_displayed_paths(tree in memory(), prefix in "([a-cA-CΣ😀é]{1,3}/){1,3}|(a{50}/)*", query in query(), limit in limit()) {
        let Outcome::Listed(listing) = tree.list("", u64::MAX) else { unreachable!() };
        let index = Index::of_listing(&prefix, &listing);
        let mut entries = tree.breadth_first(listing.kinds.len());
        entries.retain(|entry| query.starts_with('.') || !entry.path.starts_with('.'));
        for entry in &mut entries {
            entry.path.insert_str(0, &prefix);
        }
        let expected = reference::rank(&entries, &query, usize::try_from(limit).unwrap());
        prop_assert_eq!(ranked(&index, &query, limit), expected);
    }

    #[test]
    fn suggestions_are_visible_and_near(tree in memory(), query in query(), limit in limit()) {
        let built = tree.build(u64::MAX, usize::MAX);
        let found = suggest(&built.index, &query, limit);
        prop_assert!(found.len() as u64 <= limit);
        prop_assert!(query.chars().count() >= 3 || found.is_empty());
        if !query.starts_with('.') {
            prop_assert!(found.iter().all(|c| c.path.split('/').all(|segment| !segment.starts_with('.'))));
        }
        // Over ASCII the shortcuts must leave out nothing that the plain rule lets in.
        let ascii = |text: &str| text.is_ascii();
        if ascii(&query) && limit > 100 && query.len() >= 3 {
            let allowed = (query.len() / 4).clamp(1, 3);
            let expected = tree.breadth_first(usize::MAX).into_iter().filter(|entry| {
                let name = entry.name().to_lowercase();
                let stem = match name.rfind('.') { None | Some(0) => name.as_str(), Some(dot) => &name[..dot] };
                let near = |text: &str| strsim::osa_distance(&query.to_lowercase(), text) <= allowed;
                let shown = query.starts_with('.') || !entry.path.split('/').any(|segment| segment.starts_with('.'));
                ascii(entry.name()) && shown && (near(&name) || near(stem))
            }).count();
            let ascii_found = found.iter().filter(|c| ascii(c.path.rsplit('/').next().unwrap())).count();
            prop_assert_eq!(ascii_found, expected);
        }
    }

    #[test]
    fn any_line_and_cursor_make_a_token_or_none(line in "[a@\" \u{feff}\u{85}😀/\n]{0,12}|\\PC*", cursor in 0..16_usize) {
        if let Some(token) = active_at_token(&line, cursor) {
            let head: Vec<u16> = line.encode_utf16().take(cursor).collect();
            let mark = if token.quoted { "@\"" } else { "@" };
            prop_assert_eq!(&token.prefix, &[mark, &token.query].concat());
            let mut prefix: Vec<u16> = token.prefix.encode_utf16().collect();
            if let Some(split) = token.split_surrogate {
                prop_assert_eq!(prefix.pop(), Some(0xfffd));
                prefix.push(split);
            }
            prop_assert!(head.ends_with(&prefix));
        }
    }

    #[test]
    fn a_written_mention_is_read_back(path in "[a-c é😀./@]{1,8}|\\PC{1,5}", directory: bool, quote: bool) {
        let kind = if directory { Kind::Directory } else { Kind::File };
        let Some(text) = format_file_mention(&path, kind, quote) else {
            prop_assert!(path.chars().any(|c| c == '"' || c.is_control()));
            return Ok(());
        };
        // A file's closing quote ends the mention; up to there it is one.
        let open = text.strip_suffix('"').unwrap_or(&text);
        let token = active_at_token(open, usize::MAX).unwrap();
        let slash = if directory { "/" } else { "" };
        prop_assert_eq!(token.query, [&path, slash].concat());
        prop_assert_eq!(token.quoted, text.starts_with("@\""));
    }

    #[test]
    fn a_resolved_directory_is_relative_and_folded(root in "(/[ab]{1,2}){0,3}", typed in "(/|[ab.]{0,3}/){0,6}") {
        if let Some(inside) = resolve(&root, &typed, &Config::default()) {
            prop_assert!(inside.is_empty() || inside.split('/').all(|s| !matches!(s, "" | "." | "..")));
        }
    }
}

#[test]
fn names_that_differ_in_composition_alone_are_suggested_both_ways() {
    let file = |name: &str| Memory::new(vec![(vec![name.to_owned()], false, false)]);
    for (name, query) in [
        ("re\u{301}sume\u{301}.txt", "résumé"),
        ("Résumé.txt", "re\u{301}sume\u{301}"),
    ] {
        let index = file(name).build(u64::MAX, usize::MAX).index;
        assert!(rank(&index, query, 20).is_empty());
        let found = suggest(&index, query, 20);
        assert_eq!(found.len(), 1, "{query} for {name}");
        assert_eq!(found[0].path, name);
    }
}

#[test]
fn the_nearest_name_is_suggested_first() {
    let names = [
        "router.ts",
        "reuter.ts",
        "routers.ts",
        "README.md",
        ".routr",
    ];
    let files = names
        .map(|name| (vec![name.to_owned()], false, false))
        .to_vec();
    let index = Memory::new(files).build(u64::MAX, usize::MAX).index;
    let found: Vec<String> = suggest(&index, "rotuer", 20)
        .into_iter()
        .map(|c| c.path)
        .collect();
    assert_eq!(found, ["router.ts"]);
    let found: Vec<String> = suggest(&index, "ruoters.ts", 20)
        .into_iter()
        .map(|c| c.path)
        .collect();
    assert_eq!(found, ["routers.ts", "router.ts"]);
    assert!(
        suggest(&index, "rt", 20).is_empty(),
        "two characters are near to too much"
    );
}

#[test]
fn what_is_missing_from_an_index_is_told() {
    let two = |name: &str| (vec![name.to_owned(), "x".to_owned()], false, false);
    let tree = Memory::new(vec![two("a"), two("b")]);
    let limits = [
        (1, LimitedBy::MaxEntries),
        (3, LimitedBy::MaxEntries),
        (4, LimitedBy::None),
        (5, LimitedBy::None),
    ];
    for (limit, expected) in limits {
        assert_eq!(
            tree.build(limit, usize::MAX).limited_by,
            expected,
            "{limit}"
        );
    }
    let silent = tree.build(9, 0);
    assert_eq!(
        (silent.index.len(), silent.limited_by),
        (0, LimitedBy::Unreadable(1))
    );
}
