//! `context_query`, `context_slice` and `context_grep` over the history and the spill files of a real DSH.

use crate::builds::{Build, on_both_builds};
use crate::model::{Model, Step};
use crate::turn::{Stage, finished};
use serde_json::{Value, json};

fn stage(build: Build) -> Stage {
    let mut stage = Stage::new(build);
    stage.components(json!([{"id": "history", "name": "dsh-context-proxy"}]));
    stage
}

/// The result as the JSON that it is.
fn json_of(result: &str) -> Value {
    serde_json::from_str(result).unwrap_or_else(|_| panic!("{result}"))
}

on_both_builds!(an_earlier_event_is_found_and_read, |build| {
    let stage = stage(build);
    let query = || Step::call("context_query", json!({"text": "QUAGGA 7431"}));
    let model = Model::start(vec![
        query(),
        query(),
        Step::then(
            "context_slice",
            |results| json!({"seq": json_of(&results[1])["matches"][0]["seq"]}),
        ),
    ]);
    finished(&stage.turn(&model, "Remember the quagga 7431 please"));
    let results = model.results();
    // What the model sees in the current step is not history yet.
    assert_eq!(json_of(&results[0])["matches"], json!([]));
    let found = json_of(&results[1])["matches"][0].clone();
    assert_eq!(found["type"], "user/message");
    assert_eq!(found["text"], "Remember the quagga 7431 please");
    let slice = json_of(&results[2]);
    assert_eq!(slice["items"][0]["text"], found["text"]);
    assert_eq!(slice["seq"], found["seq"]);
});

on_both_builds!(arguments_are_judged_by_the_component, |build| {
    let stage = stage(build);
    let model = Model::start(vec![Step::call("context_slice", json!({"seq": "eight"}))]);
    finished(&stage.turn(&model, "task"));
    let results = model.results();
    assert!(
        results[0].starts_with("Error: ") && results[0].contains("seq"),
        "{results:?}"
    );
});

on_both_builds!(
    the_model_is_offered_the_components_own_definitions,
    |build| {
        let stage = stage(build);
        let model = Model::start(Vec::new());
        finished(&stage.turn(&model, "task"));
        let own = std::process::Command::new(env!("CARGO_BIN_EXE_dsh-host"))
            .args(["tools", "--json"])
            .output()
            .unwrap();
        let own: Value = serde_json::from_slice(&own.stdout).unwrap();
        let own = own.as_array().unwrap();
        assert_eq!(own.len(), 3);
        for tool in own {
            let offered = model.offered(tool["name"].as_str().unwrap()).unwrap();
            assert_eq!(offered["description"], tool["description"]);
            assert_eq!(offered["schema"], tool["parameters"]);
        }
    }
);

/// A tool that says more than DSH shows, so that DSH itself moves it into a spill file.
const FLOOD: &str = r#"
export const name = 'flood'
export const inject = ['tools']
export function apply(ctx) {
  const water = 'water\n'.repeat(90000)
  ctx.tools.register({
    name: 'flood',
    description: 'Says a lot.',
    parameters: { type: 'object', properties: {} },
    output: { schema: { type: 'object' }, render: () => [{ type: 'text', text: `${water}the-needle\n${water}` }] },
    execute: async () => ({}),
  })
}
"#;

/// The path of a spill file in a result, which DSH writes between white space or marks.
fn spill_path(text: &str) -> String {
    let mark = |c: char| c.is_whitespace() || "\"'`(),;[]<>".contains(c);
    let words = text.split(mark);
    let mut paths = words.filter(|word| word.starts_with('/') && word.contains("/dsh-spill-"));
    let path = paths
        .next()
        .unwrap_or_else(|| panic!("no spill file in {text:?}"));
    path.trim_end_matches('.').to_owned()
}

on_both_builds!(a_real_spill_file_is_searched, |build| {
    let Some(rg) = crate::builds::ripgrep() else {
        return;
    };
    let mut stage = Stage::new(build);
    stage.script("flood", FLOOD);
    stage.components(
        json!([{"id": "history", "name": "dsh-context-proxy", "config": {"rgPath": rg}}]),
    );
    let model = Model::start(vec![
        Step::call("flood", json!({})),
        Step::then(
            "context_grep",
            |results| json!({"pattern": "the-needle", "path": spill_path(&results[0])}),
        ),
        Step::call(
            "context_grep",
            json!({"pattern": "root", "path": "/etc/passwd"}),
        ),
    ]);
    finished(&stage.turn(&model, "task"));
    let results = model.results();
    let found = json_of(&results[1]);
    assert_eq!(found["source"], "spill");
    assert_eq!(found["matches"][0]["text"], "the-needle");
    let citation = found["matches"][0]["citation"].as_str().unwrap();
    assert!(citation.ends_with("-flood.txt:90001"), "{citation}");
    assert_eq!(
        results[2],
        "Error: path is not a spill file of this session"
    );
});
