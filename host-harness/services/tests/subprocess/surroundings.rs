//! What a child finds around it: arguments, directory, environment, descriptors, group.

use dsh_services::subprocess::{EnvChange, LocalSubprocess, SpawnSpec};

use crate::support::*;

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
async fn the_program_leads_a_process_group_of_its_own() {
    for service in services() {
        let process = start(&service, spec(&["/bin/sleep", "1000"])).await;
        let pid = process.pid().unwrap().cast_signed();
        assert_eq!(stat(pid).unwrap().2, pid);
        process.terminate();
    }
}

/// A terminal's interrupt goes to the whole foreground group; the host decides what becomes of its children.
#[tokio::test]
async fn the_tree_is_out_of_the_reach_of_the_hosts_group() {
    let [_, service] = services();
    let process = start(&service, sh("exec sleep 1000")).await;
    let leader = process.pid().unwrap().cast_signed();
    let (_, supervisor, _) = stat(leader).unwrap();
    assert_eq!(session(leader), Some(supervisor));
    // Zero where the host's session began outside of its container.
    assert_ne!(session(std::process::id().cast_signed()), Some(supervisor));
    process.terminate();
}
