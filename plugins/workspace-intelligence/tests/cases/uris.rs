//! SPEC 9: one spelling for each file URI.

use dsh_workspace_intelligence::uri::canonical;
use proptest::prelude::*;

fn assert_canonical(pairs: &[(&str, &str)]) {
    for (given, expected) in pairs {
        assert_eq!(canonical(given), *expected, "{given}");
    }
}

#[test]
fn other_schemes_and_what_is_no_uri_stay_as_they_are() {
    for uri in [
        "jdt://contents/a%2fb",
        "untitled:Untitled-1",
        "https://EXAMPLE/%7e",
        "",
        "/a/b",
        "file",
        "C:\\a",
        "file:a/b",
        "file://host",
    ] {
        assert_eq!(canonical(uri), uri);
    }
}

#[test]
fn the_scheme_and_the_authority_have_one_spelling() {
    assert_canonical(&[
        ("FILE:///a", "file:///a"),
        ("file:/a", "file:///a"),
        ("file://localhost/a", "file:///a"),
        ("file://LocalHost/a", "file:///a"),
        ("file://SRV/share/a", "file://srv/share/a"),
    ]);
}

#[test]
fn escapes_have_one_spelling() {
    assert_canonical(&[
        ("file:///a b", "file:///a%20b"),
        ("file:///%7Ea%2d", "file:///~a-"),
        ("file:///é", "file:///%C3%A9"),
        ("file:///%c3%a9", "file:///%C3%A9"),
        ("file:///a[1]^|", "file:///a%5B1%5D%5E%7C"),
        ("file:///proj%20%2341", "file:///proj%20%2341"),
        ("file:///a%2541", "file:///a%2541"),
        ("file:///a!$&'()*+,;=:@b", "file:///a!$&'()*+,;=:@b"),
    ]);
}

#[test]
fn escapes_that_name_no_path_leave_the_uri_alone() {
    for uri in [
        "file:///a%",
        "file:///a%4",
        "file:///a%zz",
        "file:///a%00b",
        "file:///a%ff",
        "file:///a%2Fb",
        "file:///c:/a%5Cb",
        "file://srv/a%5cb",
    ] {
        assert_eq!(canonical(uri), uri);
    }
    assert_canonical(&[("file:///a%5cb", "file:///a%5Cb")]);
}

#[test]
fn dots_are_resolved_and_trailing_slashes_stay() {
    assert_canonical(&[
        ("file:///a/./b/../c", "file:///a/c"),
        ("file:///../../a", "file:///a"),
        ("file:///a/", "file:///a/"),
        ("file:///a/.", "file:///a/"),
        ("file:///a/b/..", "file:///a/"),
        ("file:///a//b", "file:///a//b"),
        ("file:///a/%2e%2e/b", "file:///b"),
        ("file:///c:/../a", "file:///C:/a"),
        ("file:///...", "file:///..."),
    ]);
}

#[test]
fn drives_are_upper_case_with_a_plain_colon() {
    assert_canonical(&[
        ("file:///c%3A/x", "file:///C:/x"),
        ("file:///C:/x", "file:///C:/x"),
        ("file:///c:", "file:///C:"),
        ("file:///c:x", "file:///c:x"),
        ("file:///ab:/x", "file:///ab:/x"),
    ]);
}

#[test]
fn queries_and_fragments_stay_as_they_are() {
    assert_canonical(&[
        ("file:///a b#cell 1%2f", "file:///a%20b#cell 1%2f"),
        ("file:///a?x=%zz#y", "file:///a?x=%zz#y"),
    ]);
}

proptest! {
    #[test]
    fn doing_it_twice_changes_nothing(uri in "(file:|FILE:|x:)?/{0,4}(localhost|SRV|c:|c%3A)?(/|\\.|\\.\\.|%2e|%2F|%5C|\\\\|%|%41|%ff|[a-cé ~?#:]){0,8}") {
        let once = canonical(&uri);
        prop_assert_eq!(canonical(&once), once);
    }

    #[test]
    fn any_text_is_accepted(uri in "\\PC*") {
        let once = canonical(&uri);
        prop_assert_eq!(canonical(&once), once);
    }
}

/// SPEC 9.1: no file has so long a path.
#[test]
fn a_very_long_uri_stays_as_it_is() {
    for (bytes, touched) in [(65_536, true), (65_537, false)] {
        let uri = format!("file:///a/../{}", "b".repeat(bytes - "file:///a/../".len()));
        assert_eq!(canonical(&uri) != uri, touched, "{bytes}");
    }
}

proptest! {
    /// A stack of segments, which takes much more memory, gives the same.
    #[test]
    fn dot_segments_are_resolved_as_by_a_stack(drive in any::<bool>(), segments in proptest::collection::vec("\\.{0,3}|[ab]", 1..8)) {
        let mut kept: Vec<&str> = Vec::new();
        for (at, segment) in segments.iter().enumerate() {
            match segment.as_str() {
                "." | ".." => {
                    if segment == ".." {
                        kept.pop();
                    }
                    if at + 1 == segments.len() {
                        kept.push("");
                    }
                }
                other => kept.push(other),
            }
        }
        let (given, expected) = if drive { ("c:/", "C:/") } else { ("", "") };
        let uri = format!("file:///{given}{}", segments.join("/"));
        prop_assert_eq!(canonical(&uri), format!("file:///{expected}{}", kept.join("/")));
    }
}
