//! What a query finds in the texts of a session.

use dsh_tests::history::Place;
use dsh_tests::rows::{assistant, replacing, user};
use serde_json::{Value, json};

async fn found(place: &Place, text: &str) -> Vec<u64> {
    place.query("session-1", json!({"text": text})).await.seqs()
}

#[tokio::test]
async fn cases_001_002_003_words_are_found_across_any_white_space_and_in_any_case() {
    let place = Place::with_example().await;
    let all = place.query("session-1", json!({})).await.seqs();
    assert_eq!(all, [2, 6, 7, 8, 10, 11, 12]);
    assert_eq!(found(&place, "flaky test").await, [2]);
    assert_eq!(found(&place, "FLAKY   TEST").await, [2]);
    assert_eq!(found(&place, "flakytest").await, [0; 0]);
    assert_eq!(found(&place, "looking now bash").await, [6]);
}

#[tokio::test]
async fn cases_004_016_what_the_model_thought_and_identifiers_of_calls_are_not_searched() {
    let place = Place::with_example().await;
    assert_eq!(found(&place, "secret plan").await, [0; 0]);
    assert_eq!(found(&place, "call_1").await, [0; 0]);
}

#[tokio::test]
async fn case_005_no_character_is_special() {
    let place = Place::with_example().await;
    assert_eq!(found(&place, ".*").await, [0; 0]);
    assert_eq!(found(&place, "(AssertionError)").await, [8]);
    for text in ["[", "\\", "*", "+", "?", "{1}", "|", "^", "$", ")"] {
        // Whatever it finds, it is no error.
        found(&place, text).await;
    }
    assert_eq!(found(&place, "\\").await, [0; 0]);
    assert_eq!(found(&place, "{\"command\":").await, [6, 7]);
}

/// Whether a session whose one message is `text` is found by `query`.
async fn hits(place: &Place, text: &str, query: &str) -> bool {
    place.write("one", &[user(0, text)]);
    let seqs = place.query("one", json!({"text": query})).await.seqs();
    assert!(seqs == [0; 0] || seqs == [0]);
    !seqs.is_empty()
}

#[tokio::test]
async fn case_012_white_space_is_what_javascript_takes_for_it() {
    let place = Place::new().await;
    for between in ["\u{a0}", "\u{feff}", "\u{2028}", "\u{3000}", " \t\r\n "] {
        assert!(
            hits(&place, &format!("a{between}b"), "a b").await,
            "{between:?}"
        );
    }
    for between in ["\u{85}", "\u{200b}", "\u{180e}", "", "x"] {
        assert!(
            !hits(&place, &format!("a{between}b"), "a b").await,
            "{between:?}"
        );
    }
}

#[tokio::test]
async fn case_013_case_is_folded_one_character_to_one() {
    let place = Place::new().await;
    for (text, query, hit) in [
        ("\u{212a}", "k", true),
        ("\u{17f}", "s", true),
        ("\u{df}", "\u{1e9e}", true),
        ("\u{3c3}", "\u{3c2}", true),
        ("\u{3a9}", "\u{2126}", true),
        ("\u{b5}", "\u{3bc}", true),
        ("\u{df}", "ss", false),
        ("ss", "\u{df}", false),
        ("\u{130}", "i", false),
        ("\u{131}", "i", false),
        ("\u{fb01}", "fi", false),
    ] {
        assert_eq!(hits(&place, text, query).await, hit, "{text} {query}");
    }
}

#[tokio::test]
async fn case_014_composed_and_decomposed_letters_differ() {
    let place = Place::new().await;
    assert!(hits(&place, "caf\u{e9}", "CAF\u{c9}").await);
    assert!(!hits(&place, "caf\u{e9}", "cafe\u{301}").await);
    assert!(!hits(&place, "cafe\u{301}", "caf\u{e9}").await);
}

#[tokio::test]
async fn case_015_the_message_of_an_error_is_searched_and_its_code_is_not() {
    let place = Place::with_example().await;
    assert_eq!(found(&place, "TIMEOUT").await, [12]);
    let (header, mut rows) = dsh_tests::history::example();
    let last = rows.len() - 1;
    assert_eq!(rows[last]["data"]["reason"]["error"]["code"], "TIMEOUT");
    rows[last]["data"]["reason"]["error"]["message"] = "boom".into();
    place.write_at("--work-app--", &header, &rows);
    assert_eq!(found(&place, "TIMEOUT").await, [0; 0]);
    assert_eq!(found(&place, "boom").await, [12]);
}

#[tokio::test]
async fn cases_006_026_028_what_was_replaced_is_shadowed() {
    let place = Place::with_example().await;
    let surfaces = async |surfaces: Value, text: Option<&str>| {
        let mut arguments = json!({ "surfaces": surfaces });
        if let Some(text) = text {
            arguments["text"] = text.into();
        }
        place.query("session-1", arguments).await.seqs()
    };
    assert_eq!(surfaces(json!(["shadowed"]), None).await, [8]);
    let both = surfaces(json!(["current", "shadowed"]), None).await;
    assert_eq!(both, [2, 6, 8, 11]);
    assert_eq!(surfaces(json!(["log-only"]), None).await, [7, 10, 12]);
    assert_eq!(surfaces(json!(["current"]), Some("failed")).await, [11]);

    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let rows = [
        user(0, "first"),
        replacing(user(1, "second"), 0, 0),
        replacing(assistant(2, text("third")), 1, 1),
    ];
    place.write("chain", &rows);
    for (surface, seqs) in [
        ("shadowed", &[0, 1][..]),
        ("current", &[2]),
        ("log-only", &[]),
    ] {
        let found = place.query("chain", json!({"surfaces": [surface]})).await;
        assert_eq!(found.seqs(), seqs, "{surface}");
    }
}
