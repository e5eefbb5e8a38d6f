//! Every answer of the published module, over real trees (SPEC 4 and 5).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "this is how a test fails"
)]

mod support;

use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use dsh_file_reference_local::search::{AbortReason, Search};
use serde_json::Value;

use support::local::Local;
use support::run::{Switch, pool, spawn};
use support::tree::{Tree, unmet_need};
use support::{announce, as_json, config, read_json, vectors};

struct Asked {
    queries: usize,
    failures: Vec<String>,
}

fn ask(asked: &mut Asked, label: &str, search: &Rc<Search<Local>>, query: &str, expected: &Value) {
    let never = Switch::<AbortReason>::new();
    let answer = pool()
        .run_until(search.answer(query, false, &never))
        .unwrap();
    asked.queries += 1;
    let got = as_json(&answer.candidates);
    if got != *expected {
        asked.failures.push(format!(
            "{label}: {query:?}\n  expected {expected}\n  got      {got}"
        ));
    }
}

fn finish(what: &str, asked: &Asked, expected: usize) {
    assert!(
        asked.failures.is_empty(),
        "{} of {} {what} differ:\n{}",
        asked.failures.len(),
        asked.queries,
        asked.failures.join("\n")
    );
    assert_eq!(asked.queries, expected, "{what}");
}

#[test]
fn trees_on_disk_answer_as_the_published_module_does() {
    let counts = read_json("counts.json");
    let mut asked = Asked {
        queries: 0,
        failures: Vec::new(),
    };
    let (mut files, mut skipped) = (0, 0);
    for entry in std::fs::read_dir(vectors().join("cases")).unwrap() {
        let path = entry.unwrap().path();
        let case = read_json(&path);
        let queries = case["queries"].as_array().unwrap();
        files += 1;
        if let Some(need) = unmet_need(&case) {
            let label = case["id"].as_str().unwrap();
            announce(&format!(
                "skipped {label} ({} queries): needs {need}",
                queries.len()
            ));
            skipped += queries.len();
            continue;
        }
        run_case(&mut asked, &case, queries);
    }
    assert_eq!(files, counts["counts"]["cases"]["files"]);
    let total = counts["counts"]["cases"]["queries"].as_u64().unwrap() as usize;
    finish("answers", &asked, total - skipped);
}

fn run_case(asked: &mut Asked, case: &Value, queries: &[Value]) {
    let tree = Tree::new(case);
    let config = Rc::new(config(&case["config"]));
    let root = tree.root();
    let excluded = root
        .to_str()
        .unwrap()
        .split('/')
        .find(|segment| config.excludes(segment));
    assert_eq!(excluded, None, "the tree stands under an excluded name");
    let local = Local::new(&root, &config.excluded_directories);
    let search = Rc::new(Search::new(config, local, spawn));
    for query in queries {
        let text = tree.fill(query["query"].as_str().unwrap());
        let mut expected = query["expected"].clone();
        for candidate in expected.as_array_mut().unwrap() {
            candidate["path"] = tree.fill(candidate["path"].as_str().unwrap()).into();
        }
        ask(
            asked,
            case["id"].as_str().unwrap(),
            &search,
            &text,
            &expected,
        );
    }
}

#[test]
fn answers_that_depend_on_the_name_of_the_root() {
    let cases = read_json("virtual/cases.json");
    let mut trees = HashMap::new();
    let mut asked = Asked {
        queries: 0,
        failures: Vec::new(),
    };
    for case in cases.as_array().unwrap() {
        let file = case["tree_of"].as_str().unwrap();
        let tree = trees
            .entry(file)
            .or_insert_with(|| Tree::new(&read_json(Path::new("cases").join(file))));
        let config = Rc::new(config(&case["config"]));
        let mut local = Local::new(&tree.root(), &config.excluded_directories);
        local.name = case["root"].as_str().unwrap().to_owned();
        let search = Rc::new(Search::new(config, local, spawn));
        let query = case["query"].as_str().unwrap();
        ask(
            &mut asked,
            &format!("{file} at {}", case["root"]),
            &search,
            query,
            &case["expected"],
        );
    }
    let total = read_json("counts.json")["virtual"]["cases"]
        .as_u64()
        .unwrap();
    finish("answers", &asked, total as usize);
}
