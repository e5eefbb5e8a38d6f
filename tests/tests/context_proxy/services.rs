//! Services that are missing, come, and go.

use dsh_host::{CallRequest, RowState};
use dsh_services::subprocess::LocalSubprocess;
use dsh_tests::history::{Answer, Place};
use dsh_tests::hosts::{HISTORY, host, mount, row, tool_names};
use serde_json::{Value, json};
use std::sync::Arc;

const UNAVAILABLE: &str = "CONTEXT_PROXY_BACKEND_UNAVAILABLE";

fn refused(answer: Answer, code: &str, text: &str) {
    assert_eq!(answer.error(), (code.to_owned(), format!("Error: {text}")));
}

#[tokio::test]
async fn case_023_without_its_services_the_plugin_is_mounted_and_its_tools_say_what_is_missing() {
    let host = host();
    let mounted = mount(&host, HISTORY, Value::Null).await;
    assert_eq!(mounted, Ok(RowState::Active));
    assert_eq!(tool_names(&host).len(), 3);
    let agent = dsh_host::AgentSpec::new("a", "/");
    host.create_agent(agent).await.unwrap();
    for (tool, arguments) in [
        ("context_query", "{}"),
        ("context_slice", r#"{"seq":0}"#),
        ("context_grep", r#"{"pattern":"x"}"#),
    ] {
        let request = CallRequest {
            agent: Some("a".into()),
            ..CallRequest::new(tool, arguments)
        };
        let text = "session query backend unavailable";
        refused(Answer(host.call(request).await), UNAVAILABLE, text);
    }
}

#[tokio::test]
async fn case_023_a_service_that_comes_or_goes_is_noticed_by_the_next_call() {
    let place = Place::with_example().await;
    for _ in 0..2 {
        assert_eq!(place.query("session-1", json!({})).await.seqs().len(), 7);
        place.host.services().set_session_query(None);
        for (tool, arguments) in [
            ("context_query", json!({})),
            ("context_slice", json!({"seq": 0})),
            ("context_grep", json!({"pattern": "x"})),
        ] {
            let answer = place.call("session-1", tool, arguments).await;
            refused(answer, UNAVAILABLE, "session query backend unavailable");
        }
        place.use_sessions(Arc::new(place.service()));
    }
}

#[tokio::test]
async fn case_060_a_file_cannot_be_searched_without_programs_and_can_be_without_sessions() {
    let place = Place::with_example().await;
    let file = place.spill("session-1", "a.txt", "hit\n");
    place.host.services().set_subprocess(None);
    let answer = place.grep("session-1", &file, "hit").await;
    refused(answer, UNAVAILABLE, "subprocess backend unavailable");
    place.host.services().set_session_query(None);
    let answer = place.grep("session-1", &file, "hit").await;
    refused(answer, UNAVAILABLE, "subprocess backend unavailable");
    let answer = place
        .call("session-1", "context_grep", json!({"pattern": "hit"}))
        .await;
    refused(answer, UNAVAILABLE, "session query backend unavailable");
    // Programs have come back, sessions have not: the file is searched, or fails for want of ripgrep.
    let programs = LocalSubprocess::new(None).with_base_env(Vec::new());
    place
        .host
        .services()
        .set_subprocess(Some(Arc::new(programs)));
    let answer = place.grep("session-1", &file, "hit").await;
    refused(
        answer,
        "CONTEXT_PROXY_SEARCH_FAILED",
        "search could not start",
    );
}

#[tokio::test]
async fn case_066_a_missing_ripgrep_fails_searches_of_files_and_tells_the_log_what_was_tried() {
    let configured = json!({"rgPath": "/nowhere/bin/rg"});
    for (config, tried) in [
        (Value::Null, "executable \"rg\" was not found on PATH"),
        (configured, "\"/nowhere/bin/rg\" is not an executable file"),
    ] {
        let env = Some(vec![("PATH".into(), "/nowhere".into())]);
        let place = Place::mounted(|host| row(host, HISTORY, config), env).await;
        place.write("s", &[dsh_tests::rows::user(0, "hit")]);
        let file = place.spill("s", "a.txt", "hit\n");
        assert_eq!(
            place.log.lines(),
            [""; 0],
            "nothing is said before it is needed"
        );
        for _ in 0..2 {
            let answer = place.grep("s", &file, "hit").await;
            refused(
                answer,
                "CONTEXT_PROXY_SEARCH_FAILED",
                "search could not start",
            );
        }
        let log = place.log.lines();
        assert!(
            log[0].contains(tried) && log[0].contains("rgPath"),
            "{log:?}"
        );
        assert_eq!(place.query("s", json!({})).await.seqs(), [0]);
        assert_eq!(place.slice("s", 0).await.value()["seq"], 0);
        let scan = place
            .call("s", "context_grep", json!({"pattern": "hit"}))
            .await;
        assert_eq!(scan.citations().len(), 1);
    }
}

#[tokio::test]
async fn a_caller_without_a_session_is_told_so() {
    let place = Place::with_example().await;
    for (tool, arguments) in [
        ("context_query", "{}"),
        ("context_slice", r#"{"seq":0}"#),
        ("context_grep", r#"{"pattern":"x"}"#),
        ("context_grep", r#"{"pattern":"x","path":"/etc/passwd"}"#),
    ] {
        let answer = Answer(place.host.call(CallRequest::new(tool, arguments)).await);
        let text = "context tools require an agent-bound session";
        refused(answer, "CONTEXT_PROXY_NO_SESSION", text);
    }
}
