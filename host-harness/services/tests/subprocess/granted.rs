//! What an owner can start through its grants, and what not.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

use crate::support::*;
use dsh_services::subprocess::{
    ArgvRule, AuthorizedPaths, Directories, EnvChange, GrantedSubprocess, Grants, LocalSubprocess,
    Process, ProgramGrant, SharedRoots, SpawnSpec, Subprocess, SubprocessError,
};

fn path_env() -> Vec<EnvChange> {
    vec![EnvChange::set("PATH", "/usr/bin:/bin")]
}

async fn granted(
    service: &Arc<LocalSubprocess>,
    programs: &[(&str, ArgvRule)],
    change: impl FnOnce(&mut Grants),
) -> GrantedSubprocess {
    let mut grants = Grants {
        directories: Directories::Any,
        ..Grants::default()
    };
    for (command, rule) in programs {
        let grant =
            ProgramGrant::resolve(service.as_ref(), *command, path_env(), rule.clone()).await;
        grants.programs.push(grant);
    }
    change(&mut grants);
    GrantedSubprocess::new(service.clone(), grants)
}

fn anything() -> ArgvRule {
    ArgvRule::Prefix(vec![])
}

async fn denial(owner: &GrantedSubprocess, spec: SpawnSpec) -> String {
    let asked = format!("{:?} in {:?}", spec.argv, spec.cwd);
    match owner.spawn(spec).await {
        Ok(_) => panic!("{asked} was started"),
        Err(error) => {
            assert_eq!(error.code(), Some("SUBPROCESS_DENIED"), "{asked}: {error}");
            error.to_string()
        }
    }
}

fn within(spec: SpawnSpec, cwd: &Path) -> SpawnSpec {
    SpawnSpec {
        cwd: cwd.to_str().unwrap().into(),
        ..spec
    }
}

#[tokio::test]
async fn a_granted_program_is_found_and_started() {
    for service in services() {
        let owner = granted(
            &service,
            &[("printf", ArgvRule::Exact(vec!["x".into()]))],
            |_| {},
        )
        .await;
        let path = owner
            .resolve_executable("printf", &path_env(), None)
            .await
            .unwrap();
        assert_eq!(path, "/usr/bin/printf");
        let process = owner.spawn(spec_with_path(&[&path, "x"])).await.unwrap();
        assert_eq!(output(process.as_ref()).await, "x");
    }
}

fn spec_with_path(argv: &[&str]) -> SpawnSpec {
    SpawnSpec {
        env: path_env(),
        ..spec(argv)
    }
}

#[tokio::test]
async fn another_program_is_refused_by_every_spelling() {
    let directory = tempfile::tempdir().unwrap();
    let to_granted = directory.path().join("to-granted");
    let to_other = directory.path().join("printf");
    symlink("/usr/bin/printf", &to_granted).unwrap();
    symlink("/bin/sh", &to_other).unwrap();
    let [service, _] = services();
    let owner = granted(&service, &[("printf", anything())], |_| {}).await;
    for program in [
        "/bin/sh",
        "sh",
        "printf",
        "./printf",
        "../usr/bin/printf",
        "/usr/bin/../bin/printf",
        "/usr/bin/../../bin/sh",
        "/usr//bin/printf",
        "/proc/self/exe",
        "/proc/self/root/usr/bin/printf",
        to_granted.to_str().unwrap(),
        to_other.to_str().unwrap(),
    ] {
        let text = denial(
            &owner,
            within(spec_with_path(&[program, "x"]), directory.path()),
        )
        .await;
        assert!(
            text.contains(program) && text.contains("/usr/bin/printf"),
            "{text}"
        );
        if program != "printf" {
            let error = owner
                .resolve_executable(program, &[], None)
                .await
                .unwrap_err();
            assert_eq!(error.code(), Some("SUBPROCESS_DENIED"), "{program}");
        }
    }
}

#[tokio::test]
async fn the_environment_cannot_put_another_program_in_its_place() {
    let directory = tempfile::tempdir().unwrap();
    symlink("/bin/sh", directory.path().join("printf")).unwrap();
    let evil = directory.path().to_str().unwrap();
    let [service, _] = services();
    let owner = granted(&service, &[("printf", anything())], |_| {}).await;
    for name in [
        "PATH",
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "LD_AUDIT",
        "DYLD_INSERT_LIBRARIES",
        "BASH_ENV",
    ] {
        let env = vec![EnvChange::set(name, evil)];
        let error = owner
            .resolve_executable("printf", &env, None)
            .await
            .unwrap_err();
        assert_eq!(error.code(), Some("SUBPROCESS_DENIED"));
        let text = denial(
            &owner,
            SpawnSpec {
                env,
                ..spec(&["/usr/bin/printf"])
            },
        )
        .await;
        assert!(text.contains(name), "{text}");
    }
    let env = vec![EnvChange::remove("HOME")];
    assert!(
        owner
            .spawn(SpawnSpec {
                env,
                ..spec(&["/usr/bin/printf", "x"])
            })
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn a_command_that_was_not_found_when_it_was_granted_says_why() {
    let [service, _] = services();
    let owner = granted(&service, &[("no-such-server", anything())], |_| {}).await;
    assert_eq!(
        owner
            .resolve_executable("no-such-server", &path_env(), None)
            .await,
        Err(SubprocessError::NotFound {
            command: "no-such-server".into()
        })
    );
    let text = denial(&owner, spec(&["no-such-server"])).await;
    assert!(text.contains("was not found on PATH"), "{text}");
}

#[tokio::test]
async fn the_working_directory_must_be_granted() {
    let all = tempfile::tempdir().unwrap();
    let base = all.path().canonicalize().unwrap();
    let (root, outside) = (base.join("root"), base.join("outside"));
    std::fs::create_dir_all(root.join("sub")).unwrap();
    std::fs::create_dir(&outside).unwrap();
    std::fs::create_dir(base.join("root-beside")).unwrap();
    symlink(&outside, root.join("out")).unwrap();
    symlink(outside.join("absent"), root.join("dangling")).unwrap();
    symlink(root.join("sub"), outside.join("in")).unwrap();
    symlink(&root, base.join("alias")).unwrap();
    let [service, _] = services();
    for granted_as in [root.clone(), base.join("alias")] {
        let owner = granted(&service, &[("pwd", anything())], |grants| {
            grants.directories = Directories::Within(vec![granted_as]);
        })
        .await;
        for (cwd, seen) in [
            (root.clone(), root.clone()),
            (root.join("sub"), root.join("sub")),
            (root.join("sub/.."), root.clone()),
            (outside.join("in"), root.join("sub")),
            (base.join("alias/sub"), root.join("sub")),
        ] {
            let process = owner
                .spawn(within(spec_with_path(&["/usr/bin/pwd"]), &cwd))
                .await
                .unwrap();
            assert_eq!(
                output(process.as_ref()).await.trim_end(),
                seen.to_str().unwrap()
            );
        }
        for cwd in [
            outside.clone(),
            root.join("out"),
            root.join(".."),
            root.join("sub/../../outside"),
            root.join("dangling"),
            root.join("dangling/x"),
            root.join("absent/../../outside"),
            base.join("root-beside"),
            "/".into(),
            "root".into(),
            "".into(),
        ] {
            let text = denial(&owner, within(spec_with_path(&["/usr/bin/pwd"]), &cwd)).await;
            assert!(text.contains("cwd") && text.contains("within"), "{text}");
        }
        let missing = within(spec_with_path(&["/usr/bin/pwd"]), &root.join("absent"));
        let process = owner.spawn(missing).await.unwrap();
        assert_eq!(
            soon(process.done()).await.unwrap_err().code(),
            Some("ENOENT")
        );
    }
}

#[tokio::test]
async fn a_shared_directory_is_granted_until_everybody_has_removed_it() {
    let all = tempfile::tempdir().unwrap();
    let root = all.path().canonicalize().unwrap();
    let roots = SharedRoots::default();
    let [service, _] = services();
    let owner = granted(&service, &[("pwd", anything())], |grants| {
        grants.directories = Directories::Shared(roots.clone());
    })
    .await;
    let pwd = || within(spec_with_path(&["/usr/bin/pwd"]), &root);
    denial(&owner, pwd()).await;
    roots.add(root.clone());
    roots.add(root.clone());
    roots.remove(&root);
    let process = owner.spawn(pwd()).await.unwrap();
    assert_eq!(
        output(process.as_ref()).await.trim_end(),
        root.to_str().unwrap()
    );
    roots.remove(&root);
    denial(&owner, pwd()).await;
    roots.remove(&root);
}

#[tokio::test]
async fn ripgrep_searches_only_what_is_authorised_for_the_call() {
    let [service, _] = services();
    let authorized = AuthorizedPaths::default();
    // Any program will do in its place: what counts here is what it is given.
    let owner = granted(
        &service,
        &[("echo", ArgvRule::Ripgrep(authorized.clone()))],
        |_| {},
    )
    .await;
    let search = |path: &str| {
        spec_with_path(&[
            "/usr/bin/echo",
            "--no-config",
            "--json",
            "--text",
            "--regexp=-x",
            "--",
            path,
        ])
    };
    denial(&owner, search("/spill/file")).await;
    let held = authorized.authorize("/spill/file");
    let process = owner.spawn(search("/spill/file")).await.unwrap();
    assert!(
        output(process.as_ref())
            .await
            .ends_with(" -- /spill/file\n")
    );
    denial(&owner, search("/etc/passwd")).await;
    drop(held);
    denial(&owner, search("/spill/file")).await;
}

#[tokio::test]
async fn live_processes_are_limited_until_their_trees_are_gone() {
    for service in services() {
        let owner = granted(
            &service,
            &[("sleep", anything()), ("sh", anything())],
            |grants| grants.max_live = 2,
        )
        .await;
        let sleep = || spec_with_path(&["/usr/bin/sleep", "1000"]);
        let first = owner.spawn(sleep()).await.unwrap();
        let _second = owner.spawn(sleep()).await.unwrap();
        let error = owner.spawn(sleep()).await.err().unwrap();
        assert_eq!(error, SubprocessError::TooMany { limit: 2 });
        assert_eq!(error.code(), Some("SUBPROCESS_LIMIT"));
        assert_eq!(
            error.to_string(),
            "too many live processes: the limit is 2; end one before starting another"
        );
        first.terminate();
        assert!(soon(first.wait_for_exit(None)).await);
        let third = start_when_vacant(&owner, sleep()).await;
        // A dropped handle makes room once its tree has ended, and one that never started makes room at once.
        drop(third);
        let missing = SpawnSpec {
            cwd: "/no/such".into(),
            ..sleep()
        };
        assert!(
            soon(start_when_vacant(&owner, missing).await.done())
                .await
                .is_err()
        );
        start_when_vacant(&owner, sleep()).await;
    }
}

async fn start_when_vacant(owner: &GrantedSubprocess, spec: SpawnSpec) -> Box<dyn Process> {
    soon(async {
        loop {
            match owner.spawn(spec.clone()).await {
                Ok(process) => return process,
                Err(SubprocessError::TooMany { .. }) => tokio::task::yield_now().await,
                Err(error) => panic!("{error}"),
            }
        }
    })
    .await
}

#[tokio::test]
async fn disposing_of_one_owner_leaves_the_others_processes_alone() {
    for service in services() {
        let one = granted(&service, &[("sleep", anything())], |_| {}).await;
        let other = granted(&service, &[("sleep", anything())], |_| {}).await;
        let sleep = || spec_with_path(&["/usr/bin/sleep", "1000"]);
        let (ours, theirs) = (
            one.spawn(sleep()).await.unwrap(),
            other.spawn(sleep()).await.unwrap(),
        );
        drop(ours.take_stdout());
        soon(one.dispose()).await.unwrap();
        assert!(!is_running(ours.pid().unwrap().cast_signed()));
        assert!(is_running(theirs.pid().unwrap().cast_signed()));
        assert_eq!(
            one.spawn(sleep()).await.err(),
            Some(SubprocessError::Disposed)
        );
        assert!(other.spawn(sleep()).await.is_ok());
    }
}
