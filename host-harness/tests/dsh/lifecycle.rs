//! Cancelling, unloading, losing the host, and a configuration that is wrong.

use crate::builds::{Build, on_both_builds};
use crate::model::{Model, Step};
use crate::turn::{Stage, finished, run, signal};
use rustix::process::Signal;
use serde_json::json;
use std::process::Output;

/// A language server that starts a child of its own and answers nothing.
const MUTE: &str = "#!/bin/sh\nsleep 1000 &\ncat >/dev/null\n";

/// Symbols from a server that never answers.
fn mute_symbols(stage: &Stage) -> serde_json::Value {
    let server = stage.program("mute-server", MUTE);
    json!({
        "id": "symbols",
        "name": "dsh-workspace-intelligence",
        "config": {"servers": {"mute": {"command": server}}},
    })
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
}

on_both_builds!(a_call_is_cancelled_in_the_middle, |build| {
    let mut stage = Stage::new(build);
    let row = mute_symbols(&stage);
    stage.write("a.rs", "fn a() {}\n");
    stage.components(json!([row]));
    stage.script("canceller", CANCELLER);
    let model = Model::start(vec![Step::call("workspace_symbol", json!({"query": "a"}))]);
    stage.turn(&model, "task");
    let notes = stage.notes("canceller.log");
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert_eq!(notes[0], json!({"serverRuns": true}));
    assert_eq!(notes[1]["isError"], json!(true));
});

/// Cancels the agent once the server runs, and writes down what the tool came to.
const CANCELLER: &str = r#"
import { appendFileSync, existsSync, readdirSync, readFileSync } from 'node:fs'
export const name = 'canceller'
export const inject = ['agents']
export function apply(ctx, { place }) {
  const note = (value) => appendFileSync(`${place}/canceller.log`, `${JSON.stringify(value)}\n`)
  const runs = () => readdirSync('/proc').some((pid) => /^\d+$/.test(pid) && existsSync(`/proc/${pid}/cmdline`) && read(`/proc/${pid}/cmdline`).includes(`${place}/mute-server`))
  const read = (path) => { try { return readFileSync(path, 'utf8') } catch { return '' } }
  ctx.on('session/event', (session, event) => {
    if (event.type === 'tool/call') {
      const look = () => {
        if (!runs()) return setTimeout(look, 20)
        note({ serverRuns: true })
        ctx.agents.list().find((agent) => agent.session === session).cancel({ kind: 'user' })
      }
      look()
    }
    if (event.type === 'tool/result') {
      const text = JSON.stringify(event.data)
      note({ isError: /"isError":true/.test(text), text })
    }
  })
}
"#;

on_both_builds!(a_turn_that_dsh_is_told_to_end_leaves_nothing, |build| {
    let mut stage = Stage::new(build);
    let row = mute_symbols(&stage);
    stage.write("a.rs", "fn a() {}\n");
    stage.components(json!([row]));
    let model = Model::start(vec![Step::call("workspace_symbol", json!({"query": "a"}))]);
    for how in [Signal::TERM, Signal::KILL] {
        let child = stage.command(&model, "task").spawn().unwrap();
        stage.until("the server runs", || {
            !stage.processes("mute-server").is_empty()
        });
        signal(child.id(), how);
        child.wait_with_output().unwrap();
        if how == Signal::KILL {
            // DSH itself could end nothing; its host does, and what DSH started for the component goes with its pipes.
            stage.until("the host is gone", || {
                stage.processes("dsh-host").is_empty()
            });
            for pid in stage.processes("mute-server") {
                signal(pid, Signal::KILL);
            }
        }
        stage.nothing_left();
    }
});

on_both_builds!(the_plugin_is_unloaded_and_loaded_again, |build| {
    let mut stage = Stage::new(build);
    stage.script("reloader", RELOADER);
    let query = || Step::call("context_query", json!({"text": "a task"}));
    let model = Model::start(vec![query(), query()]);
    finished(&stage.turn(&model, "a task"));
    assert!(
        model.results()[1].contains("user/message"),
        "{:?}",
        model.results()
    );
    assert_eq!(
        stage.notes("reloader.log"),
        [
            json!({"tools": true, "hosts": 1}),
            json!({"tools": false, "hosts": 0}),
            json!({"tools": true, "hosts": 1}),
        ]
    );
});

/// Mounts the plugin, unmounts it and mounts it again, before the first turn.
const RELOADER: &str = r#"
import { appendFileSync, readdirSync, readFileSync } from 'node:fs'
export const name = 'reloader'
export const inject = ['tools', 'agents']
export async function apply(ctx, { place, plugin, command }) {
  const components = await import(plugin)
  const read = (path) => { try { return readFileSync(path, 'utf8') } catch { return '' } }
  const hosts = () => readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && read(`/proc/${pid}/cmdline`).startsWith(`${command}\0`)).length
  const note = () => appendFileSync(`${place}/reloader.log`, `${JSON.stringify({ tools: ctx.tools.get('context_query') !== undefined, hosts: hosts() })}\n`)
  const config = { command, rows: [{ id: 'history', name: 'dsh-context-proxy' }] }
  const first = ctx.plugin(components, config)
  await first
  note()
  await first.dispose()
  note()
  await ctx.plugin(components, config)
  note()
}
"#;

on_both_builds!(a_lost_host_is_started_again_by_the_next_call, |build| {
    let mut stage = Stage::new(build);
    stage.components(json!([{"id": "history", "name": "dsh-context-proxy"}]));
    stage.script("killer", KILLER);
    let model = Model::start(vec![
        Step::call("context_query", json!({"text": "first"})),
        Step::call("context_query", json!({"text": "first"})),
        Step::call("context_query", json!({"text": "first"})),
    ]);
    finished(&stage.turn(&model, "the first of all"));
    let results = model.results();
    assert_eq!(results.len(), 3, "{results:?}");
    assert!(
        results[1..]
            .iter()
            .all(|text| text.contains("the first of all")),
        "{results:?}"
    );
    assert_eq!(stage.notes("killer.log").len(), 1);
});

/// Kills the host after the first result.
const KILLER: &str = r#"
import { appendFileSync, existsSync, readdirSync, readFileSync } from 'node:fs'
export const name = 'killer'
export function apply(ctx, { place, command }) {
  const read = (path) => { try { return readFileSync(path, 'utf8') } catch { return '' } }
  let done = false
  ctx.on('session/event', (_, event) => {
    if (event.type !== 'tool/result' || done) return
    done = true
    for (const pid of readdirSync('/proc').filter((pid) => /^\d+$/.test(pid))) {
      if (!read(`/proc/${pid}/cmdline`).startsWith(`${command}\0`)) continue
      process.kill(Number(pid), 'SIGKILL')
      // The process is a zombie until its end was noticed, which is what the next call must meet.
      appendFileSync(`${place}/killer.log`, `${JSON.stringify({ killed: true })}\n`)
    }
  })
}
"#;

on_both_builds!(
    what_is_wrong_with_the_configuration_is_shown_by_dsh,
    |build: Build| {
        let history = json!({"id": "history", "name": "dsh-context-proxy"});
        let symbols =
            json!({"id": "s", "name": "dsh-workspace-intelligence", "config": {"servers": 5}});
        for (config, expected) in [
            (json!({"rows": []}), "dsh-components: rows must be a list"),
            (
                json!({"rows": [history], "colour": 1}),
                "dsh-components: unknown key \"colour\"",
            ),
            (
                json!({"rows": [{"id": "x", "name": "no-such"}]}),
                "row \"x\": name: no bundled plugin is called \"no-such\"",
            ),
            (json!({"rows": [history, symbols]}), "row \"s\": "),
            (
                json!({"rows": [history], "fileReferences": true}),
                "no row provides it",
            ),
        ] {
            let mut stage = Stage::new(build);
            stage.components_with(config.clone());
            let output = run(stage.command(&Model::start(Vec::new()), "task"));
            assert!(
                stderr(&output).contains(expected),
                "{config}: {}",
                stderr(&output)
            );
            stage.nothing_left();
        }
    }
);

on_both_builds!(
    a_missing_or_foreign_host_is_said_with_the_command_that_installs_it,
    |build| {
        let programs = Stage::new(build);
        let old = programs.program("old-host", OLD_HOST);
        let none = programs.program("not-a-host", NO_SUCH_COMMAND);
        for (command, expected) in [
            (
                "/no/such/dsh-host".to_owned(),
                "/no/such/dsh-host was not found",
            ),
            (old, "speaks protocol 0 of the bridge"),
            (none, "is too old to serve DSH"),
        ] {
            let mut stage = Stage::new(build);
            let config =
                json!({"command": command, "rows": [{"id": "h", "name": "dsh-context-proxy"}]});
            stage.row("dsh-components", &crate::turn::plugin("index.js"), config);
            let said = stderr(&run(stage.command(&Model::start(Vec::new()), "task")));
            assert!(said.contains(expected), "{command}: {said}");
            assert!(said.contains("cargo install --locked"), "{command}: {said}");
            programs.nothing_left();
        }
    }
);

/// A host of another protocol.
const OLD_HOST: &str = r#"#!/bin/sh
read line
echo '{"id":1,"error":{"code":"BRIDGE_PROTOCOL","message":"this dsh-host 0.0.9 speaks protocol 0 of the bridge, and the plugin asks for 1"}}'
cat >/dev/null
"#;

/// A host from before there was a bridge.
const NO_SUCH_COMMAND: &str =
    "#!/bin/sh\necho \"error: unrecognized subcommand 'bridge'\" >&2\nexit 2\n";
