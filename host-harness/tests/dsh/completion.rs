//! `ctx.fileReferences` of a real DSH, provided by the component, and the section of the system prompt that goes with it.

use crate::builds::on_both_builds;
use crate::model::{Model, Step};
use crate::turn::{Stage, finished};
use serde_json::json;

/// Asks as a user interface does, at the first event of the turn, and again after a tool has made a file.
const ASKER: &str = r#"
import { appendFileSync, writeFileSync } from 'node:fs'
export const name = 'asker'
export const inject = ['agents', 'fileReferences']
export function apply(ctx, { place }) {
  const note = (value) => appendFileSync(`${place}/asker.log`, `${JSON.stringify(value)}\n`)
  const ask = async (agent, query) => {
    const found = await ctx.fileReferences.list(agent, query, new AbortController().signal)
    note(found.map(({ path, kind }) => `${kind} ${path}`))
  }
  ctx.on('agent/created', async ({ agent }) => {
    await ask(agent, 'quag')
    await ask(agent, 'src/')
    await ctx.fileReferences.list(agent, 'x', AbortSignal.abort(new Error('never mind'))).catch((error) => note([error.message]))
  })
  ctx.on('session/event', (session, event) => {
    if (event.type !== 'tool/result') return
    writeFileSync('okapi.md', '')
    void ask(ctx.agents.list()[0], 'okapi')
  })
}
"#;

on_both_builds!(paths_are_completed_through_the_service_of_dsh, |build| {
    let mut stage = Stage::new(build);
    stage.write("src/quagga.rs", "");
    stage.write("README.md", "");
    stage.components_with(json!({
        "rows": [{"id": "files", "name": "dsh-file-reference-local"}],
        "fileReferences": true,
    }));
    stage.script("asker", ASKER);
    let model = Model::start(vec![
        Step::call("glob", json!({"pattern": "*.md"})),
        Step::call("glob", json!({"pattern": "*.md"})),
    ]);
    finished(&stage.turn(&model, "task"));
    let notes = stage.notes("asker.log");
    assert_eq!(
        notes[..3],
        [
            json!(["file src/quagga.rs"]),
            json!(["file src/quagga.rs"]),
            json!(["never mind"]),
        ]
    );
    assert!(notes[3..].contains(&json!(["file okapi.md"])), "{notes:?}");
});

on_both_builds!(
    the_prompt_section_is_there_exactly_when_the_model_can_read,
    |build| {
        let sentence = "Use the read tool when";
        let section = |hide: bool| {
            let mut stage = Stage::new(build);
            stage.components(json!([{"id": "files", "name": "dsh-file-reference-local"}]));
            if hide {
                stage.script("hider", HIDER);
            }
            let model = Model::start(Vec::new());
            finished(&stage.turn(&model, "task"));
            model.system().contains(sentence)
        };
        assert!(section(false));
        assert!(!section(true));
    }
);

/// Takes the `read` tool away from every agent.
const HIDER: &str = r#"
export const name = 'hider'
export const inject = ['agents', 'tools']
export function apply(ctx) {
  ctx.on('agent/created', ({ agent }) => {
    agent.ctx.tools.restrict({ deny: ['read'] })
  })
}
"#;
