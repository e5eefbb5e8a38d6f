//! What a trap takes with it, and what comes back.

use dsh_host::{AbortSignal, Limits, RowState, SearchError, TRAP_LIMIT, ToolResult, codes};
use dsh_tests::hostile::{Stage, assert_failure, failure, limits, soon, value};
use serde_json::json;

fn assert_panicked(result: ToolResult) {
    let failure = failure(result);
    assert_eq!(failure.code.as_deref(), Some(codes::PLUGIN_TRAPPED));
    assert!(failure.message.ends_with("as it was told"), "{failure}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trap_fails_every_call_in_flight_and_no_other() {
    let stage = Stage::new();
    stage.mount_bystander().await;
    stage.mount("bad", json!({})).await.unwrap();
    let waiting: Vec<_> = (0..10)
        .map(|_| stage.begin("act", json!({"do": "meet", "party": 12})))
        .collect();
    let elsewhere = stage.begin("bystander", json!({"do": "meet", "party": 2}));
    stage.until_begun("act", 10).await;
    assert_panicked(stage.call("act", json!({"do": "panic"})).await);
    for call in waiting {
        assert_panicked(soon(call).await.unwrap());
    }
    assert!(!elsewhere.is_finished());
    value(
        stage
            .call("bystander", json!({"do": "meet", "party": 2}))
            .await,
    );
    value(soon(elsewhere).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn configuration_agents_and_tools_survive_a_trap() {
    let stage = Stage::new();
    stage.agent("before").await;
    let config = json!({"greeting": "hello", "tools": [{"name": "one"}, {"name": "two"}]});
    stage.mount("bad", config.clone()).await.unwrap();
    stage.agent("after").await;
    stage.agent("gone").await;
    soon(stage.host.dispose_agent("gone")).await;
    let before = stage.echo("one").await;
    assert_eq!(before["agents"], json!(["after", "before"]));

    assert_panicked(stage.call("one", json!({"do": "panic"})).await);
    assert_eq!(stage.tools(), ["one", "two"], "tools stay listed");
    let after = stage.echo("two").await;
    assert_eq!(after["config"], config);
    assert_eq!(after["agents"], before["agents"]);
    assert_eq!(
        after["calls"], 1,
        "nothing else of the old instance is left"
    );
    assert_eq!(stage.log.count("bad", "applied"), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fifth_trap_in_a_minute_is_the_last_until_the_row_is_loaded_anew() {
    let stage = Stage::new();
    stage.mount_bystander().await;
    stage.mount("bad", json!({})).await.unwrap();
    for _ in 0..TRAP_LIMIT {
        assert_panicked(stage.call("act", json!({"do": "panic"})).await);
    }
    let switched_off = "plugin \"bad\" is switched off: it stopped 5 times within 60 s";
    for _ in 0..2 {
        let answer = failure(stage.call("act", json!({"do": "echo"})).await);
        assert_failure(&answer, codes::PLUGIN_FAILED, switched_off);
    }
    assert_eq!(
        stage.log.count("bad", "applied"),
        TRAP_LIMIT,
        "it is not tried again"
    );
    assert_eq!(stage.tools(), ["act", "bystander"]);
    stage.echo("bystander").await;

    let state = soon(stage.host.reload("bad", json!({"greeting": "again"}))).await;
    assert_eq!(state, Ok(RowState::Active));
    assert_eq!(stage.echo("act").await["config"]["greeting"], "again");
    for _ in 0..TRAP_LIMIT - 1 {
        assert_panicked(stage.call("act", json!({"do": "panic"})).await);
    }
    assert_eq!(stage.echo("act").await["calls"], 1, "the count began anew");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_see_one_trap_count_it_once() {
    let stage = Stage::new();
    stage.mount("bad", json!({})).await.unwrap();
    for round in 1..TRAP_LIMIT {
        let waiting: Vec<_> = (0..TRAP_LIMIT * 2)
            .map(|_| stage.begin("act", json!({"do": "hang"})))
            .collect();
        // After the first round, the check at its end is one more call of this instance.
        let before = u64::from(round > 1);
        stage
            .until_begun("act", before + TRAP_LIMIT as u64 * 2)
            .await;
        assert_panicked(stage.call("act", json!({"do": "panic"})).await);
        for call in waiting {
            assert_panicked(soon(call).await.unwrap());
        }
        assert_eq!(stage.echo("act").await["calls"], 1, "after round {round}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_entrance_recovers_from_a_trap() {
    let stage = Stage::new();
    stage.agent("a").await;
    let config = json!({"sections": [{"name": "s", "order": 1, "text": "hello"}]});
    // Each entrance traps once, and then something else does, so that no row comes to its fifth trap.
    let never = AbortSignal::never();
    let panicked = |code: Option<String>| assert_eq!(code.as_deref(), Some(codes::PLUGIN_TRAPPED));

    stage.mount("bad", config.clone()).await.unwrap();
    match soon(stage.host.list_file_references("a", "panic", &never)).await {
        Err(SearchError::Failed(failure)) => panicked(failure.code),
        other => panic!("{other:?}"),
    }
    let listed = soon(stage.host.list_file_references("a", "x", &never)).await;
    assert_eq!(listed.unwrap()[0].path, "a:x");
    let token = soon(stage.host.active_at_token("panic", 0)).await;
    panicked(token.unwrap_err().code);
    assert_eq!(
        soon(stage.host.active_at_token("x", 0)).await.map(|_| ()),
        Ok(())
    );
    soon(stage.host.session_event(Some("a"), "panic")).await;
    let warned = stage.log.of("bad");
    assert!(
        warned
            .iter()
            .any(|line| line.starts_with("an event was not delivered: plugin \"bad\" stopped")),
        "{warned:?}"
    );
    assert_eq!(soon(stage.host.prompt("a")).await, "hello");
    assert_eq!(stage.echo("act").await["agents"], json!(["a"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_fails_to_write_its_section_leaves_the_prompt_of_the_others() {
    let stage = Stage::new();
    let section = json!([{"name": "s", "order": 1, "text": "from {agent}"}]);
    let config = json!({"tools": [], "sections": section});
    stage.mount("good", config).await.unwrap();
    stage
        .mount("bad", json!({"sections": "panic"}))
        .await
        .unwrap();
    assert_eq!(soon(stage.host.prompt("a")).await, "from a");
    let own = stage.log.of("bad");
    assert!(
        own.iter()
            .any(|line| line.starts_with("no prompt section: ")),
        "{own:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_traps_on_the_agents_it_is_told_again_is_switched_off() {
    let stage = Stage::new();
    stage
        .mount("bad", json!({"agentCreated": "panic"}))
        .await
        .unwrap();
    stage.agent("a").await;
    // The announcement was the first trap.
    for _ in 1..TRAP_LIMIT {
        assert_panicked(stage.call("act", json!({"do": "echo"})).await);
    }
    let last = failure(stage.call("act", json!({"do": "echo"})).await);
    assert!(last.is(codes::PLUGIN_FAILED), "{last}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_calls_are_in_an_instance_than_the_limit() {
    let stage = Stage::new();
    let limits = Limits {
        concurrent_calls: 3,
        ..limits()
    };
    stage.mount_with("bad", json!({}), limits).await.unwrap();
    // Three that wait for each other need three places.
    let meeting: Vec<_> = (0..3)
        .map(|_| stage.begin("act", json!({"do": "meet", "party": 3})))
        .collect();
    for call in meeting {
        value(soon(call).await.unwrap());
    }
    let calls: Vec<_> = (0..12)
        .map(|_| stage.begin("act", json!({"do": "gauge", "ms": 5})))
        .collect();
    for call in calls {
        let most = value(soon(call).await.unwrap())["mostActive"].as_u64();
        assert!((Some(1)..=Some(3)).contains(&most), "{most:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_inside_the_host_costs_one_instance_and_no_plugin() {
    let stage = Stage::new();
    stage.mount_bystander().await;
    stage.mount("bad", json!({})).await.unwrap();
    stage.log.panic_at("xxxx");
    assert_failure(
        &failure(
            stage
                .call("act", json!({"do": "log-large", "bytes": 4}))
                .await,
        ),
        codes::PLUGIN_TRAPPED,
        "plugin \"bad\" stopped: the host itself failed while it served the plugin",
    );
    assert_eq!(
        stage.echo("act").await["calls"],
        1,
        "the next call runs in a fresh instance"
    );
    assert_eq!(stage.echo("bystander").await["calls"], 1);
}
