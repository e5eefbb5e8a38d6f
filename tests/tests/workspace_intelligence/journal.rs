//! The journal that scripted servers write and these tests read.

#[path = "../../examples/scripted_language_server/journal.rs"]
#[expect(dead_code, reason = "`begin` is the server's alone")]
mod written;

use dsh_tests::symbols::Journal;
use serde_json::{Value, json};
use std::fs;

/// Whatever is written of a line before its process is killed, the lines before and after it are read.
#[test]
fn a_process_that_is_killed_while_it_writes_costs_no_line_but_its_own() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("journal");
    let writer = written::Journal::open(&path);
    writer.note("before", &json!(1));
    let before = fs::read(&path).unwrap();
    writer.note("torn", &json!({"text": "[\"é\\", "list": [1, {"a": null}]}));
    let torn = fs::read(&path).unwrap();
    let events = || -> Vec<Value> {
        let entries = Journal::at(path.clone()).entries().into_iter();
        entries.map(|entry| entry["event"].clone()).collect()
    };
    for cut in before.len()..=torn.len() {
        fs::write(&path, &torn[..cut]).unwrap();
        let whole = cut == torn.len();
        assert_eq!(events().len(), 1 + usize::from(whole), "cut at {cut}");
        written::Journal::open(&path).note("after", &json!(2));
        let expected: &[&str] = if whole {
            &["before", "torn", "after"]
        } else {
            &["before", "after"]
        };
        assert_eq!(events(), expected, "cut at {cut}");
    }
}
