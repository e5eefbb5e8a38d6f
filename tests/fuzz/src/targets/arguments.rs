//! What a model writes as arguments.

use crate::schema::{fits, violations};
use dsh_context_proxy::arguments::{Arguments, MAX_LIMIT};
use dsh_context_proxy::config::MAX_WINDOW;
use dsh_context_proxy::definitions::{Tool, card, parameters};
use dsh_guest_support::{args, js_json, utf16};
use dsh_services::json;
use dsh_workspace_intelligence::arguments::{self as symbol, TOOL_NAME};
use serde_json::Value;

/// What host and plugin say of the same arguments. Each has its own checker, so that neither has to trust the other.
fn judged(schema: &Value, value: &Value) -> bool {
    let mut host = violations(schema, value, "arguments");
    let guest = match args::check(schema, value) {
        Ok(()) => Vec::new(),
        Err(error) => {
            let text = error.to_string();
            let list = text
                .strip_prefix("invalid arguments: ")
                .expect("the published text");
            // A violation may quote what the model wrote, so the list is compared as a text.
            vec![list.to_owned()]
        }
    };
    assert_eq!(host.is_empty(), guest.is_empty(), "{value}");
    host.sort();
    let mut said: Vec<&str> = guest.iter().flat_map(|list| list.split("; ")).collect();
    said.sort_unstable();
    if !said.iter().any(|part| part.contains('[')) {
        assert_eq!(host.join("; "), said.join("; "));
    }
    host.is_empty()
}

/// What fits without a tree of values fits with one.
fn judged_in_one_pass(schema: &Value, text: &str) {
    if fits(schema, text) {
        let value = json::parse(text).expect("what fits is JSON");
        assert_eq!(violations(schema, &value, "value"), Vec::<String>::new());
    }
}

/// Host and plugins judge alike, and arguments that pass are inside of every bound that the tools name.
pub fn arguments(data: &[u8]) {
    let Some((selector, data)) = data.split_first() else {
        return;
    };
    let text = String::from_utf8_lossy(data);
    let parsed = js_json::parse(text.as_bytes());
    if let Ok(value) = &parsed {
        let written = js_json::stringify(value);
        let reread = js_json::parse(written.as_bytes()).expect("what is written is read");
        assert_eq!(js_json::stringify(&reread), written);
    }
    if let Ok(value) = json::parse(&text) {
        assert_eq!(parsed.as_ref().ok(), Some(&value), "two readers of JSON");
    }
    let value = match parsed {
        Ok(value) => value,
        Err(_) if text.is_empty() => Value::Object(serde_json::Map::new()),
        Err(_) => Value::from(&*text),
    };
    if selector % 4 == 3 {
        judged_in_one_pass(&symbol::parameters(), &text);
        return of_symbols(&value);
    }
    let tool = Tool::ALL[usize::from(selector % 4)];
    let schema: Value = serde_json::from_str(parameters(tool)).expect("a schema");
    judged_in_one_pass(&schema, &text);
    let fits = judged(&schema, &value);
    let read = Arguments::parse(&text, parameters(tool));
    assert_eq!(read.is_ok(), fits);
    let shown = card(tool.name(), &text);
    assert_eq!(shown.is_some(), fits);
    if let Some(shown) = shown {
        assert!(shown.title.len() < 400 && !shown.title.chars().any(char::is_control));
    }
    let Ok(read) = read else { return };
    for name in ["seq", "seq_from", "seq_to"] {
        if let Ok(Some(number)) = read.safe_integer(name) {
            assert!(number < 1 << 53);
            assert_eq!(value[name].as_f64(), Some(number as f64));
        }
    }
    for name in ["before", "after"] {
        assert!(
            read.window(name, 0).is_ok_and(|count| count <= MAX_WINDOW)
                || value.get(name).is_some()
        );
        assert!(read.window(name, 0).unwrap_or(0) <= MAX_WINDOW);
    }
    assert!((1..=MAX_LIMIT).contains(&read.limit().unwrap_or(1)));
    for name in ["pattern", "path", "text"] {
        assert_eq!(read.text(name), value.get(name).and_then(Value::as_str));
    }
}

fn of_symbols(value: &Value) {
    let fits = judged(&symbol::parameters(), value);
    match symbol::query(value) {
        Ok(query) => {
            assert!(fits, "{TOOL_NAME} takes what the host refuses");
            assert_eq!(value["query"], query);
            assert!(!query.trim().is_empty() || query.chars().any(|c| c == '\u{85}'));
            assert!(utf16::len(query) <= 1_000);
        }
        Err(error) => assert!(!format!("{error:?}").is_empty()),
    }
    let title = symbol::title(value);
    assert_eq!(title.is_some(), symbol::query(value).is_ok());
    assert!(title.is_none_or(|title| utf16::len(&title) <= 80 + 20));
}
