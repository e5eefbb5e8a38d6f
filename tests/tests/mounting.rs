//! Mounting, reloading and unmounting, and the agents and tools that come and go meanwhile.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "this is how a test fails"
)]

use dsh_host::registry::{Restriction, Scope};
use dsh_host::{AbortSignal, AgentSpec, Host, RowState, SearchError, codes};
use dsh_tests::hosts::{
    COMPLETION, HISTORY, SYMBOLS, agent, ask, host, host_with, mount, paths, register, row,
    tool_names,
};
use dsh_tests::workspaces::Gated;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

const AGENT: &str = "agent";

/// A directory with these files in it.
fn home(files: &[&str]) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    for file in files {
        std::fs::write(home.path().join(file), "").unwrap();
    }
    home
}

async fn state(host: &Host, id: &str) -> RowState {
    host.row(id).await.expect("the row").1
}

#[tokio::test]
async fn a_reload_answers_with_the_new_configuration_for_the_agents_there_are() {
    let (host, home) = (host(), home(&["a1", "a2", "a3"]));
    mount(&host, COMPLETION, json!({"maxResults": 1}))
        .await
        .unwrap();
    agent(&host, AGENT, home.path()).await;
    assert_eq!(paths(&host, AGENT, "a").await, ["a1"]);
    let reloaded = host.reload(COMPLETION, json!({"maxResults": 2})).await;
    assert_eq!(reloaded, Ok(RowState::Active));
    assert_eq!(paths(&host, AGENT, "a").await, ["a1", "a2"]);
}

#[tokio::test]
async fn the_old_instance_is_gone_before_the_reload_is_over() {
    let (gate, home) = (Gated::default(), home(&["a1"]));
    let host = host_with(Arc::new(gate.clone()));
    mount(&host, COMPLETION, Value::Null).await.unwrap();
    agent(&host, AGENT, home.path()).await;
    gate.shut();
    let waiting = tokio::spawn({
        let host = host.clone();
        async move { ask(&host, AGENT, "a").await }
    });
    gate.until_arrived(1).await;
    host.reload(COMPLETION, json!({"maxResults": 2}))
        .await
        .unwrap();
    // What the old instance had asked for is given up, and its caller is told so.
    gate.until_given_up(1).await;
    match waiting.await.unwrap() {
        Err(SearchError::Failed(failure)) => {
            assert_eq!(failure.message, "file search index invalidated");
        }
        other => panic!("{other:?}"),
    }
    gate.open();
    assert_eq!(paths(&host, AGENT, "a").await, ["a1"]);
    assert_eq!(gate.arrived(), 2, "the new instance read for itself");
}

#[tokio::test]
async fn a_refused_configuration_leaves_the_old_one_mounted() {
    let (host, home) = (host(), home(&["a1", "a2", "a3"]));
    mount(&host, COMPLETION, json!({"maxResults": 2}))
        .await
        .unwrap();
    agent(&host, AGENT, home.path()).await;
    let failure = host
        .reload(COMPLETION, json!({"maxResults": 0}))
        .await
        .unwrap_err();
    assert_eq!(
        failure.message,
        "file-reference-local: maxResults must be a positive safe integer"
    );
    assert_eq!(state(&host, COMPLETION).await, RowState::Active);
    assert_eq!(paths(&host, AGENT, "a").await, ["a1", "a2"]);
}

#[tokio::test]
async fn a_refused_mount_leaves_nothing() {
    let host = host();
    for (name, config) in [
        (COMPLETION, json!({"maxEntries": "many"})),
        (HISTORY, json!({"grepMaxBytes": "many"})),
        (HISTORY, json!([])),
    ] {
        let refused = mount(&host, name, config.clone()).await;
        assert!(refused.is_err(), "{name} {config}");
        assert!(host.row(name).await.is_none());
        assert_eq!(tool_names(&host), Vec::<String>::new());
        assert_eq!(
            mount(&host, name, Value::Null).await,
            Ok(RowState::Active),
            "the place is free"
        );
        host.unmount(name).await.unwrap();
    }
}

#[tokio::test]
async fn rows_are_told_apart_by_their_identifiers() {
    let host = host();
    mount(&host, COMPLETION, json!({"maxResults": 1}))
        .await
        .unwrap();
    let duplicate = mount(&host, COMPLETION, Value::Null).await.unwrap_err();
    assert!(duplicate.is("ROW_DUPLICATE"), "{duplicate:?}");
    assert!(duplicate.message.contains(COMPLETION));
    assert_eq!(state(&host, COMPLETION).await, RowState::Active);
    let unknown = [
        host.unmount("nobody").await.unwrap_err(),
        host.reload("nobody", Value::Null).await.unwrap_err(),
    ];
    for failure in unknown {
        assert!(failure.is("ROW_UNKNOWN"), "{failure:?}");
        assert!(failure.message.contains("\"nobody\""));
    }
    let (manifest, _) = host.row(COMPLETION).await.unwrap();
    assert_eq!(manifest.name, COMPLETION);
    assert!(host.row("nobody").await.is_none());
}

#[tokio::test]
async fn tools_come_and_go_with_their_plugin() {
    let host = host();
    let tools = ["context_grep", "context_query", "context_slice"];
    mount(&host, HISTORY, Value::Null).await.unwrap();
    assert_eq!(tool_names(&host), tools);
    host.reload(HISTORY, Value::Null).await.unwrap();
    assert_eq!(tool_names(&host), tools);
    host.unmount(HISTORY).await.unwrap();
    assert_eq!(tool_names(&host), Vec::<String>::new());

    let own = register(&host, Scope::Global, "context_slice");
    let taken = mount(&host, HISTORY, Value::Null).await.unwrap_err();
    assert_eq!(
        taken.message,
        "tool \"context_slice\" is already registered"
    );
    assert!(host.row(HISTORY).await.is_none());
    assert_eq!(tool_names(&host), ["context_slice"]);
    drop(own);
    mount(&host, HISTORY, Value::Null).await.unwrap();
    assert_eq!(tool_names(&host), tools);
    host.shutdown().await;
    assert_eq!(tool_names(&host), Vec::<String>::new());
    assert!(host.row(HISTORY).await.is_none());
}

#[tokio::test]
async fn without_a_plugin_there_is_no_completion() {
    let (host, home) = (host(), home(&["a1"]));
    agent(&host, AGENT, home.path()).await;
    for mounted in [false, true] {
        if mounted {
            mount(&host, COMPLETION, Value::Null).await.unwrap();
            assert_eq!(paths(&host, AGENT, "a").await, ["a1"]);
            host.unmount(COMPLETION).await.unwrap();
        }
        match ask(&host, AGENT, "a").await {
            Err(SearchError::Failed(failure)) => {
                assert!(failure.is(codes::PLUGIN_LACKS_EXPORT), "{failure:?}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn agents_are_announced_whether_they_come_before_the_plugin_or_after_it() {
    let (host, one, two) = (host(), home(&["one"]), home(&["two"]));
    let _read = register(&host, Scope::Global, "read");
    agent(&host, "early", one.path()).await;
    mount(&host, COMPLETION, Value::Null).await.unwrap();
    agent(&host, "late", two.path()).await;
    assert_eq!(paths(&host, "early", "").await, ["one"]);
    assert_eq!(paths(&host, "late", "").await, ["two"]);
    assert_eq!(paths(&host, "nobody", "").await, Vec::<String>::new());

    let again = AgentSpec::new("early", two.path().to_str().unwrap());
    let duplicate = host.create_agent(again).await.unwrap_err();
    assert!(duplicate.is("AGENT_DUPLICATE"), "{duplicate:?}");
    assert_eq!(paths(&host, "early", "").await, ["one"]);
    let prompt = host.prompt("early").await;
    assert_eq!(prompt.matches("Paths prefixed with @").count(), 1);
}

#[tokio::test]
async fn an_agent_without_a_directory_gets_that_of_the_process() {
    let host = host();
    mount(&host, COMPLETION, Value::Null).await.unwrap();
    let spec = AgentSpec {
        id: AGENT.into(),
        cwd: None,
        session: None,
    };
    host.create_agent(spec).await.unwrap();
    let expected = std::env::current_dir().unwrap().join("Cargo.toml");
    assert!(expected.is_file());
    assert_eq!(paths(&host, AGENT, "cargo.toml").await[0], "Cargo.toml");
}

#[tokio::test]
async fn a_disposed_agent_has_no_candidates_and_can_come_back_elsewhere() {
    let (host, one, two) = (host(), home(&["one"]), home(&["two"]));
    let _read = register(&host, Scope::Global, "read");
    mount(&host, COMPLETION, Value::Null).await.unwrap();
    agent(&host, AGENT, one.path()).await;
    assert_eq!(paths(&host, AGENT, "o").await, ["one"]);
    for _ in 0..2 {
        host.dispose_agent(AGENT).await;
        assert_eq!(paths(&host, AGENT, "").await, Vec::<String>::new());
        assert_eq!(paths(&host, AGENT, "o").await, Vec::<String>::new());
        assert_eq!(host.prompt(AGENT).await, "");
    }
    agent(&host, AGENT, two.path()).await;
    assert_eq!(paths(&host, AGENT, "o").await, ["two"]);
    host.reload(COMPLETION, Value::Null).await.unwrap();
    assert_eq!(paths(&host, AGENT, "").await, ["two"]);
}

#[tokio::test]
async fn a_root_may_go_while_it_is_indexed_and_come_back() {
    let (gate, above) = (Gated::default(), home(&[]));
    let root = above.path().join("root");
    std::fs::create_dir(&root).unwrap();
    std::fs::write(root.join("a1"), "").unwrap();
    let host = host_with(Arc::new(gate.clone()));
    mount(&host, COMPLETION, Value::Null).await.unwrap();
    agent(&host, AGENT, &root).await;
    gate.shut();
    let waiting = tokio::spawn({
        let host = host.clone();
        async move { paths(&host, AGENT, "a").await }
    });
    gate.until_arrived(1).await;
    std::fs::remove_dir_all(&root).unwrap();
    gate.open();
    assert_eq!(waiting.await.unwrap(), Vec::<String>::new());

    std::fs::create_dir(&root).unwrap();
    std::fs::write(root.join("a2"), "").unwrap();
    assert_eq!(paths(&host, AGENT, "a").await, Vec::<String>::new());
    assert_eq!(paths(&host, AGENT, "").await, ["a2"], "listings are live");
    host.session_event(Some(AGENT), "tool/result").await;
    assert_eq!(paths(&host, AGENT, "a").await, ["a2"]);
    let whole = host
        .search_file_references(AGENT, "a", &AbortSignal::never())
        .await
        .unwrap();
    assert!(whole.complete && whole.indexed == 1, "{whole:?}");
}

#[tokio::test]
async fn only_a_tool_result_of_the_agent_itself_makes_it_look_again() {
    let (gate, home) = (Gated::default(), home(&["a1"]));
    let host = host_with(Arc::new(gate.clone()));
    mount(&host, COMPLETION, Value::Null).await.unwrap();
    agent(&host, AGENT, home.path()).await;
    agent(&host, "other", Path::new("/nonexistent")).await;
    assert_eq!(paths(&host, AGENT, "a").await, ["a1"]);
    std::fs::write(home.path().join("a2"), "").unwrap();
    for (owner, kind) in [
        (Some(AGENT), "tool/call"),
        (Some(AGENT), "tool/results"),
        (Some(AGENT), ""),
        (Some("other"), "tool/result"),
        (Some("nobody"), "tool/result"),
        (None, "tool/result"),
    ] {
        host.session_event(owner, kind).await;
        assert_eq!(paths(&host, AGENT, "a").await, ["a1"], "{owner:?} {kind}");
    }
    assert_eq!(gate.arrived(), 1);
    host.session_event(Some(AGENT), "tool/result").await;
    assert_eq!(paths(&host, AGENT, "a").await, ["a1", "a2"]);
    assert_eq!(gate.arrived(), 2);
}

#[tokio::test]
async fn the_prompt_section_follows_the_tool_read() {
    let (host, home) = (host(), home(&[]));
    mount(&host, COMPLETION, Value::Null).await.unwrap();
    agent(&host, "a", home.path()).await;
    agent(&host, "b", home.path()).await;
    let speaks = async |id: &str| !host.prompt(id).await.is_empty();
    assert!(!speaks("a").await);

    let own = register(&host, Scope::Agent("a".into()), "read");
    assert!(speaks("a").await && !speaks("b").await);
    drop(own);
    assert!(!speaks("a").await);

    let global = register(&host, Scope::Global, "read");
    assert!(speaks("a").await && speaks("b").await);
    assert!(!speaks("nobody").await, "an agent that was not announced");
    let hidden = Restriction {
        allow: None,
        deny: vec!["read".into()],
    };
    host.restrict_tools("b", hidden);
    assert!(speaks("a").await && !speaks("b").await);
    let own = register(&host, Scope::Agent("b".into()), "read");
    assert!(
        speaks("b").await,
        "a restriction hides inherited tools only"
    );
    drop(own);
    let text = host.prompt("a").await;
    assert!(text.starts_with("Paths prefixed with @ are files explicitly referenced"));
    drop(global);
    assert!(!speaks("a").await);

    let _global = register(&host, Scope::Global, "read");
    host.unmount(COMPLETION).await.unwrap();
    assert!(!speaks("a").await, "nothing is left of the plugin");
}

#[tokio::test]
async fn a_component_describes_itself_without_being_mounted() {
    let host = host();
    for name in [COMPLETION, HISTORY, SYMBOLS] {
        let row = row(&host, name, Value::Null);
        let first = host.describe(name, &row.component, &row.limits).await;
        let manifest = first.unwrap();
        assert_eq!(manifest.name, name);
        assert!(manifest.config_schema["properties"].is_object(), "{name}");
        assert!(!manifest.summary.is_empty() && !manifest.version.is_empty());
        let second = host.describe(name, &row.component, &row.limits).await;
        assert_eq!(second.unwrap(), manifest, "the same answer every time");
        assert!(host.row(name).await.is_none());
    }
}
