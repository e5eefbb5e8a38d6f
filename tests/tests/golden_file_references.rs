//! Every vector of `golden/file-references`, through the component and the host. The plugin's own tests ask its core the same.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "this is how a test fails"
)]

use dsh_host::{Candidate, Host, Kind};
use dsh_tests::hosts::{COMPLETION, agent, ask, host, host_with, mount};
use dsh_tests::tree::{Tree, needs, unmet_need};
use dsh_tests::workspaces::Redirected;
use dsh_tests::{announce, vectors};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

const AGENT: &str = "golden";

/// Bytes of the longest path that Linux opens at once.
const PATH_MAX: usize = 4095;

#[derive(Default)]
struct Asked {
    queries: usize,
    /// Answers that hold what the published module cannot open.
    further: usize,
    failures: Vec<String>,
}

impl Asked {
    async fn ask(&mut self, host: &Host, label: &str, query: &str, expected: &Value) {
        self.queries += 1;
        let got = vectors::outcome(ask(host, AGENT, query).await);
        if got != json!({ "ok": expected }) {
            self.failures.push(format!(
                "{label}: {query:?}\n  expected {expected}\n  got      {got}"
            ));
        }
    }

    /// The same, in a tree that is deeper than paths may be long. The published module opens directories by absolute path and gives up where
    /// that is too long; ours opens them below the root (SPEC 10.3). Its answers must be there, around what lies further down.
    async fn ask_deep(&mut self, host: &Host, root: &Path, query: &str, expected: &Value) {
        self.queries += 1;
        let got = vectors::candidates(&ask(host, AGENT, query).await.unwrap());
        let (got, expected) = (got.as_array().unwrap(), expected.as_array().unwrap());
        let opened = |candidate: &Value| {
            let path = root.join(candidate["path"].as_str().unwrap());
            path.parent().unwrap().as_os_str().len() <= PATH_MAX
        };
        let within: Vec<_> = got.iter().filter(|found| opened(found)).cloned().collect();
        self.further += usize::from(within.len() < got.len());
        // What is further down takes places in the answer from the end of the module's.
        let room = expected.len().min(within.len());
        let cut = within.len() < expected.len() && got.len() < expected.len();
        if within != expected[..room] || cut {
            self.failures.push(format!("deep tree: {query:?}"));
        }
    }

    fn finish(&self, expected: usize) {
        let (wrong, all) = (self.failures.len(), self.queries);
        let shown = self.failures.join("\n");
        assert_eq!(wrong, 0, "{wrong} of {all} answers differ:\n{shown}");
        assert_eq!(all, expected);
    }
}

#[tokio::test]
async fn trees_on_disk_answer_as_the_published_module_does() {
    let host = host();
    let (mut asked, mut files, mut skipped) = (Asked::default(), 0, 0);
    for entry in std::fs::read_dir(vectors::directory().join("cases")).unwrap() {
        let case = vectors::read(entry.unwrap().path());
        let queries = vectors::list(&case["queries"]);
        files += 1;
        match unmet_need(&case) {
            Some(need) => {
                announce(&format!(
                    "skipped {} ({} queries): needs {need}",
                    case["id"],
                    queries.len()
                ));
                skipped += queries.len();
            }
            None => run_case(&mut asked, &host, &case, queries).await,
        }
    }
    announce(&format!(
        "golden trees: {files} cases, {} queries asked, {skipped} skipped; {} saw further than PATH_MAX",
        asked.queries, asked.further
    ));
    let counts = &vectors::read("counts.json")["counts"]["cases"];
    assert_eq!(counts["files"], files);
    let total = counts["queries"].as_u64().unwrap() as usize;
    asked.finish(total - skipped);
}

async fn run_case(asked: &mut Asked, host: &Host, case: &Value, queries: &[Value]) {
    let (tree, label) = (Tree::new(case), case["id"].as_str().unwrap());
    mount(host, COMPLETION, case["config"].clone())
        .await
        .unwrap();
    agent(host, AGENT, &tree.root()).await;
    for query in queries {
        let mut expected = query["expected"].clone();
        for candidate in expected.as_array_mut().unwrap() {
            candidate["path"] = tree.fill(candidate["path"].as_str().unwrap()).into();
        }
        let text = tree.fill(query["query"].as_str().unwrap());
        if needs(case).contains(&"mkdir-step-by-step") {
            asked.ask_deep(host, &tree.root(), &text, &expected).await;
        } else {
            asked.ask(host, label, &text, &expected).await;
        }
    }
    host.dispose_agent(AGENT).await;
    host.unmount(COMPLETION).await.unwrap();
}

#[tokio::test]
async fn answers_that_depend_on_the_name_of_the_root() {
    let cases = vectors::read("virtual/cases.json");
    let mut asked = Asked::default();
    for case in vectors::list(&cases) {
        let file = case["tree_of"].as_str().unwrap();
        let tree = Tree::new(&vectors::read(Path::new("cases").join(file)));
        let root = case["root"].as_str().unwrap();
        let host = host_with(Arc::new(Redirected { tree: tree.root() }));
        mount(&host, COMPLETION, case["config"].clone())
            .await
            .unwrap();
        agent(&host, AGENT, Path::new(root)).await;
        let label = format!("{file} at {root}");
        let query = case["query"].as_str().unwrap();
        asked.ask(&host, &label, query, &case["expected"]).await;
        host.shutdown().await;
    }
    announce(&format!(
        "golden roots: {} queries asked, 0 skipped",
        asked.queries
    ));
    let total = vectors::read("counts.json")["virtual"]["cases"].as_u64();
    asked.finish(total.unwrap() as usize);
}

#[tokio::test]
async fn mentions_are_found_and_written_as_the_published_module_does() {
    let host = host();
    mount(&host, COMPLETION, Value::Null).await.unwrap();
    let cases = vectors::read("grammar.json");
    for case in vectors::list(&cases["active_at_token"]) {
        let cursor = case["cursor"].as_u64().unwrap().try_into().unwrap();
        let line = case["line"].as_str().unwrap();
        let token = host.active_at_token(line, cursor).await.unwrap();
        let got = token.map_or(Value::Null, |token| {
            let mut got =
                json!({"prefix": token.prefix, "query": token.query, "quoted": token.quoted});
            if let Some(split) = token.split_surrogate {
                got["prefix_utf16"] = json!(units(&token.prefix, split));
                got["query_utf16"] = json!(units(&token.query, split));
            }
            got
        });
        assert_eq!(got, case["expected"], "{case}");
    }
    for case in vectors::list(&cases["format_mention"]) {
        let candidate = Candidate {
            path: case["path"].as_str().unwrap().into(),
            kind: match case["kind"].as_str().unwrap() {
                "directory" => Kind::Directory,
                _ => Kind::File,
            },
        };
        let preserve = case["preserve_quote"].as_bool().unwrap();
        let got = host.format_file_mention(candidate, preserve).await.unwrap();
        assert_eq!(json!(got), case["expected"], "{case}");
    }
}

/// The code units of a text whose last U+FFFD stands for `split`.
fn units(text: &str, split: u16) -> Vec<u16> {
    let mut units: Vec<u16> = text.encode_utf16().collect();
    assert_eq!(units.pop(), Some(0xfffd));
    units.push(split);
    units
}

#[tokio::test]
async fn configurations_are_mounted_and_refused_alike() {
    let host = host();
    let cases = vectors::read("config.json");
    let (mut mounted, mut refused) = (0, 0);
    for case in vectors::list(&cases) {
        let config = &case["config"];
        let result = mount(&host, COMPLETION, config.clone()).await;
        if case["mount_error"].is_null() {
            result.unwrap_or_else(|failure| panic!("{config}: {failure}"));
            host.unmount(COMPLETION).await.unwrap();
            mounted += 1;
            continue;
        }
        let failure = result.expect_err(&config.to_string());
        assert!(host.row(COMPLETION).await.is_none(), "{config}");
        refused += 1;
        // Where the module itself speaks its text is ours too; where a library of its host does, the key must be named.
        match case["service_error"].as_str() {
            Some(own) if own.starts_with("file-reference-local: ") => {
                assert_eq!(failure.message, own, "{config}");
            }
            _ => assert!(
                failure
                    .message
                    .starts_with("file-reference-local: excludedDirectories "),
                "{config}: {failure}"
            ),
        }
    }
    announce(&format!(
        "golden configurations: {mounted} mounted, {refused} refused"
    ));
    assert!(mounted > 0 && refused > 0);
}
