//! Every case of the plugin's SPEC 20 has a test with its number in its name, here or in the plugin's own tests.

use std::collections::BTreeMap;
use std::path::Path;

/// How many cases the specification lists.
const CASES: usize = 140;

fn sources(directory: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(std::fs::read_to_string(&path).unwrap());
        }
    }
}

/// The numbers that a test's name carries: `case_105_…`, `cases_051_052_058_…`.
fn numbers(name: &str) -> Vec<usize> {
    let rest = name
        .strip_prefix("case_")
        .or_else(|| name.strip_prefix("cases_"));
    let parts = rest.unwrap_or_default().split('_');
    parts.map_while(|part| part.parse().ok()).collect()
}

#[test]
fn each_case_of_the_specification_has_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut texts = Vec::new();
    sources(
        &root.join("../plugins/workspace-intelligence/tests"),
        &mut texts,
    );
    sources(&root.join("tests/workspace_intelligence"), &mut texts);
    let mut tests: BTreeMap<usize, usize> = BTreeMap::new();
    for text in &texts {
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        for (at, line) in lines.iter().enumerate() {
            let name = line.split_once("fn ").map_or("", |(_, name)| name);
            let is_test = lines[..at]
                .iter()
                .rev()
                .take_while(|line| line.starts_with("#["))
                .any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"));
            if is_test {
                for number in numbers(name) {
                    *tests.entry(number).or_default() += 1;
                }
            }
        }
    }
    let missing: Vec<usize> = (1..=CASES)
        .filter(|case| !tests.contains_key(case))
        .collect();
    assert_eq!(missing, [0; 0], "cases without a test");
    let unknown: Vec<usize> = tests
        .into_keys()
        .filter(|case| !(1..=CASES).contains(case))
        .collect();
    assert_eq!(unknown, [0; 0], "tests for cases that there are not");
}
