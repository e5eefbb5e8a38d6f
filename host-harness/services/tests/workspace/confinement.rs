//! No spelling and no link leads out of the root.

use std::fs;

use dsh_services::workspace::{Directory, ListError, LocalDirectory, Outcome};

use crate::support::{Scene, directories, everything, list, names, walk};

#[test]
fn only_plain_ways_down_are_looked_up() {
    let scene = Scene::new().with(&["a/b/c"]);
    fs::write(scene.outside().join("secret"), "").unwrap();
    let absolute = scene.root().join("a").to_str().unwrap().to_owned();
    let outside = scene.outside().to_str().unwrap().to_owned();
    let long_segment = "x".repeat(256);
    let long_path = "a/".repeat(2_100) + "a";
    for directory in scene.directories() {
        for path in [
            "/",
            "//",
            "/etc",
            &absolute,
            &outside,
            ".",
            "..",
            "../root",
            "a/..",
            "a/../a",
            "a/../../root",
            "a/.",
            "./a",
            "a//b",
            "a/",
            "/a",
            "a/b/",
            "a\0",
            "\0",
            "a/\0",
            &long_segment,
            &long_path,
        ] {
            assert_eq!(
                names(&directory, path),
                Err(ListError::InvalidPath),
                "{path:?}"
            );
        }
        assert_eq!(directory.directories_read(), 0, "nothing was looked up");
        assert_eq!(names(&directory, "a/b"), Ok(vec!["c".to_owned()]));
    }
}

#[test]
fn what_other_systems_would_read_into_a_path_is_a_name_here() {
    let scene = Scene::new().with(&["a\\b/x", "c:/y", "~/z", "%2e%2e/u", "... /v"]);
    for directory in scene.directories() {
        for (path, name) in [
            ("a\\b", "x"),
            ("c:", "y"),
            ("~", "z"),
            ("%2e%2e", "u"),
            ("... ", "v"),
        ] {
            assert_eq!(
                names(&directory, path),
                Ok(vec![name.to_owned()]),
                "{path:?}"
            );
        }
        assert_eq!(names(&directory, "a/b"), Err(ListError::NotFound));
    }
}

#[test]
fn no_link_is_followed_wherever_it_points() {
    let scene = Scene::new().with(&["real/inner/file"]);
    let root = scene.root();
    fs::create_dir(scene.outside().join("beyond")).unwrap();
    fs::write(scene.outside().join("beyond/secret"), "").unwrap();
    let outside = scene.outside().join("beyond");
    let outside = outside.to_str().unwrap();
    let targets = [
        ("inside", "real".to_owned()),
        ("inside-slash", "real/".to_owned()),
        ("inside-dot", "real/.".to_owned()),
        ("itself", ".".to_owned()),
        ("itself-slash", "./".to_owned()),
        ("itself-absolute", root.to_str().unwrap().to_owned()),
        (
            "itself-absolute-slash",
            format!("{}/", root.to_str().unwrap()),
        ),
        ("parent", "..".to_owned()),
        ("parent-slash", "../".to_owned()),
        ("out", "../beyond".to_owned()),
        ("out-slash", "../beyond/".to_owned()),
        ("out-slashes", "../beyond///".to_owned()),
        ("out-absolute", outside.to_owned()),
        ("out-absolute-slash", format!("{outside}/")),
        ("top", "/".to_owned()),
        ("loop", "loop".to_owned()),
        ("loop-slash", "loop-slash/".to_owned()),
        ("dangling", "nowhere".to_owned()),
        ("dangling-slash", "nowhere/".to_owned()),
        ("file", "real/inner/file".to_owned()),
        ("file-slash", "real/inner/file/".to_owned()),
        ("proc", "/proc/self/root".to_owned()),
        ("proc-cwd-slash", "/proc/self/cwd/".to_owned()),
    ];
    for (link, target) in &targets {
        scene.link(link, target);
        scene.link(&format!("real/{link}"), target);
    }
    scene.link("chain", "out-slash");
    for directory in scene.directories() {
        for link in targets.iter().map(|(link, _)| *link).chain(["chain"]) {
            for path in [
                link.to_owned(),
                format!("{link}/inner"),
                format!("{link}/secret"),
                format!("{link}/beyond"),
            ] {
                assert_eq!(
                    names(&directory, &path),
                    Err(ListError::NotDirectory),
                    "{path:?}"
                );
            }
            if link != "chain" {
                assert_eq!(
                    names(&directory, &format!("real/{link}")),
                    Err(ListError::NotDirectory),
                    "real/{link}"
                );
            }
        }
        let found: Vec<String> = walk(&directory, &everything()).into_keys().collect();
        assert_eq!(
            found,
            ["real/", "real/inner/", "real/inner/file"],
            "no link is listed"
        );
    }
}

#[test]
fn a_root_that_is_a_link_is_followed() {
    let scene = Scene::new().with(&["a/b"]);
    for (link, target) in [
        ("absolute", scene.root().to_str().unwrap().to_owned()),
        ("relative", "root".to_owned()),
        ("slash", "root/".to_owned()),
    ] {
        let link = scene.outside().join(link);
        std::os::unix::fs::symlink(target, &link).unwrap();
        for directory in directories(&link) {
            assert_eq!(directory.path(), link.to_str().unwrap());
            assert_eq!(names(&directory, ""), Ok(vec!["a/".to_owned()]));
            assert_eq!(names(&directory, "a"), Ok(vec!["b".to_owned()]));
        }
    }
}

#[test]
fn the_root_may_be_missing_now_and_appear_later() {
    let scene = Scene::new();
    let place = scene.outside().join("later");
    for directory in directories(&place) {
        for path in ["", "a"] {
            assert_eq!(names(&directory, path), Err(ListError::NotFound));
        }
        fs::write(&place, "").unwrap();
        assert_eq!(names(&directory, ""), Err(ListError::NotDirectory));
        fs::remove_file(&place).unwrap();
        std::os::unix::fs::symlink("later", &place).unwrap();
        assert_eq!(
            names(&directory, ""),
            Err(ListError::NotDirectory),
            "a link to itself"
        );
        fs::remove_file(&place).unwrap();
        fs::create_dir_all(place.join("a")).unwrap();
        assert_eq!(names(&directory, ""), Ok(vec!["a/".to_owned()]));
        fs::remove_dir_all(&place).unwrap();
        assert_eq!(names(&directory, ""), Err(ListError::NotFound));
        assert_eq!(
            names(&directory, "../x"),
            Err(ListError::InvalidPath),
            "what is wrong anyway is told first"
        );
    }
}

#[test]
fn a_root_that_is_no_absolute_path_is_refused() {
    let _scene = Scene::new();
    for root in ["", ".", "src", "../", "/a\0"] {
        let directory = LocalDirectory::new(root);
        assert_eq!(directory.path(), root);
        assert_eq!(
            list(&directory, &["", "a"], &everything()),
            vec![Outcome::Failed(ListError::InvalidPath); 2],
            "{root:?}"
        );
    }
}
