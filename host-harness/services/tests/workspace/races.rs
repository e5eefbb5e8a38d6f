//! What others do to the tree while it is read.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use dsh_services::workspace::{Directory, ListError, Outcome};

use crate::support::{NEVER, Scene, everything, marking, names, shown};

/// Runs `disturb` again and again on another thread while `work` runs.
fn while_disturbed(disturb: impl Fn() + Sync, work: impl FnOnce()) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                disturb();
            }
        });
        // The other thread has to end even when an assertion fails here.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        done.store(true, Ordering::Relaxed);
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    });
}

#[cfg(target_os = "linux")]
fn swap(a: &Path, b: &Path) {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_link_planted_between_check_and_use_is_harmless() {
    for (target, way) in [
        ("../../beyond", "a/door/deep"),
        ("../../beyond/", "a/door/deep"),
        ("../../beyond/deep/", "a/door"),
    ] {
        let scene = Scene::new().with(&["a/door/deep/inside"]);
        fs::create_dir_all(scene.outside().join("beyond/deep/secret")).unwrap();
        fs::write(scene.outside().join("beyond/deep/.gitignore"), "*").unwrap();
        scene.link("a/other", target);
        let (door, other) = (scene.root().join("a/door"), scene.root().join("a/other"));
        for directory in scene.directories() {
            let (mut inside, mut refused) = (0, 0);
            while_disturbed(
                || swap(&door, &other),
                || {
                    // Both sides of the race have to be seen, however the threads are scheduled.
                    for round in 0..200_000 {
                        if round >= 2_000 && inside > 100 && refused > 100 {
                            break;
                        }
                        let paths = [way.to_owned(), "a".to_owned(), "a/other/deep".to_owned()];
                        for outcome in directory.list(&paths, &marking(), &NEVER) {
                            match outcome {
                                Outcome::Listed(listing) => {
                                    assert!(
                                        !listing.names.contains("secret"),
                                        "{way}: {}",
                                        listing.names
                                    );
                                    assert!(
                                        listing.ignored.is_empty(),
                                        "an ignore file outside the root was read"
                                    );
                                    inside += 1;
                                }
                                Outcome::Failed(error) => {
                                    assert!(
                                        matches!(
                                            error,
                                            ListError::NotDirectory | ListError::NotFound
                                        ),
                                        "{error}"
                                    );
                                    refused += 1;
                                }
                                Outcome::Skipped => panic!("nothing limits this batch"),
                            }
                        }
                    }
                },
            );
            assert!(
                inside > 100 && refused > 100,
                "{inside} listed, {refused} refused"
            );
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_ignore_file_that_becomes_a_link_or_a_fifo_is_not_read() {
    let scene = Scene::new().with(&["name", "other"]);
    fs::write(scene.outside().join("beyond"), "name\n").unwrap();
    scene.write("beside", "name\n");
    scene.write(".gitignore", "other\n");
    let (file, planted) = (
        scene.root().join(".gitignore"),
        scene.root().join("planted"),
    );
    let plant_way_out = || std::os::unix::fs::symlink("../beyond", &planted).unwrap();
    let plant_link = || std::os::unix::fs::symlink("beside", &planted).unwrap();
    let plant_fifo = || {
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &planted,
            rustix::fs::FileType::Fifo,
            mode,
            0,
        )
        .unwrap();
    };
    for plant in [&plant_way_out as &dyn Fn(), &plant_link, &plant_fifo] {
        plant();
        for directory in scene.directories() {
            while_disturbed(
                || swap(&file, &planted),
                || {
                    for _ in 0..3_000 {
                        let Outcome::Listed(listing) = directory
                            .list(&[String::new()], &marking(), &NEVER)
                            .remove(0)
                        else {
                            panic!()
                        };
                        let names = shown(&listing);
                        let name = names.iter().position(|name| name == "name").unwrap() as u32;
                        assert!(
                            !listing.ignored.contains(&name),
                            "a line of another file counted"
                        );
                    }
                },
            );
        }
        // An odd number of swaps has left the names exchanged.
        if !file.symlink_metadata().unwrap().is_file() {
            swap(&file, &planted);
        }
        fs::remove_file(&planted).unwrap();
    }
}

#[test]
fn a_directory_deleted_while_it_is_listed_is_a_failure_or_a_listing() {
    let scene = Scene::new();
    let folder = scene.root().join("short-lived");
    for directory in scene.directories() {
        while_disturbed(
            || {
                fs::create_dir(&folder).unwrap();
                for number in 0..20 {
                    fs::write(folder.join(number.to_string()), "").unwrap();
                }
                fs::remove_dir_all(&folder).unwrap();
            },
            || {
                for _ in 0..3_000 {
                    match directory
                        .list(&["short-lived".to_owned()], &marking(), &NEVER)
                        .remove(0)
                    {
                        Outcome::Listed(listing) => assert!(listing.kinds.len() <= 20),
                        Outcome::Failed(error) => assert_eq!(error, ListError::NotFound),
                        Outcome::Skipped => panic!("nothing limits this batch"),
                    }
                }
            },
        );
    }
}

#[test]
fn the_root_can_be_replaced_between_calls() {
    let scene = Scene::new().with(&["old"]);
    for directory in scene.directories() {
        assert_eq!(names(&directory, ""), Ok(vec!["old".to_owned()]));
        fs::rename(scene.root(), scene.outside().join("moved")).unwrap();
        fs::create_dir(scene.root()).unwrap();
        assert_eq!(
            names(&directory, ""),
            Ok(vec![]),
            "the path counts, not the directory that was there first"
        );
        fs::remove_dir(scene.root()).unwrap();
        fs::rename(scene.outside().join("moved"), scene.root()).unwrap();
        assert!(matches!(
            directory.list(&[String::new()], &everything(), &NEVER)[..],
            [Outcome::Listed(_)]
        ));
    }
}
