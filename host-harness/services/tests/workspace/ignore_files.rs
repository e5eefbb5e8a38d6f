//! Which ignore files count, and what they may not do. What their lines mean is compared with git in `git_agreement`.

use std::fs;

use dsh_services::workspace::{ListError, Listing, Outcome};

use crate::support::{Scene, directories, hiding, ignored, list, marking, names, walk};

#[test]
fn nothing_is_marked_unless_asked_for() {
    let scene = Scene::new().with(&["a"]);
    scene.write(".gitignore", "*\n");
    for directory in scene.directories() {
        assert_eq!(names(&directory, "").unwrap(), [".gitignore", "a"]);
        assert_eq!(ignored(&directory), [".gitignore", "a"]);
    }
}

#[test]
fn files_nest_and_the_nearest_decides() {
    let scene = Scene::new().with(&[
        "x.log",
        "keep.log",
        "src/x.log",
        "src/keep.log",
        "src/deep/x.log",
        "src/deep/y",
    ]);
    scene.write(".gitignore", "*.log\n!keep.log\n");
    scene.write("src/.gitignore", "keep.log\n!/x.log\n/deep/y\n");
    for directory in scene.directories() {
        assert_eq!(
            ignored(&directory),
            ["src/deep/x.log", "src/deep/y", "src/keep.log", "x.log"]
        );
    }
}

#[test]
fn what_lies_in_an_ignored_directory_is_ignored() {
    let scene = Scene::new().with(&["out/a/b", "out/keep", "src/out/x"]);
    scene.write(".gitignore", "out/\n!out/keep\n!keep\n");
    scene.write("out/.gitignore", "!*\n");
    for directory in scene.directories() {
        assert_eq!(
            ignored(&directory),
            [
                "out/",
                "out/.gitignore",
                "out/a/",
                "out/a/b",
                "out/keep",
                "src/out/",
                "src/out/x"
            ]
        );
        // Also when it is listed without those above it.
        let Outcome::Listed(listing) = list(&directory, &["out/a"], &marking()).remove(0) else {
            panic!()
        };
        assert_eq!(listing.ignored, [0]);
        assert_eq!(
            list(&directory, &["out/a"], &hiding()),
            [Outcome::Listed(Listing::default())]
        );
        assert_eq!(
            list(&directory, &["out/missing"], &hiding()),
            [Outcome::Failed(ListError::NotFound)]
        );
    }
}

#[test]
fn dot_ignore_overrides_gitignore_and_that_the_exclude_file() {
    let scene = Scene::new().with(&["a", "b", "c", "d", "sub/a", "sub/c", "sub/d"]);
    scene.write(".git/info/exclude", "c\nd\n.git\n");
    scene.write(".gitignore", "a\nb\n!c\n");
    scene.write(".ignore", "!a\n");
    scene.write("sub/.gitignore", "a\n");
    for directory in scene.directories() {
        let mut found = ignored(&directory);
        found.retain(|path| !path.starts_with(".git/"));
        assert_eq!(found, ["b", "d", "sub/d"]);
    }
}

#[test]
fn hidden_entries_count_towards_no_limit() {
    let scene = Scene::new().with(&["a.o", "b.o", "c", "d", "e.o/x"]);
    scene.write(".gitignore", "*.o\n");
    let mut options = hiding();
    options.limit = 2;
    for directory in scene.directories() {
        let Outcome::Listed(listing) = list(&directory, &[""], &options).remove(0) else {
            panic!()
        };
        assert_eq!(
            (
                listing.names.as_str(),
                listing.omitted,
                listing.ignored.len()
            ),
            (".gitignore/c/", 1, 0)
        );
        assert_eq!(
            walk(&directory, &hiding()).into_keys().collect::<Vec<_>>(),
            [".gitignore", "c", "d"]
        );
        options.mark_ignored = true;
        assert_eq!(
            list(&directory, &[""], &options),
            [Outcome::Listed(listing)],
            "hiding implies marking"
        );
        options.mark_ignored = false;
    }
}

#[test]
fn files_above_the_root_count_up_to_the_repository() {
    let scene = Scene::new().with(&[
        "repo/pkg/app/a.o",
        "repo/pkg/app/b",
        "repo/pkg/app/c",
        "repo/pkg/app/d",
    ]);
    scene.write(".gitignore", "d\n");
    scene.write("repo/.git/info/exclude", "/pkg/app/c\n");
    scene.write("repo/.gitignore", "*.o\n");
    scene.write("repo/pkg/.ignore", "app/b\n");
    for directory in directories(scene.root().join("repo/pkg/app")) {
        assert_eq!(ignored(&directory), ["a.o", "b", "c"]);
    }
    // The link says where the root is, not where its parents are.
    scene.link("link", "repo/pkg/app");
    for directory in directories(scene.root().join("link")) {
        assert_eq!(ignored(&directory), ["a.o", "b", "c"]);
    }
}

#[test]
fn without_a_repository_the_files_of_the_root_and_below_count() {
    let scene = Scene::new().with(&["root/a", "root/b", "root/sub/a", "root/sub/c"]);
    scene.write(".gitignore", "c\n");
    scene.write("root/.gitignore", "a\n");
    scene.write("root/sub/.gitignore", "!a\n");
    for directory in directories(scene.root().join("root")) {
        assert_eq!(ignored(&directory), ["a"]);
    }
}

#[test]
fn a_repository_below_starts_afresh() {
    let scene = Scene::new().with(&["a", "inner/a", "inner/b", "inner/c", "inner/deep/a"]);
    fs::create_dir(scene.root().join(".git")).unwrap();
    scene.write(".gitignore", "a\n");
    scene.write(".ignore", "c\n");
    scene.write("inner/.git", "gitdir: elsewhere\n");
    scene.write("inner/.gitignore", "b\n");
    for directory in scene.directories() {
        assert_eq!(ignored(&directory), ["a", "inner/b", "inner/c"]);
    }
}

#[test]
fn a_root_inside_an_ignored_directory_is_not_ignored_as_a_whole() {
    for pattern in [
        "build/",
        "/build",
        "build/**",
        "build/*",
        "*",
        "/*\n",
        "**/app",
        "build/app/",
        "build\n*\n**\n/build/app\n[a-c]*",
    ] {
        let scene = Scene::new().with(&["build/app/x.log", "build/app/src/y"]);
        fs::create_dir(scene.root().join(".git")).unwrap();
        scene.write(".gitignore", &format!("*.log\n{pattern}\n"));
        for directory in directories(scene.root().join("build/app")) {
            assert_eq!(ignored(&directory), ["x.log"], "{pattern:?}");
        }
    }
}

#[test]
fn a_list_of_what_is_not_ignored_still_counts_inside() {
    let scene = Scene::new().with(&["app/x.rs", "app/x.o", "app/src/y.rs", "app/src/y"]);
    fs::create_dir(scene.root().join(".git")).unwrap();
    scene.write(".gitignore", "*\n!*/\n!*.rs\n");
    for directory in directories(scene.root().join("app")) {
        assert_eq!(ignored(&directory), ["src/y", "x.o"]);
    }
}

#[test]
fn more_patterns_against_the_root_than_can_be_left_out_singly() {
    let scene = Scene::new().with(&["app/a.o", "app/b.o"]);
    fs::create_dir(scene.root().join(".git")).unwrap();
    let many: String = (0..200).map(|count| format!("a*[p{count}]*\n")).collect();
    scene.write(".gitignore", &format!("{many}*.o\n"));
    scene.write(".ignore", "a.o\n");
    for directory in directories(scene.root().join("app")) {
        // That file is left out as a whole, the other one counts.
        assert_eq!(ignored(&directory), ["a.o"]);
    }
}

#[test]
fn only_real_and_small_files_are_read() {
    let scene = Scene::new().with(&[
        "a",
        "link/a",
        "folder/a",
        "folder/.gitignore/",
        "large/a",
        "at-most/a",
        "bytes/a",
        "bytes/b",
    ]);
    fs::write(scene.outside().join("rules"), "a\n").unwrap();
    scene.link("link/.gitignore", "../../rules");
    scene.link("link/.ignore", "../a");
    let large = "#".repeat((1 << 20) - 2) + "\na\n";
    scene.write("large/.gitignore", &large);
    scene.write("at-most/.gitignore", &large[1..]);
    fs::write(
        scene.root().join("bytes/.gitignore"),
        b"\xff\xfe\n\x00\nb\n",
    )
    .unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        scene.root().join(".gitignore"),
        rustix::fs::FileType::Fifo,
        mode,
        0,
    )
    .unwrap();
    for directory in scene.directories() {
        assert_eq!(ignored(&directory), ["at-most/a", "bytes/b"]);
    }
}

#[test]
fn the_exclude_file_is_not_sought_through_links() {
    let scene = Scene::new().with(&["a", "b/a"]);
    fs::create_dir_all(scene.outside().join("git/info")).unwrap();
    fs::write(scene.outside().join("git/info/exclude"), "a\n").unwrap();
    scene.link(".git", "../git");
    fs::create_dir(scene.root().join("b/.git")).unwrap();
    scene.link("b/.git/info", "../../../git/info");
    for directory in scene.directories() {
        assert_eq!(ignored(&directory), Vec::<String>::new());
    }
}

#[test]
fn an_edit_shows_at_once() {
    let scene = Scene::new().with(&["a", "b"]);
    for directory in scene.directories() {
        for (text, expected) in [("a\n", "a"), ("b\n", "b"), ("a\n", "a")] {
            scene.write(".gitignore", text);
            assert_eq!(
                ignored(&directory),
                [expected],
                "the same length and perhaps the same time"
            );
        }
    }
}
