//! How `LocalSubprocess` starts programs and what it says of them, without and with a supervisor.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use dsh_services::subprocess::{
    EnvChange, Exit, LocalSubprocess, MAX_GRACE_MS, MAX_STDERR_BYTES, SpawnSpec, Subprocess,
    SubprocessError, abort_signal,
};
use support::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn code(code: i32) -> Result<Exit, SubprocessError> {
    Ok(Exit {
        code: Some(code),
        signal: None,
    })
}

fn signal(name: &str) -> Result<Exit, SubprocessError> {
    Ok(Exit {
        code: None,
        signal: Some(name.into()),
    })
}

/// Starts nothing; returns why.
async fn refusal(service: &LocalSubprocess, spec: SpawnSpec) -> SubprocessError {
    match service.spawn(spec).await {
        Ok(_) => panic!("it was started"),
        Err(error) => error,
    }
}

#[tokio::test]
async fn the_exit_code_is_reported() {
    for service in services() {
        let process = start(&service, sh("exit 42")).await;
        drop(process.take_stdout());
        assert_eq!(soon(process.done()).await, code(42));
        assert!(soon(process.wait_for_exit(None)).await);
        assert_eq!(soon(process.done()).await, code(42), "asked again");
    }
}

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
async fn a_signal_that_is_set_later_terminates() {
    for service in services() {
        let (controller, abort) = abort_signal();
        let process = start(
            &service,
            SpawnSpec {
                signal: Some(abort),
                ..spec(&["/bin/sleep", "1000"])
            },
        )
        .await;
        drop(process.take_stdout());
        controller.abort("stop");
        assert_eq!(soon(process.done()).await, signal("SIGTERM"));
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
async fn a_trapped_request_to_end_becomes_a_kill_after_the_grace() {
    for service in services() {
        let script = "trap '' TERM; echo ready; while :; do sleep 1; done";
        let process = start(
            &service,
            SpawnSpec {
                grace_ms: 50,
                ..sh(script)
            },
        )
        .await;
        let mut lines = lines(process.as_ref());
        assert_eq!(soon(lines.next_line()).await.unwrap().unwrap(), "ready");
        process.terminate();
        process.terminate();
        assert_eq!(soon(lines.next_line()).await.unwrap(), None);
        assert_eq!(soon(process.done()).await, signal("SIGKILL"));
        process.terminate();
        assert!(soon(process.wait_for_exit(None)).await);
    }
}

#[tokio::test]
async fn a_request_to_end_can_be_answered_with_an_exit_code() {
    for service in services() {
        let script = "trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done";
        let process = start(&service, sh(script)).await;
        let mut lines = lines(process.as_ref());
        soon(lines.next_line()).await.unwrap().unwrap();
        process.terminate();
        drop(lines);
        assert_eq!(soon(process.done()).await, code(7));
    }
}

#[tokio::test]
async fn the_program_leads_a_process_group_of_its_own() {
    for service in services() {
        let process = start(&service, spec(&["/bin/sleep", "1000"])).await;
        let pid = process.pid().unwrap().cast_signed();
        assert_eq!(stat(pid).unwrap().2, pid);
        process.terminate();
    }
}

#[tokio::test]
async fn output_held_open_by_others_delays_done_by_the_grace_and_no_longer() {
    for service in services() {
        let script = "echo kept >&2; setsid sleep 1000 & echo $!; exit 0";
        let process = start(
            &service,
            SpawnSpec {
                grace_ms: 100,
                ..sh(script)
            },
        )
        .await;
        let before = Instant::now();
        let mut lines = lines(process.as_ref());
        let holder = next_pid(&mut lines).await;
        assert_eq!(soon(process.done()).await, code(0));
        assert!(before.elapsed() >= Duration::from_millis(90));
        assert!(is_running(holder));
        assert_eq!(process.stderr_tail(), "kept\n");
        kill(holder);
        // Standard output is the caller's, and is not closed by the host.
        assert_eq!(soon(lines.next_line()).await.unwrap(), None);
        assert!(soon(process.wait_for_exit(None)).await);
    }
}

#[tokio::test]
async fn done_waits_until_the_output_was_read() {
    for service in services() {
        let process = start(&service, sh("echo out")).await;
        eventually("the program has ended", || {
            !is_running(process.pid().unwrap().cast_signed())
        })
        .await;
        assert!(
            tokio::time::timeout(Duration::from_millis(50), process.done())
                .await
                .is_err()
        );
        assert_eq!(output(process.as_ref()).await, "out\n");
        assert_eq!(soon(process.done()).await, code(0));
    }
}

#[tokio::test]
async fn without_a_pipe_standard_input_is_at_its_end() {
    for service in services() {
        let process = start(&service, spec(&["/bin/cat"])).await;
        assert!(process.take_stdin().is_none());
        assert_eq!(output(process.as_ref()).await, "");
        assert_eq!(soon(process.done()).await, code(0));
    }
}

#[tokio::test]
async fn what_is_written_comes_back_through_the_pipes() {
    for service in services() {
        let process = start(
            &service,
            SpawnSpec {
                stdin: true,
                ..spec(&["/bin/cat"])
            },
        )
        .await;
        let mut stdin = process.take_stdin().unwrap();
        assert!(process.take_stdin().is_none());
        let mut stdout = process.take_stdout().unwrap();
        assert!(process.take_stdout().is_none());
        let bytes: Vec<u8> = (0..3_000_000_u32).map(|i| (i * 31 >> 3) as u8).collect();
        let mut back = Vec::new();
        let write = async {
            stdin.write_all(&bytes).await.unwrap();
            stdin.shutdown().await.unwrap();
            assert!(stdin.write_all(b"x").await.is_err());
        };
        let (_, read) = soon(async { tokio::join!(write, stdout.read_to_end(&mut back)) }).await;
        read.unwrap();
        assert!(back == bytes);
        assert_eq!(soon(process.done()).await, code(0));
    }
}

#[tokio::test]
async fn input_that_nobody_reads_does_not_fail_the_process() {
    for service in services() {
        let process = start(
            &service,
            SpawnSpec {
                stdin: true,
                ..sh("exit 3")
            },
        )
        .await;
        drop(process.take_stdout());
        let mut stdin = process.take_stdin().unwrap();
        let error = soon(stdin.write_all(&vec![0; 1 << 20])).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
        assert_eq!(soon(process.done()).await, code(3));
    }
}

#[tokio::test]
async fn arguments_are_passed_verbatim_and_no_shell_expands_them() {
    let arguments = [
        "$HOME", "*", "a b", "", "'", "\"", "\\", "ü\n", "`id`", "~", "; exit 1",
    ];
    for service in services() {
        let mut argv = vec!["/usr/bin/printf", "<%s>"];
        argv.extend(arguments);
        let process = start(&service, spec(&argv)).await;
        let expected: String = arguments
            .iter()
            .map(|argument| format!("<{argument}>"))
            .collect();
        assert_eq!(output(process.as_ref()).await, expected);
    }
}

#[tokio::test]
async fn the_child_runs_in_the_directory_that_was_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let cwd = directory
        .path()
        .canonicalize()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    for service in services() {
        let process = start(
            &service,
            SpawnSpec {
                cwd: cwd.clone(),
                ..spec(&["/bin/pwd"])
            },
        )
        .await;
        assert_eq!(output(process.as_ref()).await, format!("{cwd}\n"));
    }
}

#[tokio::test]
async fn the_environment_is_scrubbed_and_then_changed() {
    let base = [
        ("PATH", "/usr/bin:/bin"),
        ("KEPT", "1"),
        ("REMOVED", "1"),
        ("CHANGED", "ambient"),
        ("API_KEY", "ambient"),
        ("secret_thing", "ambient"),
        ("dsh_home", "ambient"),
        ("DSH_HOME", "ambient"),
    ];
    for supervisor in [None, Some(supervised_host())] {
        let base = base
            .map(|(name, value)| (name.into(), value.into()))
            .to_vec();
        let service = LocalSubprocess::new(supervisor).with_base_env(base);
        let env = vec![
            EnvChange::remove("REMOVED"),
            EnvChange::set("CHANGED", "explicit"),
            EnvChange::set("API_KEY", "explicit"),
            EnvChange::set("DSH_X", "explicit"),
        ];
        let process = start(
            &service,
            SpawnSpec {
                env,
                ..spec(&["/usr/bin/env"])
            },
        )
        .await;
        let output = output(process.as_ref()).await;
        let mut seen: Vec<_> = output.lines().collect();
        seen.sort_unstable();
        assert_eq!(
            seen,
            [
                "API_KEY=explicit",
                "CHANGED=explicit",
                "DSH_X=explicit",
                "KEPT=1",
                "PATH=/usr/bin:/bin"
            ]
        );
    }
}

/// Descriptors that the test was itself started with, and that are not closed on exec, are not the service's concern.
fn inherited_by_the_test() -> Vec<u32> {
    const CLOSE_ON_EXEC: u32 = 0o2_000_000;
    let mut inherited = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fdinfo").unwrap() {
        let entry = entry.unwrap();
        let info = std::fs::read_to_string(entry.path()).unwrap_or_default();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.map_or(CLOSE_ON_EXEC, |flags| {
            u32::from_str_radix(flags.trim(), 8).unwrap()
        });
        if flags & CLOSE_ON_EXEC == 0 {
            inherited.push(entry.file_name().to_str().unwrap().parse().unwrap());
        }
    }
    inherited
}

#[tokio::test]
async fn the_child_inherits_none_of_the_services_descriptors() {
    for service in services() {
        let process = start(&service, sh("exec sleep 1000")).await;
        let pid = process.pid().unwrap();
        let allowed = [vec![0, 1, 2], inherited_by_the_test()].concat();
        // For a moment the program itself has its libraries open.
        eventually("nothing else is open", || {
            let sleeps = std::fs::read_to_string(format!("/proc/{pid}/comm"))
                .is_ok_and(|name| name == "sleep\n");
            let mut open = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
            sleeps
                && open.all(|entry| {
                    allowed.contains(
                        &entry
                            .unwrap()
                            .file_name()
                            .to_str()
                            .unwrap()
                            .parse()
                            .unwrap(),
                    )
                })
        })
        .await;
        process.terminate();
    }
}

/// The host ignores SIGPIPE; a program that inherited that would write into closed pipes for ever.
#[tokio::test]
async fn the_child_does_not_ignore_a_closed_pipe() {
    for service in services() {
        let process = start(&service, spec(&["/usr/bin/yes"])).await;
        drop(process.take_stdout());
        assert_eq!(soon(process.done()).await, signal("SIGPIPE"));
    }
}

#[tokio::test]
async fn exactly_the_last_bytes_of_standard_error_are_kept() {
    for service in services() {
        for (written, kept) in [("12345", "12345"), ("123456", "23456"), ("", "")] {
            let spec = SpawnSpec {
                stderr_max_bytes: 5,
                ..sh(&format!("printf '{written}' >&2"))
            };
            let process = start(&service, spec).await;
            drop(process.take_stdout());
            assert_eq!(soon(process.done()).await, code(0));
            assert_eq!(process.stderr_tail(), kept);
            let window = process.stderr_from(0);
            assert_eq!(window.lossy, written.len() > 5);
            assert_eq!(window.next_offset, written.len() as u64);
            assert_eq!(process.stderr_from(window.next_offset).text, "");
        }
    }
}

#[tokio::test]
async fn standard_error_is_drained_whatever_its_size() {
    for service in services() {
        let script = "head -c 30000000 /dev/zero | tr '\\0' x >&2; printf end >&2";
        let process = start(
            &service,
            SpawnSpec {
                stderr_max_bytes: 10,
                ..sh(script)
            },
        )
        .await;
        drop(process.take_stdout());
        assert_eq!(soon(process.done()).await, code(0));
        assert_eq!(process.stderr_tail(), "xxxxxxxend");
        assert_eq!(process.stderr_from(0).next_offset, 30_000_003);
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
