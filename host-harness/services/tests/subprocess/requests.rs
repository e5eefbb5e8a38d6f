//! Which requests are refused, which fail, and how programs are found.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use dsh_services::subprocess::{
    EnvChange, LocalSubprocess, MAX_GRACE_MS, MAX_STDERR_BYTES, SpawnSpec, Subprocess,
    SubprocessError, abort_signal,
};

use crate::support::*;

#[tokio::test]
async fn a_grace_out_of_range_is_refused() {
    for service in services() {
        for grace_ms in [0, MAX_GRACE_MS + 1, u32::MAX] {
            let error = refusal(
                &service,
                SpawnSpec {
                    grace_ms,
                    ..sh("exit")
                },
            )
            .await;
            assert_eq!(error, SubprocessError::InvalidGrace { grace_ms });
            assert_eq!(
                error.to_string(),
                format!("invalid graceMs {grace_ms}: it must be 1 to 2147483647")
            );
        }
        for grace_ms in [1, MAX_GRACE_MS] {
            let process = start(
                &service,
                SpawnSpec {
                    grace_ms,
                    ..sh("exit")
                },
            )
            .await;
            drop(process.take_stdout());
            assert_eq!(soon(process.done()).await, code(0));
        }
    }
}

#[tokio::test]
async fn a_wrong_argv_cwd_env_or_bound_is_refused() {
    let [service, _] = services();
    assert!(
        refusal(&service, spec(&[]))
            .await
            .to_string()
            .starts_with("invalid argv: ")
    );
    assert!(
        refusal(&service, spec(&["", "x"]))
            .await
            .to_string()
            .starts_with("invalid argv: ")
    );
    assert_eq!(
        refusal(&service, spec(&["/bin/sh", "a\0b"]))
            .await
            .to_string(),
        "invalid argv: element 1 must not contain NUL"
    );
    for cwd in ["", ".", "tmp", "/tmp\0"] {
        let error = refusal(
            &service,
            SpawnSpec {
                cwd: cwd.into(),
                ..sh("exit")
            },
        )
        .await;
        assert_eq!(error, SubprocessError::InvalidCwd { cwd: cwd.into() });
    }
    let env = vec![EnvChange::set("A=B", "x")];
    assert!(matches!(
        refusal(&service, SpawnSpec { env, ..sh("exit") }).await,
        SubprocessError::InvalidEnv { .. }
    ));
    let stderr_max_bytes = MAX_STDERR_BYTES + 1;
    assert!(matches!(
        refusal(
            &service,
            SpawnSpec {
                stderr_max_bytes,
                ..sh("exit")
            }
        )
        .await,
        SubprocessError::StderrTooLarge { .. }
    ));
}

#[tokio::test]
async fn a_signal_that_is_set_already_refuses_the_start() {
    for service in services() {
        let (controller, signal) = abort_signal();
        controller.abort("stop");
        controller.abort("too late");
        let error = refusal(
            &service,
            SpawnSpec {
                signal: Some(signal),
                ..sh("exit")
            },
        )
        .await;
        assert_eq!(error.to_string(), "aborted before spawn: stop");
    }
}

#[tokio::test]
async fn a_missing_program_or_directory_fails_done_and_counts_as_gone() {
    for service in services() {
        let missing = spec(&["/no/such/program"]);
        let nowhere = SpawnSpec {
            cwd: "/no/such/directory".into(),
            ..sh("exit")
        };
        for spec in [missing, nowhere] {
            let (program, cwd) = (spec.argv[0].clone(), spec.cwd.clone());
            let process = start(&service, spec).await;
            assert_eq!(process.pid(), None);
            let error = soon(process.done()).await.unwrap_err();
            assert_eq!(error.code(), Some("ENOENT"));
            assert!(
                error
                    .to_string()
                    .contains(&format!("{program:?} in {cwd:?}")),
                "{error}"
            );
            process.terminate();
            assert!(soon(process.wait_for_exit(None)).await);
            assert!(soon(process.wait_for_exit(Some(Duration::ZERO))).await);
            assert!(process.take_stdout().is_none() && process.take_stdin().is_none());
            assert_eq!(process.stderr_tail(), "");
        }
    }
}

#[tokio::test]
async fn a_program_that_cannot_be_executed_fails_done_with_its_code() {
    let directory = tempfile::tempdir().unwrap();
    let plain = directory.path().join("plain");
    std::fs::write(&plain, "x").unwrap();
    for service in services() {
        for program in [plain.to_str().unwrap(), "/"] {
            let process = start(&service, spec(&[program])).await;
            assert_eq!(
                soon(process.done()).await.unwrap_err().code(),
                Some("EACCES"),
                "{program}"
            );
        }
    }
}

#[tokio::test]
async fn executables_are_found_as_the_rules_say() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    for name in ["first", "second"] {
        std::fs::create_dir(at(name)).unwrap();
    }
    for (name, mode) in [
        ("first/plain", 0o644),
        ("second/plain", 0o755),
        ("second/tool", 0o755),
        ("first/tool", 0o755),
    ] {
        std::fs::write(at(name), "").unwrap();
        std::fs::set_permissions(at(name), std::fs::Permissions::from_mode(mode)).unwrap();
    }
    std::fs::create_dir(at("first/directory")).unwrap();
    std::os::unix::fs::symlink(at("second/tool"), at("first/link")).unwrap();
    let [service, _] = services();
    let path = [EnvChange::set(
        "PATH",
        format!("{}::{}", at("first"), at("second")),
    )];
    let find = async |command: &str, env: &[EnvChange]| {
        let found = service.resolve_executable(command, env, None).await;
        found.map_err(|error| error.to_string())
    };
    // Directories of PATH are tried in order, and a file that cannot be executed is passed over.
    assert_eq!(find("tool", &path).await, Ok(at("first/tool")));
    assert_eq!(find("plain", &path).await, Ok(at("second/plain")));
    // Links are followed to judge, and not in the answer.
    assert_eq!(find("link", &path).await, Ok(at("first/link")));
    assert_eq!(
        find(&at("first/../first/link"), &[]).await,
        Ok(at("first/../first/link"))
    );
    for (command, error) in [
        ("", "executable must be non-empty".to_owned()),
        (
            "absent",
            "executable \"absent\" was not found on PATH".to_owned(),
        ),
        (
            "directory",
            "executable \"directory\" was not found on PATH".to_owned(),
        ),
        (
            "./tool",
            "executable \"./tool\" is a relative path; give an absolute path or a bare name"
                .to_owned(),
        ),
        (
            "first/tool",
            "executable \"first/tool\" is a relative path; give an absolute path or a bare name"
                .to_owned(),
        ),
        (
            &at("first/plain"),
            format!("{:?} is not an executable file", at("first/plain")),
        ),
        (
            &at("first/directory"),
            format!("{:?} is not an executable file", at("first/directory")),
        ),
        (
            &at("first/absent"),
            format!("{:?} is not an executable file", at("first/absent")),
        ),
    ] {
        assert_eq!(find(command, &path).await, Err(error));
    }
    // An empty PATH, or an empty entry, is not the working directory.
    for env in [
        vec![EnvChange::set("PATH", "")],
        vec![EnvChange::remove("PATH")],
        vec![EnvChange::set("PATH", ":")],
    ] {
        assert!(find("Cargo.toml", &env).await.is_err());
        assert_eq!(
            find("tool", &env).await,
            Err("executable \"tool\" was not found on PATH".into())
        );
    }
    // Without changes the host's own PATH counts.
    assert!(find("sh", &[]).await.is_ok());
    let (controller, signal) = abort_signal();
    controller.abort("stop");
    let error = service
        .resolve_executable("sh", &[], Some(&signal))
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "stop");
}

#[tokio::test]
async fn a_supervisor_that_is_none_is_reported() {
    for executable in ["/no/such/file", "/bin/true", "/bin/echo"] {
        let service = LocalSubprocess::new(Some(executable.into()));
        match service.spawn(sh("exit")).await {
            Ok(_) => panic!("{executable} started it"),
            Err(error) => assert_eq!(error.code(), Some("SUBPROCESS_LOST"), "{error}"),
        }
    }
}
