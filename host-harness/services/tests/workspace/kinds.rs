//! What is listed, and in which order.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixListener;

use dsh_services::workspace::{EntryKind, ListError, ListOptions, Listing, Outcome};

use crate::support::{Scene, everything, list, names};

#[test]
fn a_listing_has_names_and_kinds_in_order() {
    let scene = Scene::new().with(&["b", "a/", "c/d", ".hidden", "Z"]);
    let listing = Listing {
        names: ".hidden/Z/a/b/c/".to_owned(),
        kinds: vec![
            EntryKind::File,
            EntryKind::File,
            EntryKind::Directory,
            EntryKind::File,
            EntryKind::Directory,
        ],
        ..Listing::default()
    };
    for directory in scene.directories() {
        assert_eq!(
            list(&directory, &["", "a"], &everything()),
            [
                Outcome::Listed(listing.clone()),
                Outcome::Listed(Listing::default())
            ]
        );
    }
}

#[test]
fn sockets_fifos_and_devices_are_not_listed() {
    let scene = Scene::new().with(&["file"]);
    let _socket = UnixListener::bind(scene.root().join("socket")).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        scene.root().join("fifo"),
        rustix::fs::FileType::Fifo,
        mode,
        0,
    )
    .unwrap();
    for directory in scene.directories() {
        assert_eq!(names(&directory, ""), Ok(vec!["file".to_owned()]));
        for path in ["file", "socket", "fifo", "fifo/x"] {
            assert_eq!(
                names(&directory, path),
                Err(ListError::NotDirectory),
                "{path}"
            );
        }
    }
    #[cfg(target_os = "linux")]
    for directory in crate::support::directories("/dev") {
        let found = names(&directory, "").unwrap();
        assert!(!found.contains(&"null".to_owned()), "{found:?}");
    }
}

#[test]
fn names_are_ordered_by_utf16_code_units() {
    let scene = Scene::new().with(&[
        "\u{ffee}",
        "\u{1f600}",
        "\u{e000}",
        "z",
        "\u{e9}",
        "e\u{301}",
        "Z",
        "\u{d7ff}",
    ]);
    let sorted = [
        "Z",
        "e\u{301}",
        "z",
        "\u{e9}",
        "\u{d7ff}",
        "\u{1f600}",
        "\u{e000}",
        "\u{ffee}",
    ]
    .map(str::to_owned);
    for directory in scene.directories() {
        assert_eq!(names(&directory, "").unwrap(), sorted);
    }
}

#[test]
fn a_name_that_is_not_utf8_shows_replacement_characters() {
    let scene = Scene::new();
    for name in [&b"a\xff"[..], b"\xf0\x9f\x98", b"\xc3\x28", b"ok"] {
        if fs::create_dir(scene.root().join(OsStr::from_bytes(name))).is_err() {
            println!("SKIPPED: this file system has no names that are not UTF-8");
            return;
        }
    }
    for directory in scene.directories() {
        assert_eq!(
            names(&directory, "").unwrap(),
            ["a\u{fffd}/", "ok/", "\u{fffd}/", "\u{fffd}(/"]
        );
        assert_eq!(
            names(&directory, "a\u{fffd}"),
            Err(ListError::NotFound),
            "the shown name is not the real one"
        );
    }
}

#[test]
fn two_names_that_show_alike_are_listed_both() {
    let scene = Scene::new();
    for name in [&b"\xfe"[..], b"\xff"] {
        if fs::write(scene.root().join(OsStr::from_bytes(name)), "").is_err() {
            println!("SKIPPED: this file system has no names that are not UTF-8");
            return;
        }
    }
    for directory in scene.directories() {
        assert_eq!(names(&directory, "").unwrap(), ["\u{fffd}", "\u{fffd}"]);
    }
}

#[test]
fn excluded_names_are_those_of_directories_and_exact() {
    let scene = Scene::new().with(&[
        "skip/x", "Skip/", "skipped/", "a/skip", "a/.git/", "b/skip/y", ".git",
    ]);
    let options = ListOptions {
        exclude_directories: vec!["skip".to_owned(), ".git".to_owned()],
        limit: 4,
        ..ListOptions::default()
    };
    for directory in scene.directories() {
        let outcomes = list(&directory, &["", "a", "skip"], &options);
        let [Outcome::Listed(root), later @ ..] = &outcomes[..] else {
            panic!("{outcomes:?}")
        };
        // Excluded entries count neither towards the limit nor as left out.
        assert_eq!((root.names.as_str(), root.omitted), (".git/Skip/a/b/", 1));
        assert_eq!(later, [Outcome::Skipped, Outcome::Skipped]);
        let [Outcome::Listed(inner), Outcome::Listed(named)] =
            &list(&directory, &["a", "skip"], &options)[..]
        else {
            panic!()
        };
        assert_eq!(inner.names, "skip/", "a file of an excluded name is listed");
        assert_eq!(
            named.names, "x/",
            "an excluded directory can still be named"
        );
    }
}
