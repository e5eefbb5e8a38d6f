//! What resolving, looking and reading answer.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use dsh_services::fs::{FileSystem, FsErrorCode, LocalFileSystem, NodeKind};

use crate::support::*;

#[tokio::test]
async fn two_spellings_of_a_place_have_one_key_and_keep_their_display_paths() {
    let fixture = fixture();
    symlink(&fixture.root, fixture.outside.join("alias")).unwrap();
    let plain = fixture.target("a.txt").await;
    assert_eq!(plain.display_path(), text(&fixture.root.join("a.txt")));
    for spelling in [
        "./x/../a.txt",
        text(&fixture.root.join("a.txt")),
        text(&fixture.outside.join("alias/a.txt")),
    ] {
        let other = fixture.target(spelling).await;
        assert_eq!(other.key(), plain.key(), "{spelling}");
        assert_eq!(other.process_path(), text(&fixture.root.join("a.txt")));
    }
    let aliased = fixture
        .target(text(&fixture.outside.join("alias/a.txt")))
        .await;
    assert_eq!(
        aliased.display_path(),
        text(&fixture.outside.join("alias/a.txt"))
    );
}

#[tokio::test]
async fn a_relative_path_counts_from_cwd() {
    let fixture = fixture();
    fs::create_dir(fixture.root.join("d")).unwrap();
    let target = fixture.files.resolve("../a.txt", Some("d")).await.unwrap();
    assert_eq!(fixture.files.read_text(&target, 5).await.unwrap(), "alpha");
}

#[tokio::test]
async fn a_blank_path_and_a_file_used_as_a_directory_are_not_found() {
    let fixture = fixture();
    for path in ["", "  \t", "a\0b", "a.txt/b", "a.txt/b/c"] {
        assert_eq!(
            fixture.resolve_code(path).await,
            FsErrorCode::NotFound,
            "{path:?}"
        );
    }
    assert_eq!(fixture.files.lstat("a.txt/b", None).await, Ok(None));
    assert_eq!(fixture.files.lstat("a.txt/b/c", None).await, Ok(None));
}

#[tokio::test]
async fn a_missing_tail_resolves_and_has_no_metadata() {
    let fixture = fixture();
    symlink("gone", fixture.root.join("dangling")).unwrap();
    for (path, place) in [
        ("no/such", "no/such"),
        ("dangling", "gone"),
        ("dangling/x", "gone/x"),
    ] {
        let target = fixture.target(path).await;
        assert_eq!(target.process_path(), text(&fixture.root.join(place)));
        assert_eq!(fixture.files.stat(&target).await, Ok(None));
        let error = fixture.files.read_text(&target, 10).await.unwrap_err();
        assert_eq!(error.code, FsErrorCode::NotFound);
        assert!(error.message.starts_with(&target.display_path()), "{error}");
        assert_eq!(
            fixture.files.list_dir(&target).await.unwrap_err().code,
            FsErrorCode::NotFound
        );
    }
}

#[tokio::test]
async fn a_granted_directory_that_is_removed_has_no_metadata() {
    let fixture = fixture();
    let root = fixture.target(".").await;
    assert!(fixture.files.stat(&root).await.unwrap().is_some());
    std::fs::remove_dir_all(&fixture.root).unwrap();
    assert_eq!(fixture.files.stat(&root).await.unwrap(), None);
}

#[tokio::test]
async fn stat_follows_links_and_lstat_does_not() {
    let fixture = fixture();
    symlink("a.txt", fixture.root.join("link")).unwrap();
    symlink("nowhere", fixture.root.join("dangling")).unwrap();
    let info = fixture
        .files
        .stat(&fixture.target("link").await)
        .await
        .unwrap()
        .unwrap();
    assert_eq!((info.kind, info.size), (NodeKind::File, Some(5)));
    for link in ["link", "dangling"] {
        let info = fixture.files.lstat(link, None).await.unwrap().unwrap();
        assert_eq!((info.kind, info.size), (NodeKind::Symlink, None));
    }
    assert_eq!(fixture.files.lstat("absent", None).await, Ok(None));
    for root in [".", text(&fixture.root)] {
        let info = fixture.files.lstat(root, None).await.unwrap().unwrap();
        assert_eq!((info.kind, info.size), (NodeKind::Directory, None));
        assert_eq!(
            fixture
                .files
                .stat(&fixture.target(root).await)
                .await
                .unwrap()
                .unwrap(),
            info
        );
    }
}

#[tokio::test]
async fn the_version_changes_with_the_content() {
    let fixture = fixture();
    let target = fixture.target("a.txt").await;
    let before = fixture.files.stat(&target).await.unwrap().unwrap().version;
    assert_eq!(
        fixture.files.stat(&target).await.unwrap().unwrap().version,
        before
    );
    fs::write(fixture.root.join("a.txt"), "alphabet").unwrap();
    assert_ne!(
        fixture.files.stat(&target).await.unwrap().unwrap().version,
        before
    );
}

#[tokio::test]
async fn contains_goes_by_whole_components() {
    let fixture = fixture();
    let parent = fixture.target("d").await;
    for (child, contained) in [
        ("d", true),
        ("d/x", true),
        ("d/..x", true),
        ("dd", false),
        (".", false),
        ("d/../e", false),
    ] {
        assert_eq!(
            parent.contains(&fixture.target(child).await),
            contained,
            "{child}"
        );
    }
}

#[tokio::test]
async fn the_url_of_a_place_is_encoded() {
    let fixture = fixture();
    fs::create_dir(fixture.root.join("a b#%?~é\\")).unwrap();
    let url = fixture.target("a b#%?~é\\").await.file_url();
    assert!(
        url.starts_with("file:///") && url.ends_with("/root/a%20b%23%25%3F%7E%C3%A9%5C"),
        "{url}"
    );
}

#[tokio::test]
async fn text_is_utf8_without_mark_and_without_early_nul() {
    let fixture = fixture();
    let write = |name: &str, bytes: &[u8]| fs::write(fixture.root.join(name), bytes).unwrap();
    write("bom", b"\xef\xbb\xbfx\xef\xbb\xbf");
    write("latin", b"caf\xe9");
    write("nul", b"a\0b");
    let mut late = vec![b'a'; 8192];
    late.push(0);
    write("late-nul", &late);
    write("last-sampled", &late[1..]);
    write("empty", b"");
    let read = async |name: &str| {
        let target = fixture.target(name).await;
        fixture
            .files
            .read_text(&target, 10_000)
            .await
            .map_err(|error| error.code)
    };
    assert_eq!(read("bom").await.unwrap(), "x\u{feff}");
    assert_eq!(read("empty").await.unwrap(), "");
    assert_eq!(read("late-nul").await.unwrap().len(), 8193);
    for name in ["latin", "nul", "last-sampled"] {
        assert_eq!(read(name).await, Err(FsErrorCode::NotText), "{name}");
    }
    let target = fixture.target("nul").await;
    assert_eq!(fixture.files.read_bytes(&target, 3).await.unwrap(), b"a\0b");
}

#[tokio::test]
async fn the_size_bound_is_inclusive() {
    let fixture = fixture();
    let target = fixture.target("a.txt").await;
    assert_eq!(
        fixture.files.read_bytes(&target, 5).await.unwrap(),
        b"alpha"
    );
    assert_eq!(
        fixture.files.read_bytes(&target, u64::MAX).await.unwrap(),
        b"alpha"
    );
    for bound in [0, 4] {
        let error = fixture.files.read_bytes(&target, bound).await.unwrap_err();
        assert_eq!(error.code, FsErrorCode::TooLarge);
        assert!(
            error
                .message
                .contains(&format!("larger than {bound} bytes")),
            "{error}"
        );
    }
}

/// Such a file says that it is empty, so the bound must hold while reading, too.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_size_bound_holds_for_a_file_that_hides_its_size() {
    let proc = LocalFileSystem::new("/".into()).unwrap();
    proc.grant(Path::new("/proc")).unwrap();
    let target = proc.resolve("/proc/cpuinfo", None).await.unwrap();
    assert_eq!(
        proc.read_bytes(&target, 10).await.unwrap_err().code,
        FsErrorCode::TooLarge
    );
}

#[tokio::test]
async fn a_directory_lists_its_children_in_utf16_order_without_following_links() {
    let fixture = fixture();
    fs::create_dir(fixture.root.join("d")).unwrap();
    // By code unit the surrogates of the second come before U+FF5E; by code point they would not.
    for name in ["\u{ff5e}", "\u{1d11e}", "b", "B", "é"] {
        fs::write(fixture.root.join("d").join(name), "").unwrap();
    }
    symlink("/nowhere", fixture.root.join("d/link")).unwrap();
    fs::create_dir(fixture.root.join("d/dir")).unwrap();
    let children = fixture
        .files
        .list_dir(&fixture.target("d").await)
        .await
        .unwrap();
    let seen: Vec<_> = children
        .iter()
        .map(|child| (child.name.as_str(), child.kind))
        .collect();
    assert_eq!(
        seen,
        [
            ("B", NodeKind::File),
            ("b", NodeKind::File),
            ("dir", NodeKind::Directory),
            ("link", NodeKind::Symlink),
            ("é", NodeKind::File),
            ("\u{1d11e}", NodeKind::File),
            ("\u{ff5e}", NodeKind::File),
        ]
    );
    let error = fixture
        .files
        .list_dir(&fixture.target("a.txt").await)
        .await
        .unwrap_err();
    assert_eq!(error.code, FsErrorCode::NotDirectory);
}

#[tokio::test]
async fn a_name_that_is_not_utf8_is_listed_with_replacements() {
    use std::os::unix::ffi::OsStrExt;
    let fixture = fixture();
    fs::write(fixture.root.join(std::ffi::OsStr::from_bytes(b"x\xff")), "").unwrap();
    let children = fixture
        .files
        .list_dir(&fixture.target(".").await)
        .await
        .unwrap();
    assert!(children.iter().any(|child| child.name == "x\u{fffd}"));
}

/// Root reads everything, so there the mode changes nothing and the test is about the others' error only.
#[tokio::test]
async fn what_the_system_refuses_is_permission_denied() {
    let fixture = fixture();
    let path = fixture.root.join("a.txt");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    let expected = match fs::read(&path) {
        Ok(_) => Ok("alpha".to_owned()),
        Err(_) => Err(FsErrorCode::PermissionDenied),
    };
    assert_eq!(fixture.read("a.txt").await, expected);
}
