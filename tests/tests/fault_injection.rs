//! Every service call of every tool goes wrong once, in every way: the answer is right, or a part that says so, or a documented failure; and the
//! next call is as if nothing had been.
#![cfg(unix)]

use dsh_host::{
    AbortController, CallRequest, Host, HostOptions, RowState, SearchError, ToolResult,
};
use dsh_services::fs::LocalFileSystem;
use dsh_services::session_query::{LocalOptions, LocalSessionQuery};
use dsh_services::spill::{SpillGuard, SpillRoots};
use dsh_services::subprocess::LocalSubprocess;
use dsh_tests::faults::{FAULTS, Fault, Faulty, Plan};
use dsh_tests::hostile::soon;
use dsh_tests::hosts::{COMPLETION, HISTORY, SYMBOLS, agent, mount};
use dsh_tests::symbols::{answering, config, scripted_server};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use tempfile::TempDir;

const AGENT: &str = "a";
/// A spill file of its session: the directory is named by a hash of the session's id.
const SPILL: &str = "spill/session-ca978112ca1b/0123456789ab-bash.txt";
/// More calls than any tool makes, against a test that never ends.
const MOST_CALLS: usize = 100;

/// The three plugins on services that can be told to fail.
struct Scene {
    host: Host,
    plan: Plan,
    home: TempDir,
}

/// How a driven call ended, in a form that can be compared.
#[derive(Debug, PartialEq)]
enum Ending {
    Answer(Value),
    Failure(String),
    Cancelled,
}

impl Scene {
    async fn new() -> Self {
        let (plan, home) = (Plan::default(), tempfile::tempdir().unwrap());
        let workspace = home.path().canonicalize().unwrap().join("ws");
        std::fs::create_dir_all(workspace.join("src/deep")).unwrap();
        for name in ["src/gear.rs", "src/deep/gear.rs", "gear.txt"] {
            std::fs::write(workspace.join(name), "fn gear() {}").unwrap();
        }
        let host = Host::new(HostOptions {
            workspaces: Arc::new(plan.clone()),
            ..HostOptions::default()
        })
        .unwrap();
        let services = host.services();
        let files = LocalFileSystem::new(workspace.clone()).unwrap();
        files.grant(&workspace).unwrap();
        services.set_file_system(Some(Arc::new(Faulty {
            plan: plan.clone(),
            service: files,
        })));
        services.set_subprocess(Some(Arc::new(Faulty {
            plan: plan.clone(),
            service: Arc::new(LocalSubprocess::new(Some(scripted_server()))) as _,
        })));
        let sessions = home.path().join("sessions");
        record_session(&sessions);
        let faulty = Arc::new(Faulty {
            plan: plan.clone(),
            service: LocalSessionQuery::new(LocalOptions::new(sessions)),
        });
        services.set_session_query(Some(faulty.clone()));
        let roots = SpillRoots {
            sessions: vec![home.path().canonicalize().unwrap().join("spill")],
            ..SpillRoots::default()
        };
        services.set_spill_guard(Some(Arc::new(SpillGuard::new(roots, faulty))));
        write_ripgrep(home.path());
        agent(&host, AGENT, &workspace).await;
        let scene = Self { host, plan, home };
        for name in [COMPLETION, HISTORY, SYMBOLS] {
            let state = soon(mount(&scene.host, name, scene.config_of(name))).await;
            assert_eq!(state, Ok(RowState::Active), "{name}");
        }
        scene
    }

    fn config_of(&self, name: &str) -> Value {
        if name == HISTORY {
            return json!({"rgPath": self.home.path().canonicalize().unwrap().join("rg")});
        }
        if name != SYMBOLS {
            return json!({});
        }
        let journal = self.home.path().join("server.journal");
        let script = json!({"journal": journal, "runs": [answering(&["Gear"])]});
        let server = json!({
            "command": scripted_server(),
            "args": [script.to_string()],
            "warmupMs": 0,
            "killGraceMs": 300,
            "shutdownTimeoutMs": 20_000,
            "openFiles": ["gear.txt"],
        });
        config(&[("server", server)])
    }

    /// One call with everything that it has to do anew: no index, no server, no log in memory.
    async fn drive(
        &self,
        plugin: &str,
        tool: &str,
        arguments: &Value,
        fault: Option<(usize, Fault)>,
    ) -> (Ending, bool) {
        let state = soon(self.host.reload(plugin, self.config_of(plugin))).await;
        assert_eq!(state, Ok(RowState::Active));
        let controller = Arc::new(AbortController::new());
        if let Some((number, fault)) = fault {
            self.plan.arm(number, fault, controller.clone());
        }
        let ending = if plugin == COMPLETION {
            match soon(
                self.host
                    .list_file_references(AGENT, "gear", &controller.signal()),
            )
            .await
            {
                Ok(found) => Ending::Answer(found.into_iter().map(|found| found.path).collect()),
                Err(SearchError::Aborted(_)) => Ending::Cancelled,
                Err(SearchError::Failed(failure)) => {
                    Ending::Failure(failure.code.unwrap_or(failure.message))
                }
            }
        } else {
            let request = CallRequest {
                agent: Some(AGENT.into()),
                signal: controller.signal(),
                ..CallRequest::new(tool, &arguments.to_string())
            };
            match soon(self.host.call(request)).await {
                ToolResult::Success(output) => Ending::Answer(output.value.value()),
                ToolResult::Cancelled(_) => Ending::Cancelled,
                ToolResult::Failure(failure) => {
                    Ending::Failure(failure.code.unwrap_or(failure.message))
                }
            }
        };
        (ending, self.plan.disarm())
    }

    /// Drives one tool through every fault of every call. `fatal` are the faults by which it may fail, `documented` the codes that it may fail
    /// with, `partial` judges an answer that is not the whole one.
    async fn torment(
        &self,
        plugin: &str,
        tool: &str,
        arguments: Value,
        fatal: &[Fault],
        documented: &[&str],
        partial: impl Fn(&Value, &Value) -> bool,
    ) {
        let (whole, _) = self.drive(plugin, tool, &arguments, None).await;
        let Ending::Answer(whole) = whole else {
            panic!("{tool}: {whole:?}");
        };
        let mut injected = 0;
        for fault in FAULTS {
            for number in 1..MOST_CALLS {
                let (ending, happened) = self
                    .drive(plugin, tool, &arguments, Some((number, fault)))
                    .await;
                let what = format!("{tool}: {fault:?} at call {number}: {ending:?}");
                match &ending {
                    Ending::Answer(answer) if *answer == whole => {}
                    Ending::Answer(answer) => {
                        assert!(matches!(fault, Fault::Fail | Fault::Truncate), "{what}");
                        assert!(partial(answer, &whole), "{what} is not a part of {whole}");
                    }
                    Ending::Cancelled => assert_eq!(fault, Fault::Cancel, "{what}"),
                    Ending::Failure(code) => {
                        assert!(fatal.contains(&fault), "{what}");
                        assert!(documented.contains(&&**code), "{what}");
                    }
                }
                if !happened {
                    assert_eq!(ending, Ending::Answer(whole.clone()), "{what}");
                    break;
                }
                injected += 1;
                assert!(number + 1 < MOST_CALLS, "{tool} makes no end of calls");
                let (after, _) = self.drive(plugin, tool, &arguments, None).await;
                assert_eq!(after, Ending::Answer(whole.clone()), "after {what}");
            }
        }
        assert!(injected >= FAULTS.len(), "{tool}: {injected} faults");
        println!("{tool}: {injected} faults");
    }
}

fn record_session(root: &std::path::Path) {
    let folder = root.join("--work-app--").join(AGENT);
    std::fs::create_dir_all(&folder).unwrap();
    let header = json!({"type": "session", "version": 0, "id": AGENT, "createdAt": 1, "cwd": "/work/app", "delegationDepth": 0});
    let mut log = format!("{header}\n");
    for seq in 0..8 {
        let data = json!({"id": format!("m{seq}"), "role": "user", "content": [{"type": "text", "text": format!("gear {seq}")}], "source": {"kind": "user"}});
        let event = json!({"type": "user/message", "seq": seq, "time": seq, "surfaceOp": "append", "data": data});
        log += &format!("{event}\n");
    }
    std::fs::write(folder.join("session.jsonl"), log).unwrap();
}

/// The spill file, and what stands for ripgrep: it finds three lines, whatever it is asked, as ripgrep would tell of them.
fn write_ripgrep(home: &std::path::Path) {
    let file = home.join(SPILL);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "gear 1\ngear 2\ngear 3\n").unwrap();
    let lines = (1..=3).map(|line| {
        json!({"type": "match", "data": {
            "path": {"text": file}, "lines": {"text": format!("gear {line}\n")}, "line_number": line, "absolute_offset": 7 * (line - 1),
            "submatches": [{"match": {"text": "gear"}, "start": 0, "end": 4}],
        }})
        .to_string()
    });
    let end = json!({"type": "end", "data": {"path": {"text": file}, "binary_offset": null, "stats": {}}});
    let lines: Vec<String> = lines.chain([end.to_string()]).collect();
    let script = format!("#!/bin/sh\ncat <<'END'\n{}\nEND\n", lines.join("\n"));
    let program = home.join("rg");
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
}

/// Whether every item of one list is in the other.
fn is_part(part: &Value, whole: &Value) -> bool {
    let (part, whole) = (part.as_array().unwrap(), whole.as_array().unwrap());
    part.len() < whole.len() && part.iter().all(|item| whole.contains(item))
}

#[tokio::test(flavor = "multi_thread")]
async fn completion() {
    let scene = Scene::new().await;
    // A directory that cannot be read hides its files and no others.
    scene
        .torment(COMPLETION, "completion", Value::Null, &[], &[], is_part)
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn history() {
    let scene = Scene::new().await;
    let codes = ["SESSION_QUERY_PERSISTENCE_FAILED"];
    let marked = |part: &Value, whole: &Value| {
        part["truncated"] == true && is_part(&part["matches"], &whole["matches"])
    };
    for (tool, arguments) in [
        ("context_query", json!({"text": "gear"})),
        ("context_grep", json!({"pattern": "gear"})),
        ("context_slice", json!({"seq": 3, "before": 1, "after": 1})),
    ] {
        scene
            .torment(HISTORY, tool, arguments, &[Fault::Fail], &codes, marked)
            .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn spill_files() {
    let scene = Scene::new().await;
    let file = scene.home.path().canonicalize().unwrap().join(SPILL);
    let marked = |part: &Value, whole: &Value| {
        part["truncated"] == true && is_part(&part["matches"], &whole["matches"])
    };
    // Output that stops in the middle is no answer.
    let fatal = [Fault::Fail, Fault::Truncate];
    let codes = ["CONTEXT_PROXY_SEARCH_FAILED"];
    let arguments = json!({"pattern": "gear", "path": file});
    scene
        .torment(HISTORY, "context_grep", arguments, &fatal, &codes, marked)
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn symbols() {
    let scene = Scene::new().await;
    let codes = [
        "WORKSPACE_SYMBOL_PROVIDER_FAILED",
        "WORKSPACE_SYMBOL_WORKSPACE_INVALID",
    ];
    let never = |_: &Value, _: &Value| false;
    scene
        .torment(
            SYMBOLS,
            "workspace_symbol",
            json!({"query": "Gear"}),
            &[Fault::Fail],
            &codes,
            never,
        )
        .await;
}
