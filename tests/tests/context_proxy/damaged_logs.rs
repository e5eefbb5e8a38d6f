//! Logs that broke off, that are damaged, or that break the rules.

use dsh_tests::history::{Place, example};
use dsh_tests::rows::{
    self, header, lines, step_start, tool_call, tool_result, turn_end, turn_start, user,
};
use serde_json::{Value, json};

const CORRUPT: &str = "SESSION_QUERY_CORRUPT_SESSION";
const FAILED: &str = "SESSION_QUERY_PERSISTENCE_FAILED";

/// Writes this text as the log of the session `s`, behind its header.
fn write(place: &Place, text: &str) {
    let text = format!("{}\n{text}", header("s"));
    place.write_file("sessions/_no-cwd/s/session.jsonl", text);
}

/// Asserts that query, slice and the search without a path refuse the session alike.
async fn refused(place: &Place, session: &str, code: &str) {
    let texts = [
        (CORRUPT, "Error: session event history is corrupt"),
        (FAILED, "Error: session history storage is unavailable"),
        (
            "SESSION_QUERY_SESSION_NOT_FOUND",
            "Error: session was not found",
        ),
    ];
    let text = texts.iter().find(|(known, _)| *known == code).unwrap().1;
    for (tool, arguments) in [
        ("context_query", json!({})),
        ("context_slice", json!({"seq": 0})),
        ("context_grep", json!({"pattern": "x"})),
    ] {
        let error = place.call(session, tool, arguments).await.error();
        assert_eq!(error, (code.to_owned(), text.to_owned()), "{tool}");
    }
}

#[tokio::test]
async fn case_038_an_interrupted_log_is_closed_in_memory_alone() {
    let place = Place::new().await;
    let (header, rows) = example();
    // The first seven rows: one packs three events, so the last one is the call of seq 7.
    let cut = rows.iter().position(|row| row["seq"] == 7).unwrap();
    place.write_at("--work-app--", &header, &rows[..=cut]);
    let found = place
        .query("session-1", json!({"surfaces": ["current"], "seq_from": 7}))
        .await
        .value();
    assert_eq!(found["matches"][0]["seq"], 8);
    assert_eq!(found["matches"][0]["type"], "tool/result");
    let text = found["matches"][0]["text"].as_str().unwrap();
    assert!(text.contains("TOOL_OUTCOME_UNKNOWN"), "{text}");
    let end = place.slice("session-1", 10).await.value();
    assert_eq!(end["items"][0]["type"], "turn/end");
    assert_eq!(end["items"][0]["text"], "interrupted");
    let beyond = place.slice("session-1", 11).await.error();
    assert_eq!(beyond.0, "SESSION_QUERY_EVENT_NOT_FOUND");
    // An answer without the event of its call: the call was never begun.
    let cut = rows.iter().position(|row| row["seq"] == 6).unwrap();
    place.write_at("--work-app--", &header, &rows[..=cut]);
    let text = place.slice("session-1", 7).await.value()["items"][0]["text"].to_string();
    assert!(text.contains("TOOL_NOT_STARTED"), "{text}");
}

#[tokio::test]
async fn case_039_damage_at_the_end_is_what_a_crash_leaves() {
    let place = Place::new().await;
    let sound = lines(&[turn_start(0), user(1, "kept"), turn_end(2)]);
    let torn = user(3, "torn").to_string();
    for (tail, seqs) in [
        (torn.as_str(), &[1][..]),
        ("{\"type\":", &[1]),
        ("garbage\n", &[1]),
        (
            "garbage\n{\"type\":\"turn/start\",\"seq\":3,\"time\":3,\"data\":{}}\n",
            &[1],
        ),
    ] {
        write(&place, &format!("{sound}{tail}"));
        let found = place.query("s", json!({})).await;
        assert_eq!(found.seqs(), seqs, "{tail}");
    }
    for damage in ["garbage\n", "{\"type\":\n", "\n", "[]\n", "5\n"] {
        write(&place, &format!("{sound}{damage}{}", lines(&[turn_end(3)])));
        refused(&place, "s", FAILED).await;
    }
}

#[tokio::test]
async fn case_040_a_gap_in_the_numbers_counts_like_damage() {
    let place = Place::new().await;
    let gap = [turn_start(0), user(1, "kept"), user(3, "after the gap")];
    write(&place, &lines(&gap));
    let found = place.query("s", json!({})).await.value();
    // The open turn is closed where the gap begins.
    let kinds: Vec<_> = found["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| (m["seq"].as_u64().unwrap(), m["type"].as_str().unwrap()))
        .collect();
    assert_eq!(kinds, [(1, "user/message"), (2, "turn/end")]);
    write(&place, &format!("{}{}", lines(&gap), lines(&[turn_end(4)])));
    refused(&place, "s", FAILED).await;
}

#[tokio::test]
async fn case_042_packed_chunks_read_like_single_ones_and_must_be_well_formed() {
    let place = Place::new().await;
    let chunk = |seq: u64, time: u64, text: &str| {
        let data = json!({"turn":1,"step":1,"chunk":{"type":"text-delta","index":0,"text":text}});
        json!({"type":"assistant/chunk","seq":seq,"time":time,"data":data})
    };
    let packed = |dt: Value| json!({"type":"text-chunks","seq0":2,"time0":10,"data":{"turn":1,"step":1,"index":0,"dt":dt,"texts":["a","b","c"]}});
    let start = [turn_start(0), step_start(1)];
    let single = [chunk(2, 10, "a"), chunk(3, 15, "b"), chunk(4, 15, "c")];
    let rest = [user(5, "after"), turn_end(6)];
    let mut answers = Vec::new();
    for middle in [&single[..], &[packed(json!([5, 0]))]] {
        write(&place, &lines(&[&start[..], middle, &rest[..]].concat()));
        let arguments = json!({"seq": 3, "before": 50, "after": 50});
        answers.push(place.call("s", "context_slice", arguments).await.value());
        let event = place.slice("s", 4).await.value();
        assert_eq!(event["items"][0]["data"]["chunk"]["text"], "c");
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0]["items"].as_array().unwrap().len(), 7);
    for wrong in [json!([5]), json!([5, 0, 0]), json!([5, 0.5]), json!("x")] {
        let bad = [&start[..], &[packed(wrong.clone())]].concat();
        write(&place, &lines(&[&bad[..], &rest[..]].concat()));
        refused(&place, "s", FAILED).await;
        // In the tail the whole row goes; the open step and turn are closed where it stood.
        write(&place, &lines(&bad));
        let end = place.slice("s", 3).await.value();
        assert_eq!(end["items"][0]["type"], "turn/end", "{wrong}");
    }
}

#[tokio::test]
async fn case_043_headers_of_other_versions_are_refused_and_bad_ones_are_not_listed() {
    let place = Place::new().await;
    let mut version = header("s");
    version["version"] = 1.into();
    place.write_at("_no-cwd", &version, &[user(0, "x")]);
    refused(&place, "s", FAILED).await;
    let mut without = header("s");
    without.as_object_mut().unwrap().remove("delegationDepth");
    place.write_at("_no-cwd", &without, &[user(0, "x")]);
    refused(&place, "s", "SESSION_QUERY_SESSION_NOT_FOUND").await;
}

#[tokio::test]
async fn case_044_unknown_events_must_say_that_they_may_be_ignored() {
    let place = Place::new().await;
    let mut unknown = rows::event("new/thing", 1, json!({"text": "not searched"}));
    let rows = |unknown: &Value| [user(0, "x"), unknown.clone(), user(2, "y")];
    place.write("s", &rows(&unknown));
    refused(&place, "s", FAILED).await;
    unknown["ignorable"] = true.into();
    place.write("s", &rows(&unknown));
    assert_eq!(place.query("s", json!({})).await.seqs(), [0, 2]);
    let read = place.slice("s", 1).await.value();
    assert_eq!(read["items"][0]["data"]["text"], "not searched");
    unknown["ignorable"] = false.into();
    place.write("s", &rows(&unknown));
    refused(&place, "s", FAILED).await;
}

#[tokio::test]
async fn cases_027_070_logs_that_break_the_rules_are_corrupt() {
    let place = Place::new().await;
    let good = [
        turn_start(0),
        step_start(1),
        user(2, "question"),
        rows::assistant(
            3,
            json!([{"type":"tool-call","id":"c","name":"bash","arguments":"{}"}]),
        ),
        tool_call(4, "c", "bash", "{}"),
        tool_result(5, "c", "answer"),
        rows::step_end(6),
        turn_end(7),
    ];
    place.write("s", &good);
    assert_eq!(place.query("s", json!({})).await.seqs(), [2, 3, 4, 5]);
    type Breach = fn(&mut Value);
    let breaches: [(&str, usize, Breach); 7] = [
        ("no mark", 2, |row| {
            row.as_object_mut().unwrap().remove("surfaceOp");
        }),
        ("a mark that is none", 2, |row| {
            row["surfaceOp"] = "prepend".into()
        }),
        ("an extra key", 4, |row| row["extra"] = 1.into()),
        ("no source of the answer", 3, |row| {
            let message = &mut row["data"]["message"];
            message["source"].as_object_mut().unwrap().remove("model");
        }),
        ("another call's result", 5, |row| {
            row["data"]["message"]["content"][0]["toolCallId"] = "d".into();
        }),
        ("a time that is none", 4, |row| row["time"] = "now".into()),
        ("a message without an id", 2, |row| {
            row["data"]["id"] = "".into()
        }),
    ];
    for (what, index, breach) in breaches {
        let mut rows = good.to_vec();
        breach(&mut rows[index]);
        assert_ne!(rows[index], good[index], "{what}");
        place.write("s", &rows);
        refused(&place, "s", CORRUPT).await;
    }
}
