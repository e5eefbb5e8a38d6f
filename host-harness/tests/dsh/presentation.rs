//! The cards of calls as a user interface gets them.

use crate::builds::on_both_builds;
use crate::model::{Model, Step};
use crate::turn::{Stage, finished};
use serde_json::json;

/// Asks for the cards as the interfaces do: before the call, and with its result.
const CARDS: &str = r#"
import { appendFileSync } from 'node:fs'
export const name = 'cards'
export const inject = ['tools']
export function apply(ctx, { place }) {
  const note = (value) => appendFileSync(`${place}/cards.log`, `${JSON.stringify(value)}\n`)
  const args = { text: 'quagga' }
  ctx.on('session/event', (_, event) => {
    const tool = ctx.tools.get('context_query')
    if (event.type === 'tool/call') note(tool.presentCall(args))
    if (event.type !== 'tool/result') return
    note(tool.presentCall(args))
    note(tool.presentResult(args, { content: [], isError: false }))
    note({ none: tool.presentResult(args, { content: [], isError: true }) ?? null, timeoutMs: tool.timeoutMs, safe: tool.isConcurrencySafe(args) })
  })
}
"#;

on_both_builds!(a_call_has_the_components_card, |build| {
    let mut stage = Stage::new(build);
    stage.components(json!([{"id": "history", "name": "dsh-context-proxy"}]));
    stage.script("cards", CARDS);
    let model = Model::start(vec![Step::call("context_query", json!({"text": "quagga"}))]);
    finished(&stage.turn(&model, "quagga"));
    let notes = stage.notes("cards.log");
    let card = |title: &str| json!({"card": "generic", "title": title, "kind": "search", "rawInput": {"text": "quagga"}});
    assert_eq!(notes[0], card("context_query: quagga"));
    let title = notes[1]["title"].as_str().unwrap();
    assert!(
        title.contains("quagga") && title != "context_query: quagga",
        "{title}"
    );
    assert_eq!(notes[1], card(title));
    assert_eq!(notes[2], json!({"card": "generic", "title": title}));
    assert_eq!(notes[3]["none"], json!(null));
    assert_eq!(notes[3]["safe"], json!(true));
});
