//! Mounting, reloading and unmounting, with processes and the tool registry in their places.

use dsh_host::registry::Scope;
use dsh_host::{AbortReason, RowState};
use dsh_services::subprocess::{
    AbortSignal, DisposeError, EnvChange, LocalSubprocess, Process, SpawnSpec, Subprocess,
    SubprocessError,
};
use dsh_tests::hostile::{failure, soon};
use dsh_tests::hosts::{SYMBOLS, register, tool_names};
use dsh_tests::symbols::{
    AGENT, Desk, TOOL, answering, config, eventually, exists, names, scripted_server,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A service whose lookups take for ever, and that counts those under way.
#[derive(Default)]
struct Endless(Arc<AtomicUsize>);

struct Lookup(Arc<AtomicUsize>);

impl Drop for Lookup {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Subprocess for Endless {
    fn resolve_executable<'a>(
        &'a self,
        _: &'a str,
        _: &'a [EnvChange],
        _: Option<&'a AbortSignal>,
    ) -> BoxFuture<'a, Result<String, SubprocessError>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        let lookup = Lookup(self.0.clone());
        async move {
            let _lookup = lookup;
            std::future::pending().await
        }
        .boxed()
    }

    fn spawn(&self, _: SpawnSpec) -> BoxFuture<'_, Result<Box<dyn Process>, SubprocessError>> {
        async { Err(SubprocessError::Unsupported) }.boxed()
    }

    fn dispose(&self) -> BoxFuture<'_, Result<(), DisposeError>> {
        async { Ok(()) }.boxed()
    }
}

#[tokio::test]
async fn case_118_an_unmounting_ends_a_mount_that_looks_programs_up() {
    for whole_host in [false, true] {
        let desk = Desk::new().await;
        let lookups = Arc::new(AtomicUsize::new(0));
        let service = Endless(lookups.clone());
        desk.host.services().set_subprocess(Some(Arc::new(service)));
        let row = desk.row(&[("server", desk.server("server", json!([])))]);
        let mounting = tokio::spawn({
            let host = desk.host.clone();
            async move { host.mount(row).await }
        });
        let under_way = || lookups.load(Ordering::SeqCst);
        eventually(|| "the lookup begins".into(), || under_way() > 0).await;
        if whole_host {
            soon(desk.host.shutdown()).await;
        } else {
            soon(desk.host.unmount(SYMBOLS)).await.unwrap();
        }
        let refused = soon(mounting).await.unwrap().expect_err("it was unmounted");
        assert!(refused.is("PLUGIN_DISPOSED"), "{refused:?}");
        eventually(|| "the lookup ends".into(), || under_way() == 0).await;
        assert_eq!(tool_names(&desk.host), Vec::<String>::new());
        assert!(desk.host.row(SYMBOLS).await.is_none());

        // The place is free.
        desk.host
            .services()
            .set_subprocess(Some(desk.programs.clone()));
        desk.mount_scripted(json!([answering(&["Gear"])])).await;
        assert_eq!(names(desk.ask("Gear").await), ["Gear"]);
        desk.unmount().await.unwrap();
    }
}

#[tokio::test]
async fn case_118_a_lookup_that_never_ends_fails_the_mount() {
    let desk = Desk::new().await;
    desk.host
        .services()
        .set_subprocess(Some(Arc::new(Endless::default())));
    let mut row = desk.row(&[("server", desk.server("server", json!([])))]);
    row.limits.apply = std::time::Duration::from_millis(200);
    let refused = soon(desk.host.mount(row))
        .await
        .expect_err("nothing is found");
    assert!(refused.is("PLUGIN_UNRESPONSIVE"), "{refused:?}");
    assert_eq!(tool_names(&desk.host), Vec::<String>::new());
}

#[tokio::test]
async fn case_119_an_unmounting_ends_a_server_that_is_starting() {
    let desk = Desk::new().await;
    desk.mount_scripted(json!([{"initialize": [{"hang": true}]}]))
        .await;
    let call = desk.begin("Gear");
    let journal = desk.journal("server");
    journal.until_got("initialize", 1).await;
    desk.unmount().await.unwrap();
    let failure = failure(call.result().await);
    assert!(failure.is("WORKSPACE_SYMBOL_DISPOSED"), "{failure:?}");
    assert!(!exists(journal.pids()[0]));
}

#[tokio::test]
async fn case_044_an_abort_ends_a_server_that_is_starting() {
    let desk = Desk::new().await;
    desk.mount_scripted(json!([{"initialize": [{"hang": true}]}, answering(&["Gear"])]))
        .await;
    let call = desk.begin("Gear");
    let journal = desk.journal("server");
    journal.until_got("initialize", 1).await;
    call.abort(AbortReason::unspecified());
    call.result().await;
    assert!(!exists(journal.pids()[0]));
    assert_eq!(names(desk.ask("Gear").await), ["Gear"]);
    desk.unmount().await.unwrap();
}

#[tokio::test]
async fn case_123_a_reload_ends_the_old_processes_before_the_tool_comes_back() {
    let desk = Desk::new().await;
    let gate = desk.gate("shutdown");
    let mut run = answering(&["Old"]);
    run["shutdown"] = json!([{"await": gate.path()}, {"reply": null}]);
    desk.mount_scripted(json!([run])).await;
    assert_eq!(names(desk.ask("x").await), ["Old"]);
    let journal = desk.journal("server");
    let reloading = tokio::spawn({
        let host = desk.host.clone();
        let config = config(&[("other", desk.server("other", json!([answering(&["New"])])))]);
        async move { host.reload(SYMBOLS, config).await }
    });
    journal.until_got("shutdown", 1).await;
    assert_eq!(tool_names(&desk.host), Vec::<String>::new());
    assert!(!reloading.is_finished());
    gate.open();
    assert_eq!(soon(reloading).await.unwrap(), Ok(RowState::Active));
    assert!(!exists(journal.pids()[0]));
    assert_eq!(tool_names(&desk.host), [TOOL]);
    assert_eq!(names(desk.ask("x").await), ["New"]);

    // A refused configuration leaves the old one in force.
    let refused = desk.host.reload(SYMBOLS, json!({"servers": {}})).await;
    assert!(refused.is_err());
    assert_eq!(names(desk.ask("x").await), ["New"]);
    desk.unmount().await.unwrap();
    assert!(!desk.journal("other").pids().into_iter().any(exists));
}

#[tokio::test]
async fn case_124_a_second_mount_fails_and_leaves_the_first_alone() {
    let desk = Desk::new().await;
    desk.mount_scripted(json!([answering(&["Gear"])])).await;
    assert_eq!(names(desk.ask("Gear").await), ["Gear"]);
    let mut second = desk.row(&[(
        "server",
        desk.server("second", json!([answering(&["Other"])])),
    )]);
    second.id = "second".into();
    let refused = soon(desk.host.mount(second))
        .await
        .expect_err("the tool is there");
    assert_eq!(
        refused.message,
        "tool \"workspace_symbol\" is already registered"
    );
    assert!(desk.host.row("second").await.is_none());
    assert_eq!(names(desk.ask("Gear").await), ["Gear"]);
    assert_eq!(desk.journal("server").pids().len(), 1);
    assert_eq!(desk.journal("second").pids(), [0; 0]);
    desk.unmount().await.unwrap();
    assert_eq!(tool_names(&desk.host), Vec::<String>::new());
}

#[tokio::test]
async fn case_125_a_registration_that_fails_leaves_nothing() {
    let desk = Desk::new().await;
    let own = register(&desk.host, Scope::Global, TOOL);
    let server = desk.server("server", json!([answering(&["Gear"])]));
    let refused = desk.mount(&[("server", server.clone())]).await;
    assert!(refused.is_err());
    assert!(desk.host.row(SYMBOLS).await.is_none());
    assert_eq!(desk.journal("server").entries(), Vec::<Value>::new());
    assert_eq!(tool_names(&desk.host), [TOOL], "that of the embedder");
    drop(own);
    assert_eq!(
        desk.mount(&[("server", server)]).await,
        Ok(RowState::Active)
    );
    assert_eq!(names(desk.ask("Gear").await), ["Gear"]);
    desk.unmount().await.unwrap();
}

#[tokio::test]
async fn case_126_another_subprocess_service_starts_the_plugin_anew() {
    let desk = Desk::new().await;
    desk.mount_scripted(json!([answering(&["Gear"])])).await;
    assert_eq!(names(desk.ask("Gear").await), ["Gear"]);
    let journal = desk.journal("server");
    let old = journal.pids()[0];
    let services = desk.host.services();
    let fresh = Arc::new(LocalSubprocess::new(Some(scripted_server())));
    services.set_subprocess(Some(fresh.clone()));
    soon(desk.host.settle()).await;
    assert!(!exists(old), "what the old service started is gone");
    assert_eq!(tool_names(&desk.host), [TOOL]);
    assert_eq!(names(desk.ask("Gear").await), ["Gear"]);
    let new = journal.pids()[1];
    soon(desk.host.settle()).await;
    assert!(exists(new), "nothing changed");

    // Gone, and back again.
    services.set_subprocess(None);
    soon(desk.host.settle()).await;
    assert!(!exists(new));
    let (_, state) = desk.host.row(SYMBOLS).await.unwrap();
    assert_eq!(state, RowState::Pending(vec!["subprocess".into()]));
    assert_eq!(tool_names(&desk.host), Vec::<String>::new());
    services.set_subprocess(Some(fresh));
    soon(desk.host.settle()).await;
    assert_eq!(names(desk.ask("Gear").await), ["Gear"]);
    desk.unmount().await.unwrap();
    assert!(!journal.pids().into_iter().any(exists));
}

#[tokio::test]
async fn case_126_a_service_that_ends_its_processes_without_a_word_is_survived() {
    let desk = Desk::new().await;
    desk.mount_scripted(json!([answering(&["Gear"])])).await;
    assert_eq!(names(desk.ask("Gear").await), ["Gear"]);
    let fresh = Arc::new(LocalSubprocess::new(Some(scripted_server())));
    desk.host.services().set_subprocess(Some(fresh));
    soon(desk.programs.dispose()).await.unwrap();
    assert!(!exists(desk.journal("server").pids()[0]));
    // Nobody told the rows; the next call finds out.
    assert_eq!(names(desk.ask_as(AGENT, "Gear").await), ["Gear"]);
    desk.unmount().await.unwrap();
}

#[tokio::test]
async fn case_121_unmountings_at_the_same_time_end_the_processes_once() {
    let desk = Desk::new().await;
    desk.mount_scripted(json!([answering(&["Gear"])])).await;
    assert_eq!(names(desk.ask("Gear").await), ["Gear"]);
    let unmounting = || {
        let host = desk.host.clone();
        tokio::spawn(async move { host.unmount(SYMBOLS).await })
    };
    let all = [unmounting(), unmounting(), unmounting()];
    let mut done = 0;
    for one in all {
        match soon(one).await.unwrap() {
            Ok(()) => done += 1,
            Err(failure) => assert!(failure.is("ROW_UNKNOWN"), "{failure:?}"),
        }
    }
    assert_eq!(done, 1);
    let journal = desk.journal("server");
    assert_eq!(
        journal
            .methods()
            .iter()
            .filter(|method| *method == "shutdown")
            .count(),
        1
    );
    assert!(!exists(journal.pids()[0]));
}
