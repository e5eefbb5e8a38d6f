//! Plugins that misbehave while they are mounted leave nothing behind.

use dsh_host::{AbortSignal, Failure, Limits, LoadedComponent, PluginRow, RowState, codes};
use dsh_tests::hostile::{PATIENCE, Stage, assert_failure, describing, impatient, limits, soon};
use serde_json::{Value, json};
use std::time::Duration;

/// Tries to mount, checks that the host is as before, and returns why it was refused.
async fn refused(config: Value, limits: Limits) -> Failure {
    let stage = Stage::new();
    stage.mount_bystander().await;
    stage.agent("a").await;
    let mounting = {
        let (stage, limits) = (stage.clone(), limits.clone());
        tokio::spawn(async move { stage.mount_with("bad", config, limits).await })
    };
    while !mounting.is_finished() {
        stage.echo("bystander").await;
    }
    let failure = soon(mounting).await.unwrap().unwrap_err();
    assert_clean(&stage).await;
    failure
}

async fn assert_clean(stage: &Stage) {
    assert_eq!(stage.tools(), ["bystander"]);
    assert_eq!(stage.host.row("bad").await, None);
    let state = stage.mount("bad", json!({})).await;
    assert_eq!(
        state,
        Ok(RowState::Active),
        "the row can be mounted after all"
    );
    stage.echo("act").await;
}

async fn refused_description(word: &str) -> Failure {
    let stage = Stage::new();
    stage.mount_bystander().await;
    let component = LoadedComponent::new(stage.host.engine(), &describing(word)).unwrap();
    let row = PluginRow {
        component,
        ..stage.row("bad", json!({}), impatient())
    };
    let failure = soon(stage.host.mount(row)).await.unwrap_err();
    assert_clean(&stage).await;
    failure
}

#[tokio::test(flavor = "multi_thread")]
async fn misdeeds_in_describe() {
    let failure = refused_description("panics").await;
    assert!(
        failure.is(codes::PLUGIN_TRAPPED) && failure.message.ends_with("as it was told"),
        "{failure}"
    );
    assert_failure(
        &refused_description("spins-").await,
        codes::PLUGIN_TRAPPED,
        "plugin \"bad\" stopped: it computed for more than 100 ms without giving way",
    );
    assert_failure(
        &refused_description("blocks").await,
        codes::PLUGIN_TRAPPED,
        "plugin \"bad\" stopped: it blocked its instance for more than 200 ms in a host call",
    );
    let failure = refused_description("nojson").await;
    assert!(
        failure
            .message
            .starts_with("plugin \"bad\": the schema of its configuration is no JSON: "),
        "{failure}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn misdeeds_in_apply() {
    let failure = refused(json!({"apply": "panic"}), limits()).await;
    assert!(
        failure.is(codes::PLUGIN_TRAPPED) && failure.message.ends_with("as it was told"),
        "{failure}"
    );
    assert_failure(
        &refused(json!({"apply": "spin"}), impatient()).await,
        codes::PLUGIN_TRAPPED,
        "plugin \"bad\" stopped: it computed for more than 100 ms without giving way",
    );
    assert_failure(
        &refused(json!({"apply": "allocate"}), limits()).await,
        codes::PLUGIN_TRAPPED,
        "plugin \"bad\" stopped: it asked for more than its memory limit of 32 MiB",
    );
    assert_failure(
        &refused(json!({"apply": "block"}), impatient()).await,
        codes::PLUGIN_TRAPPED,
        "plugin \"bad\" stopped: it blocked its instance for more than 200 ms in a host call",
    );
    assert_failure(
        &refused(json!({"apply": "refuse"}), limits()).await,
        "CONFIG_REFUSED",
        "refused as it was told",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_apply_that_never_comes_back() {
    for misdeed in ["sleep", "hang"] {
        let limits = Limits {
            apply: Duration::from_millis(400),
            ..limits()
        };
        assert_failure(
            &refused(json!({"apply": misdeed}), limits).await,
            codes::PLUGIN_UNRESPONSIVE,
            "plugin \"bad\" did not load within 400 ms",
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn misdeeds_in_what_follows_apply() {
    for config in [
        json!({"definitions": "panic"}),
        json!({"agentCreated": "panic"}),
    ] {
        let failure = refused(config, limits()).await;
        assert!(
            failure.is(codes::PLUGIN_TRAPPED) && failure.message.ends_with("as it was told"),
            "{failure}"
        );
    }
    assert_failure(
        &refused(json!({"definitions": "spin"}), impatient()).await,
        codes::PLUGIN_TRAPPED,
        "plugin \"bad\" stopped: it computed for more than 100 ms without giving way",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn unfit_tools() {
    let tool = |tool: Value| json!({"tools": [{"name": "fit"}, tool]});
    let message = async |config| refused(config, limits()).await.message;
    assert_failure(
        &refused(json!({"manyTools": 1_000}), limits()).await,
        "PLUGIN_TOO_MANY_TOOLS",
        "plugin \"bad\" has 1000 tools; at most 256 are allowed",
    );
    assert_eq!(
        message(tool(json!({"name": "fit"}))).await,
        "tool \"fit\" is already registered"
    );
    assert_eq!(
        message(tool(json!({"name": "bystander"}))).await,
        "tool \"bystander\" is already registered"
    );
    assert_eq!(
        message(tool(json!({"name": "run_code"}))).await,
        "tool name \"run_code\" is reserved"
    );
    assert_eq!(
        message(tool(json!({"name": ""}))).await,
        "a tool needs a name"
    );
    assert_eq!(
        message(tool(json!({"name": "t", "timeoutMs": 0}))).await,
        "tool \"t\": timeoutMs must be a positive number"
    );
    assert_eq!(
        message(tool(json!({"name": "t", "parameters": {"type": "string"}}))).await,
        "tool \"t\": parameters must be the schema of an object"
    );
    let no_json = message(tool(json!({"name": "t", "parameters": "{"}))).await;
    assert!(
        no_json
            .starts_with("plugin \"bad\": the schema of the parameters of tool \"t\" is no JSON: "),
        "{no_json}"
    );
    let keyword = json!({"name": "t", "output": {"type": "string", "pattern": "x"}});
    let unsupported = refused(tool(keyword), limits()).await;
    assert!(unsupported.is("UNSUPPORTED_SCHEMA"), "{unsupported}");
    assert!(
        unsupported
            .message
            .starts_with("tool \"t\": output.schema: $: the keyword \"pattern\" is not supported"),
        "{unsupported}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_reload_brings_the_old_configuration_back() {
    let stage = Stage::new();
    stage
        .mount("row", json!({"greeting": "old"}))
        .await
        .unwrap();
    let outcome = soon(stage.host.reload("row", json!({"apply": "panic"}))).await;
    assert!(outcome.unwrap_err().is(codes::PLUGIN_TRAPPED));
    assert_eq!(stage.echo("act").await["config"]["greeting"], "old");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_waits_for_what_it_requires() {
    let stage = Stage::new();
    let component = LoadedComponent::new(stage.host.engine(), &describing("needs-")).unwrap();
    let row = PluginRow {
        component,
        ..stage.row("row", json!({}), limits())
    };
    let missing = RowState::Pending(vec!["sessionQuery".into()]);
    assert_eq!(soon(stage.host.mount(row)).await, Ok(missing.clone()));
    assert_eq!(stage.tools(), Vec::<String>::new());
    stage
        .host
        .services()
        .set_session_query(Some(dsh_tests::hostile::one_event_each()));
    soon(stage.host.settle()).await;
    stage.echo("act").await;
    stage.host.services().set_session_query(None);
    soon(stage.host.settle()).await;
    assert_eq!(
        stage.host.row("row").await.map(|(_, state)| state),
        Some(missing)
    );
    assert_eq!(stage.tools(), Vec::<String>::new());
    assert_eq!(stage.log.count("row", "disposed"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_is_slow_to_load_keeps_nobody_else_waiting() {
    let stage = Stage::new();
    stage.mount_bystander().await;
    let limits = Limits {
        apply: PATIENCE * 2,
        ..limits()
    };
    let slow = |config| stage.host.mount(stage.row("slow", config, limits.clone()));
    let mounting = tokio::spawn({
        let (stage, row) = (
            stage.clone(),
            stage.row("slow", json!({"apply": "hang"}), limits.clone()),
        );
        async move { stage.host.mount(row).await }
    });
    stage.log.wait_for("slow", "hanging").await;

    stage.agent("a").await;
    stage.echo("bystander").await;
    let other =
        json!({"tools": [{"name": "other"}], "sections": [{"name": "s", "text": "of other"}]});
    stage.mount("other", other.clone()).await.unwrap();
    soon(stage.host.session_event(Some("a"), "tool/end")).await;
    assert_eq!(soon(stage.host.prompt("a")).await, "of other");
    let never = AbortSignal::never();
    let found = soon(stage.host.list_file_references("a", "q", &never));
    assert_eq!(found.await.unwrap()[0].path, "a:q");
    soon(stage.host.reload("other", other)).await.unwrap();
    soon(stage.host.unmount("other")).await.unwrap();
    soon(stage.host.dispose_agent("a")).await;
    assert!(!mounting.is_finished());
    let taken = soon(slow(json!({}))).await.unwrap_err();
    assert!(taken.is("ROW_DUPLICATE"), "{taken}");

    mounting.abort();
    assert!(soon(mounting).await.unwrap_err().is_cancelled());
    assert_eq!(
        soon(slow(json!({}))).await,
        Ok(RowState::Active),
        "a mounting that is given up leaves no row"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_that_come_and_go_while_a_plugin_loads_are_known_to_it_in_the_end() {
    let stage = Stage::new();
    stage.agent("stays").await;
    for round in 0..20 {
        let churn = tokio::spawn({
            let stage = stage.clone();
            async move {
                for _ in 0..10 {
                    stage.agent("passes").await;
                    tokio::task::yield_now().await;
                    stage.host.dispose_agent("passes").await;
                }
                stage.agent("late").await;
            }
        });
        stage.mount("row", json!({})).await.unwrap();
        soon(churn).await.unwrap();
        assert_eq!(
            stage.echo("act").await["agents"],
            json!(["late", "stays"]),
            "in round {round}"
        );
        stage.host.dispose_agent("late").await;
        soon(stage.host.unmount("row")).await.unwrap();
    }
}
