//! Citations, and what holds for every answer.

use dsh_host::RowState;
use dsh_tests::history::{Answer, Place, example};
use dsh_tests::hosts::{HISTORY, mount, tool_names};
use dsh_tests::rows::user;
use serde_json::{Value, json};
use std::sync::Arc;

#[tokio::test]
async fn case_068_the_tools_come_by_name_and_go_with_the_plugin() {
    let place = Place::with_example().await;
    let names = ["context_grep", "context_query", "context_slice"];
    assert_eq!(tool_names(&place.host), names);
    place.host.unmount(HISTORY).await.unwrap();
    assert_eq!(tool_names(&place.host), Vec::<String>::new());
    let gone = place.query("session-1", json!({})).await.0;
    assert!(gone.is_error());
    let again = mount(&place.host, HISTORY, Value::Null).await;
    assert_eq!(again, Ok(RowState::Active));
    assert_eq!(tool_names(&place.host), names);
    assert_eq!(place.query("session-1", json!({})).await.seqs().len(), 7);
}

#[tokio::test]
async fn case_068_answers_are_compact_json_that_serialises_to_the_same_bytes() {
    let place = Place::with_example().await;
    let odd = "\u{0}\u{1f}\u{7f}\u{2028}\u{2029}\"\\/ é 😀 \u{fffd}\u{feff}";
    place.write("odd", &[user(0, odd)]);
    let file = place.spill("odd", "a.txt", "x");
    std::fs::remove_file(&file).unwrap();
    place.unseal();
    for (session, tool, arguments) in [
        ("session-1", "context_query", json!({"limit": 2})),
        (
            "session-1",
            "context_slice",
            json!({"seq": 4, "before": 9, "after": 9}),
        ),
        ("session-1", "context_grep", json!({"pattern": "pytest"})),
        ("odd", "context_query", json!({})),
        ("odd", "context_slice", json!({"seq": 0})),
        (
            "odd",
            "context_grep",
            json!({"pattern": "é", "path": file.to_str().unwrap()}),
        ),
    ] {
        let text = place.call(session, tool, arguments).await.0.text();
        let value = dsh_guest_support::js_json::parse(text.as_bytes()).unwrap();
        // Members come in the order of the specification, which a sorted map would lose: only the length can be compared.
        let again = dsh_guest_support::js_json::stringify(&value);
        assert_eq!(again.len(), text.len(), "{tool}: {text}");
        let outside_strings = strip_strings(&text);
        assert!(
            !outside_strings.contains([' ', '\n', '\t']),
            "{tool}: {text}"
        );
    }
}

/// JSON without the content of its strings.
fn strip_strings(text: &str) -> String {
    let mut kept = String::new();
    let (mut inside, mut escaped) = (false, false);
    for c in text.chars() {
        match (inside, escaped, c) {
            (true, true, _) => escaped = false,
            (true, false, '\\') => escaped = true,
            (_, _, '"') => inside = !inside,
            (true, ..) => {}
            (false, ..) => kept.push(c),
        }
    }
    assert!(!inside);
    kept
}

/// Every citation of an answer, opened, shows the cited text.
async fn all_open(place: &Place, session: &str, answers: &[Value]) {
    for found in answers
        .iter()
        .flat_map(|answer| answer["matches"].as_array().unwrap())
    {
        let citation = found["citation"].as_str().unwrap();
        let seq: u64 = citation.strip_prefix("session:").unwrap().parse().unwrap();
        let opened = place.slice(session, seq).await.value();
        let item = &opened["items"][0];
        assert_eq!(item["citation"], citation);
        let (shown, whole) = (
            found["text"].as_str().unwrap(),
            item["text"].as_str().unwrap(),
        );
        match found["truncated"] == true {
            true => assert!(
                whole.contains(shown) && whole.len() > shown.len(),
                "{citation}"
            ),
            false => assert_eq!(shown, whole, "{citation}"),
        }
    }
}

#[tokio::test]
async fn case_069_citations_open_and_go_on_doing_so_after_a_restart() {
    let place = Place::with_example().await;
    let (_, rows) = example();
    let interrupted: Vec<Value> = rows
        .iter()
        .take_while(|row| row["seq"] != 8)
        .cloned()
        .collect();
    place.write("interrupted", &interrupted);
    let long = format!("{} needle {}", "é".repeat(3_000), "ü".repeat(3_000));
    place.write("long", &[user(0, &long), user(1, "needle")]);
    for session in ["session-1", "interrupted", "long"] {
        let mut answers = vec![place.query(session, json!({})).await.value()];
        for pattern in ["pytest", "needle", "unknown", "e"] {
            let arguments = json!({"pattern": pattern});
            answers.push(place.call(session, "context_grep", arguments).await.value());
        }
        assert!(answers.iter().any(|answer| answer["matches"] != json!([])));
        all_open(&place, session, &answers).await;
        // Another service has read nothing yet, as after a restart.
        place.use_sessions(Arc::new(place.service()));
        all_open(&place, session, &answers).await;
    }
    // A resumed session commits the closing events under the numbers that were cited.
    let before = place.query("interrupted", json!({})).await.value();
    let closers: Vec<Value> = before["matches"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|m| m["seq"].as_u64() >= Some(8))
        .cloned()
        .collect();
    assert!(
        closers.iter().any(|closer| closer["type"] == "tool/result"),
        "{closers:?}"
    );
}

#[tokio::test]
async fn case_064_a_scan_of_the_session_is_literal_and_says_so() {
    let place = Place::with_example().await;
    let scan = async |pattern: &str| {
        let arguments = json!({"pattern": pattern});
        place.call("session-1", "context_grep", arguments).await
    };
    let found = scan("FAILED tests").await.value();
    assert_eq!(found["source"], "session");
    let citations: Vec<_> = Answer::citations(scan("FAILED tests").await);
    let citations: Vec<_> = citations
        .iter()
        .map(|(citation, _)| citation.as_str())
        .collect();
    assert_eq!(citations, ["session:8", "session:11"]);
    assert_eq!(scan("FAILED.*").await.citations(), []);
}

#[tokio::test]
async fn cases_017_019_the_calling_step_is_left_out() {
    let place = Place::with_example().await;
    let everything = place.query("session-1", json!({})).await.seqs();
    place.host.set_current_step("session-1", Some(7));
    assert_eq!(place.query("session-1", json!({})).await.seqs(), [2, 6]);
    let inside = place
        .query("session-1", json!({"seq_from": 8}))
        .await
        .value();
    assert_eq!(inside, json!({"matches": [], "truncated": false}));
    assert_eq!(place.slice("session-1", 8).await.value()["seq"], 8);
    place.host.set_current_step("session-1", None);
    assert_eq!(place.query("session-1", json!({})).await.seqs(), everything);
}
