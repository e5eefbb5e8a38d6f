//! Workspaces as the file service of this machine knows them.

use dsh_tests::hostile::{failure, soon};
use dsh_tests::hosts::agent;
use dsh_tests::symbols::{AGENT, Desk, answering, exists, names};
use serde_json::json;

#[tokio::test]
async fn case_085_a_link_and_what_it_leads_to_share_a_process() {
    let desk = Desk::new().await;
    let link = desk.path().join("link");
    std::os::unix::fs::symlink(desk.workspace(), &link).unwrap();
    agent(&desk.host, "by-link", &link).await;
    agent(&desk.host, "by-detour", &link.join("../ws/.")).await;
    desk.mount_scripted(json!([answering(&["Gear"])])).await;
    for who in [AGENT, "by-link", "by-detour", "by-link"] {
        assert_eq!(names(desk.ask_as(who, "Gear").await), ["Gear"], "{who}");
    }
    let journal = desk.journal("server");
    assert_eq!(journal.pids().len(), 1);
    assert_eq!(journal.of("start")[0]["cwd"], json!(desk.workspace()));
    desk.unmount().await.unwrap();
}

#[tokio::test]
async fn case_086_two_workspaces_are_asked_side_by_side() {
    let desk = Desk::new().await;
    desk.agent("other", "elsewhere").await;
    let (first, second) = (desk.gate("first"), desk.gate("second"));
    // Each waits until the other was asked, which only two processes at the same time can do.
    let run = |wait: &std::path::Path| {
        let mut run = answering(&["Gear"]);
        let answer = run["workspace/symbol"][0].clone();
        run["workspace/symbol"] = json!([{"await": wait}, answer]);
        run
    };
    desk.mount_scripted(json!([run(first.path()), run(second.path())]))
        .await;
    let calls = [desk.begin("Gear"), desk.begin_as("other", "Gear", None)];
    desk.journal("server").until_noted("await", 2).await;
    second.open();
    first.open();
    for call in calls {
        assert_eq!(names(call.result().await), ["Gear"]);
    }
    let pids = desk.journal("server").pids();
    assert_eq!(pids.len(), 2);
    desk.unmount().await.unwrap();
    assert!(!pids.into_iter().any(exists));
}

#[tokio::test]
async fn case_087_odd_names_reach_the_server_as_node_spells_them() {
    let desk = Desk::new().await;
    desk.mount_scripted(json!([answering(&["Gear"])])).await;
    let base = format!("file://{}", desk.path().display());
    for (name, spelt) in [
        ("with space", "with%20space"),
        ("a#b?c", "a%23b%3Fc"),
        ("50%41", "50%2541"),
        ("größe", "gr%C3%B6%C3%9Fe"),
        ("~tilde", "%7Etilde"),
        ("back\\slash", "back%5Cslash"),
        ("a:b;c=d", "a:b;c=d"),
        ("[x]^|`\"", "%5Bx%5D%5E%7C%60%22"),
        ("\u{1f600}", "%F0%9F%98%80"),
        ("line\nbreak", "line%0Abreak"),
    ] {
        desk.agent(name, name).await;
        assert_eq!(names(desk.ask_as(name, "Gear").await), ["Gear"], "{name}");
        let sent = desk.journal("server").params("initialize");
        let sent = sent.last().unwrap();
        let uri = json!(format!("{base}/{spelt}"));
        assert_eq!(sent["rootUri"], uri, "{name}");
        assert_eq!(sent["workspaceFolders"][0]["uri"], uri, "{name}");
        let started = desk.journal("server").of("start");
        assert_eq!(
            started.last().unwrap()["cwd"],
            json!(desk.path().join(name)),
            "{name}"
        );
    }
    desk.unmount().await.unwrap();
}

#[tokio::test]
async fn cases_084_088_a_workspace_that_is_none_or_is_gone_is_told() {
    let desk = Desk::new().await;
    desk.mount_scripted(json!([answering(&["Gear"])])).await;
    assert_eq!(names(desk.ask("Gear").await), ["Gear"]);
    let pid = desk.journal("server").pids()[0];
    std::fs::remove_dir(desk.workspace()).unwrap();
    let gone = failure(desk.ask("Gear").await);
    assert!(gone.is("WORKSPACE_SYMBOL_WORKSPACE_INVALID"), "{gone:?}");
    assert!(exists(pid), "the process stays until the unmounting");

    let file = desk.path().join("file");
    std::fs::write(&file, "").unwrap();
    std::os::unix::fs::symlink("loop", desk.path().join("loop")).unwrap();
    for (id, path) in [
        ("file", "file"),
        ("missing", "missing"),
        ("loop", "loop"),
        ("below", "file/below"),
    ] {
        agent(&desk.host, id, &desk.path().join(path)).await;
        let refused = failure(desk.ask_as(id, "Gear").await);
        assert!(
            refused.is("WORKSPACE_SYMBOL_WORKSPACE_INVALID"),
            "{id}: {refused:?}"
        );
    }
    assert_eq!(desk.journal("server").pids(), [pid]);
    soon(desk.unmount()).await.unwrap();
    assert!(!exists(pid));
}
