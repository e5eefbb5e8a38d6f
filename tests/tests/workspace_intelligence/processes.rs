//! The life and death of server processes.

use dsh_tests::hostile::{failure, soon};
use dsh_tests::symbols::{Desk, answering, eventually, exists, names, scripted_server, symbol};
use serde_json::{Value, json};
use std::process::{Command, Stdio};

/// Waits for the end of processes that nobody here has started.
async fn until_gone(pids: &[i32]) {
    eventually(
        || format!("{pids:?} are gone"),
        || !pids.iter().any(|pid| exists(*pid)),
    )
    .await;
}

fn helper_of(entry: &[Value]) -> i32 {
    i32::try_from(entry[0].as_i64().unwrap()).unwrap()
}

#[tokio::test]
async fn case_111_a_flood_on_standard_error_is_kept_to_its_tail() {
    let desk = Desk::new().await;
    let flood = json!([{"flood": 100_000_000}, {"exit": 3}]);
    let mut server = desk.server("server", json!([{"workspace/symbol": flood}]));
    server["maxStderrBytes"] = json!(40);
    desk.mount(&[("server", server)]).await.unwrap();
    let before = resident_kib();
    let failure = failure(desk.ask("Gear").await);
    assert_eq!(
        failure.message,
        "workspace symbol search failed: 1 failed, 0 unsupported; server: language server exited with code 3: 000000006249999"
    );
    let logged = desk.log.lines();
    let warning = logged
        .iter()
        .find(|line| line.starts_with("Warn") && line.contains("exited with code 3"))
        .unwrap();
    assert!(
        warning.ends_with("standard error: 6249997\n000000006249998\n000000006249999"),
        "{warning}"
    );
    let grown = resident_kib().saturating_sub(before);
    assert!(grown < 50_000, "{grown} KiB for 200 MB");
    desk.unmount().await.unwrap();
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn case_112_a_deaf_helper_is_dead_before_the_unmounting_is_over() {
    let desk = Desk::new().await;
    let mut run = answering(&["Gear"]);
    run["initialized"] = json!([{"helper": "trap '' TERM; while :; do sleep 1; done"}]);
    desk.mount_scripted(json!([run])).await;
    assert_eq!(names(desk.ask("Gear").await), ["Gear"]);
    let journal = desk.journal("server");
    journal.until_noted("helper", 1).await;
    let family = [journal.pids()[0], helper_of(&journal.of("helper"))];
    assert!(family.into_iter().all(exists));
    desk.unmount().await.unwrap();
    assert!(!family.into_iter().any(exists));
}

#[tokio::test]
async fn case_113_a_helper_that_leaves_the_group_and_holds_the_output_cannot_hold_up_the_end() {
    let desk = Desk::new().await;
    let away = "setsid sh -c \"trap '' TERM; while :; do sleep 1; done\" & echo $! >&2; wait";
    let mut run = answering(&["Gear"]);
    run["initialized"] = json!([{"helper": away}]);
    run["workspace/symbol"] = json!([{"exit": 9}]);
    desk.mount_scripted(json!([run, answering(&["Gear"])]))
        .await;
    // The leader dies in the query, the helper keeps its pipes: the loss is noticed all the same.
    assert_eq!(names(desk.ask("Gear").await), ["Gear"]);
    let helper = helper_of(&desk.journal("server").of("helper"));
    desk.unmount().await.unwrap();
    assert!(!exists(helper));
    assert!(!desk.journal("server").pids().into_iter().any(exists));
}

#[tokio::test]
async fn case_114_a_program_that_is_deleted_after_the_mount_fails_and_is_tried_in_each_call() {
    let desk = Desk::new().await;
    let copy = desk.path().join("language-server");
    let place = || std::os::unix::fs::symlink(scripted_server(), &copy).unwrap();
    place();
    let mut server = desk.server("server", json!([answering(&["Gear"])]));
    server["command"] = json!(copy);
    desk.mount(&[("server", server)]).await.unwrap();
    std::fs::remove_file(&copy).unwrap();
    for _ in 0..2 {
        let failure = failure(desk.ask("Gear").await);
        assert!(
            failure.is("WORKSPACE_SYMBOL_PROVIDER_FAILED"),
            "{failure:?}"
        );
        assert!(
            failure.message.contains("could not be started"),
            "{failure}"
        );
    }
    place();
    assert_eq!(names(desk.ask("Gear").await), ["Gear"]);
    desk.unmount().await.unwrap();
}

#[tokio::test]
async fn case_106_a_process_that_is_killed_in_a_query_is_replaced() {
    let desk = Desk::new().await;
    desk.mount_scripted(json!([{"workspace/symbol": [{"kill": true}]}, answering(&["Gear"])]))
        .await;
    assert_eq!(names(desk.ask("Gear").await), ["Gear"]);
    let pids = desk.journal("server").pids();
    assert_eq!(pids.len(), 2);
    assert!(!exists(pids[0]));
    desk.unmount().await.unwrap();
    assert!(!exists(pids[1]));
}

#[tokio::test]
async fn cases_109_110_a_server_that_closes_a_pipe_and_lives_on_is_replaced() {
    for script in [
        "exec >&-; while :; do sleep 1; done",
        "exec <&-; sleep 1; exec cat /dev/zero",
    ] {
        let desk = Desk::new().await;
        let run = json!({"workspace/symbol": [{"become": script}]});
        desk.mount_scripted(json!([run, answering(&["Gear"])]))
            .await;
        assert_eq!(names(desk.ask("Gear").await), ["Gear"], "{script}");
        let pids = desk.journal("server").pids();
        desk.unmount().await.unwrap();
        assert!(!pids.into_iter().any(exists), "{script}");
    }
}

#[tokio::test]
async fn case_040_a_server_that_writes_before_it_reads_does_not_get_stuck() {
    // 8 MiB each way, more than pipes hold: its own requests first, while our answers to them pile up.
    let text = "x".repeat(1 << 16);
    let params = json!({"items": [{}], "more": text});
    let ask = json!({"send": {"id": 7, "method": "workspace/configuration", "params": params}});
    let actions = json!([{"repeat": 128, "do": [ask]}, {"reply": [symbol("Gear")]}]);
    let desk = Desk::new().await;
    let mut server = desk.server("server", json!([{"workspace/symbol": actions}]));
    server["configuration"] = text.into();
    desk.mount(&[("server", server)]).await.unwrap();
    assert_eq!(names(desk.ask("Gear").await), ["Gear"]);
    desk.journal("server").until_got("<reply>", 128).await;
    desk.unmount().await.unwrap();
}

#[tokio::test]
async fn case_115_a_server_that_ignores_everything_is_killed_in_time() {
    let desk = Desk::new().await;
    let deaf = "trap '' TERM; while :; do sleep 1; done";
    let mut run = answering(&["Gear"]);
    run["shutdown"] = json!([{"become": deaf}]);
    let mut server = desk.server("server", json!([run]));
    server["shutdownTimeoutMs"] = json!(200);
    desk.mount(&[("server", server)]).await.unwrap();
    assert_eq!(names(desk.ask("Gear").await), ["Gear"]);
    let pid = desk.journal("server").pids()[0];
    desk.unmount().await.unwrap();
    assert!(!exists(pid));
}

#[tokio::test]
async fn case_128_a_host_that_is_killed_leaves_no_process() {
    let place = tempfile::tempdir().unwrap();
    let program = scripted_server().with_file_name("symbols_host");
    assert!(
        program.exists(),
        "{} is missing: run the whole of `cargo test`",
        program.display()
    );
    for round in 0..5 {
        let journal = place.path().join(format!("{round}.journal"));
        let helper =
            json!([{"helper": "trap '' TERM; setsid sleep 1000 & while :; do sleep 1; done"}]);
        let run = json!({"initialized": helper, "workspace/symbol": [{"hang": true}]});
        let mut host = Command::new(&program)
            .arg(place.path())
            .arg(json!({"journal": journal, "runs": [run]}).to_string())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let journal = dsh_tests::symbols::Journal::at(journal);
        journal.until_got("workspace/symbol", 1).await;
        let family = [journal.pids()[0], helper_of(&journal.of("helper"))];
        let supervisor = parent_of(family[0]);
        assert!(family.into_iter().all(exists));
        host.kill().unwrap();
        host.wait().unwrap();
        until_gone(&family).await;
        eventually(|| "the supervisor ends".into(), || !is_running(supervisor)).await;
    }
}

/// A field of `/proc/PID/stat`, counted from the state on.
fn stat(pid: i32, field: usize) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let rest = &stat[stat.rfind(')')? + 1..];
    rest.split_ascii_whitespace().nth(field).map(String::from)
}

fn parent_of(pid: i32) -> i32 {
    stat(pid, 1).unwrap().parse().unwrap()
}

/// Whether it is there and no zombie: a host that is killed cannot reap, and in a container nobody else may.
fn is_running(pid: i32) -> bool {
    stat(pid, 0).is_some_and(|state| state != "Z")
}

#[tokio::test]
async fn case_127_a_trap_takes_the_processes_along_and_the_next_call_works() {
    let desk = Desk::new().await;
    let huge = json!([{"symbols": 60_000}]);
    let server = desk.server(
        "server",
        json!([{"workspace/symbol": huge}, answering(&["Gear"])]),
    );
    let mut row = desk.row(&[("server", server)]);
    row.limits.memory = 8 << 20;
    soon(desk.host.mount(row)).await.unwrap();
    let failure = failure(desk.ask("Gear").await);
    assert!(failure.is("PLUGIN_TRAPPED"), "{failure:?}");
    assert!(
        failure.message.contains("memory limit of 8 MiB"),
        "{failure}"
    );
    let pid = desk.journal("server").pids()[0];
    assert!(!exists(pid), "the process of the instance that trapped");
    assert_eq!(
        dsh_tests::hosts::tool_names(&desk.host),
        ["workspace_symbol"]
    );
    assert_eq!(names(desk.ask("Gear").await), ["Gear"]);
    desk.unmount().await.unwrap();
}
