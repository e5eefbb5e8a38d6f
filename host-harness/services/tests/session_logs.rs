//! Session queries over logs that grow, break off, are replaced, or are large: what recorded answers cannot show.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends at its first surprise"
)]

#[allow(dead_code, reason = "each test uses a part of it")]
#[path = "support/rows.rs"]
mod rows;

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dsh_services::session_query::{
    Bounds, Cancel, EventFilter, LocalOptions, LocalSessionQuery, PageLimits, ReadRequest,
    SessionQuery, SessionQueryError, parse_json,
};
use rows::{frame, header, lines, turn_end, turn_start, user, write_log};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A root with one log, and the lines that can be put there.
struct Root {
    directory: TempDir,
    path: PathBuf,
    compressed: bool,
}

impl Root {
    fn new(compressed: bool) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let name = if compressed {
            "session.jsonl.zstd"
        } else {
            "session.jsonl"
        };
        let path = directory.path().join("--work-app--/s").join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        let root = Self {
            directory,
            path,
            compressed,
        };
        root.append(&[json!({"type":"session","version":0,"id":"s","createdAt":1,"cwd":"/work/app","delegationDepth":0})]);
        root
    }

    fn service(&self) -> LocalSessionQuery {
        LocalSessionQuery::new(LocalOptions::new(self.directory.path().to_owned()))
    }

    fn encode(&self, rows: &[Value]) -> Vec<u8> {
        let text = lines(rows);
        if self.compressed {
            frame(text.as_bytes())
        } else {
            text.into_bytes()
        }
    }

    fn append(&self, rows: &[Value]) {
        self.append_bytes(&self.encode(rows));
    }

    fn append_bytes(&self, bytes: &[u8]) {
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&self.path)
            .expect("the log");
        file.write_all(bytes).expect("the log");
    }
}

fn texts(service: &LocalSessionQuery) -> Vec<String> {
    let documents = service
        .filter_events("s", &[], &Cancel::new())
        .expect("an answer");
    documents
        .into_iter()
        .map(|document| document.text)
        .collect()
}

fn read_texts(service: &LocalSessionQuery, seq: f64) -> Vec<(u64, String)> {
    let request = ReadRequest {
        seq,
        before: 50.0,
        after: 50.0,
    };
    let window = service
        .read_event("s", &request, &Cancel::new())
        .expect("a window");
    window
        .events
        .into_iter()
        .map(|event| (event.seq, event.text))
        .collect()
}

#[test]
fn growth_is_seen_and_nothing_is_seen_twice() {
    for compressed in [false, true] {
        let root = Root::new(compressed);
        let service = root.service();
        assert_eq!(texts(&service), Vec::<String>::new());
        root.append(&[turn_start(0), user(1, "one")]);
        // The open turn is closed in memory, and not where the next rows go.
        assert_eq!(texts(&service), ["one", "interrupted"]);
        root.append(&[user(2, "two")]);
        assert_eq!(texts(&service), ["one", "two", "interrupted"]);
        root.append(&[turn_end(3), turn_start(4), user(5, "three")]);
        assert_eq!(texts(&service), ["one", "two", "three", "interrupted"]);
        let read: Vec<_> = read_texts(&service, 2.0)
            .into_iter()
            .map(|(_, text)| text)
            .collect();
        assert_eq!(read, ["", "one", "two", "", "", "three", "interrupted"]);
    }
}

#[test]
fn a_log_cut_anywhere_is_read_up_to_its_last_whole_row_and_may_then_be_completed() {
    for compressed in [false, true] {
        let rows = [user(1, "second"), user(2, "third"), turn_end(3)];
        let whole = Root::new(compressed).encode(&rows);
        for cut in 0..=whole.len() {
            let root = Root::new(compressed);
            root.append(&[user(0, "first")]);
            let service = root.service();
            let before = fs::read(&root.path).expect("the log");
            root.append_bytes(&whole[..cut]);
            let seen = texts(&service);
            assert!(
                ["first", "second", "third"]
                    .starts_with(&seen.iter().map(String::as_str).collect::<Vec<_>>())
                    && !seen.is_empty(),
                "{cut}: {seen:?}"
            );
            root.append_bytes(&whole[cut..]);
            assert_eq!(
                texts(&service),
                ["first", "second", "third"],
                "cut at {cut}"
            );
            assert_eq!(read_texts(&service, 3.0).len(), 4);
            let after = fs::read(&root.path).expect("the log");
            assert!(
                after.starts_with(&before) && after.len() == before.len() + whole.len(),
                "reading wrote to the log"
            );
        }
    }
}

#[test]
fn a_torn_tail_that_is_cut_off_and_written_over_is_read_anew() {
    for compressed in [false, true] {
        let root = Root::new(compressed);
        root.append(&[user(0, "first")]);
        let sound = fs::metadata(&root.path).expect("the log").len();
        let torn = root.encode(&[user(1, "torn off")]);
        root.append_bytes(&torn[..torn.len() - 6]);
        let service = root.service();
        assert!(!texts(&service).is_empty());
        File::options()
            .write(true)
            .open(&root.path)
            .expect("the log")
            .set_len(sound)
            .expect("the log");
        root.append(&[user(1, "after the repair, and longer than what was there")]);
        assert_eq!(
            texts(&service),
            ["first", "after the repair, and longer than what was there"]
        );
    }
}

#[test]
fn a_log_that_another_file_replaces_is_read_anew() {
    let root = Root::new(false);
    root.append(&[user(0, "old")]);
    let service = root.service();
    assert_eq!(texts(&service), ["old"]);
    let other = Root::new(false);
    other.append(&[user(0, "new"), user(1, "longer")]);
    fs::rename(&other.path, &root.path).expect("a rename");
    assert_eq!(texts(&service), ["new", "longer"]);
    assert_eq!(read_texts(&service, 0.0).len(), 2);
    // Rewritten in place, and longer: not a continuation.
    let rewritten = fs::read_to_string(&root.path)
        .expect("the log")
        .replace("\"new\"", "\"rewritten\"");
    fs::write(&root.path, rewritten + &format!("{}\n", user(2, "more"))).expect("the log");
    assert_eq!(texts(&service), ["rewritten", "longer", "more"]);
    fs::remove_file(&root.path).expect("the log");
    let gone = service.filter_events("s", &[], &Cancel::new());
    assert_eq!(
        gone,
        Err(SessionQueryError::SessionNotFound { id: "s".to_owned() })
    );
}

#[test]
fn readers_beside_a_writer_see_a_prefix_and_never_a_torn_event() {
    for compressed in [false, true] {
        let root = Arc::new(Root::new(compressed));
        let service = Arc::new(root.service());
        let done = Arc::new(AtomicBool::new(false));
        const EVENTS: u64 = 400;
        let writer = std::thread::spawn({
            let (root, done) = (root.clone(), done.clone());
            move || {
                for seq in 0..EVENTS {
                    let bytes = root.encode(&[user(
                        seq,
                        &format!("event {seq} {}", "x".repeat(seq as usize % 97)),
                    )]);
                    // In two writes, so that readers do meet torn rows and frames.
                    let (head, tail) = bytes.split_at(bytes.len() / 2);
                    root.append_bytes(head);
                    root.append_bytes(tail);
                }
                done.store(true, Ordering::SeqCst);
            }
        });
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let (service, done) = (service.clone(), done.clone());
                std::thread::spawn(move || {
                    let mut seen = 0;
                    loop {
                        let last = done.load(Ordering::SeqCst);
                        let texts = texts(&service);
                        for (seq, text) in texts.iter().enumerate() {
                            assert_eq!(
                                *text,
                                format!("event {seq} {}", "x".repeat(seq % 97)).trim_end()
                            );
                        }
                        assert!(texts.len() >= seen, "events vanished");
                        seen = texts.len();
                        if seen > 0 {
                            let window = read_texts(&service, (seen - 1) as f64);
                            assert!(
                                window
                                    .iter()
                                    .all(|(seq, text)| text.starts_with(&format!("event {seq}")))
                            );
                        }
                        if last {
                            return seen;
                        }
                    }
                })
            })
            .collect();
        writer.join().expect("the writer");
        for reader in readers {
            assert_eq!(reader.join().expect("a reader"), EVENTS as usize);
        }
    }
}

#[test]
fn pages_continue_without_gap_or_overlap() {
    let root = Root::new(false);
    let rows: Vec<_> = (0..300)
        .map(|seq| {
            user(
                seq,
                &format!("{}needle {seq}{}", "é".repeat(40), "ü".repeat(40)),
            )
        })
        .collect();
    root.append(&rows);
    let service = root.service();
    let limits = PageLimits {
        max_documents: 70,
        max_text_bytes: 21,
        centre_on_hit: true,
        before_seq: Some(290),
        ..PageLimits::NONE
    };
    let text = EventFilter::Text("NEEDLE".to_owned());
    let (mut from, mut seen) = (0.0, Vec::new());
    loop {
        let filters = [
            text.clone(),
            EventFilter::Seq(Bounds {
                from: Some(from),
                to: None,
            }),
        ];
        let page = service
            .filter_page("s", &filters, &limits, &Cancel::new())
            .expect("a page");
        assert!(page.documents.len() <= 70);
        for document in &page.documents {
            assert!(document.text.contains("needle") && document.text.len() <= 21);
            assert!(document.text_start > 0 && document.text_bytes > 160);
            seen.push(document.record.seq);
        }
        match page.next_seq {
            Some(next) => from = next as f64,
            None => break,
        }
    }
    assert_eq!(seen, (0..290).collect::<Vec<_>>());
    let start = PageLimits {
        centre_on_hit: false,
        ..limits
    };
    let page = service
        .filter_page("s", &[text], &start, &Cancel::new())
        .expect("a page");
    assert_eq!(
        (
            page.documents[0].text.as_str(),
            page.documents[0].text_start
        ),
        ("é".repeat(10).as_str(), 0)
    );
    assert_eq!(page.next_seq, Some(70));
}

#[test]
fn a_set_flag_ends_a_query_before_and_while_it_reads() {
    let root = Root::new(false);
    let service = Arc::new(root.service());
    let cancel = Cancel::new();
    cancel.cancel();
    assert_eq!(
        service.filter_events("s", &[], &cancel),
        Err(SessionQueryError::Cancelled)
    );
    assert_eq!(
        service.list_sessions(&cancel),
        Err(SessionQueryError::Cancelled)
    );
    assert_eq!(
        service.list_events("s", &cancel),
        Err(SessionQueryError::Cancelled)
    );
    let rows: Vec<_> = (0..60_000)
        .map(|seq| user(seq, &"words and more words ".repeat(20)))
        .collect();
    root.append(&rows);
    let cancel = Cancel::new();
    let query = std::thread::spawn({
        let (service, cancel) = (service.clone(), cancel.clone());
        move || service.filter_events("s", &[EventFilter::Text("absent".to_owned())], &cancel)
    });
    cancel.cancel();
    let deadline = Instant::now() + Duration::from_secs(60);
    while !query.is_finished() {
        assert!(Instant::now() < deadline, "the query did not end");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(
        query.join().expect("the query"),
        Err(SessionQueryError::Cancelled)
    );
    // Nothing of the broken off reading is left.
    assert_eq!(texts(&service).len(), 60_000);
}

#[test]
fn memory_stays_within_the_bound_and_answers_do_not_depend_on_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let text = "some words ".repeat(200);
    for id in ["a", "b", "c"] {
        let rows: Vec<_> = (0..200).map(|seq| user(seq, &text)).collect();
        write_log(directory.path(), &header(id), &rows);
    }
    for cache_bytes in [0, 600_000, 1_200_000, usize::MAX] {
        let options = LocalOptions {
            cache_bytes,
            ..LocalOptions::new(directory.path().to_owned())
        };
        let service = LocalSessionQuery::new(options);
        for _ in 0..2 {
            for id in ["a", "b", "c"] {
                let found = service
                    .filter_events(id, &[], &Cancel::new())
                    .expect("an answer");
                assert_eq!(found.len(), 200);
                assert!(
                    service.cached_bytes() <= cache_bytes,
                    "{} > {cache_bytes}",
                    service.cached_bytes()
                );
            }
        }
        assert_eq!(service.cached_bytes() > 0, cache_bytes > 0);
    }
}

#[test]
fn deep_nesting_is_passed_over_where_it_does_not_matter_and_refused_where_it_does() {
    let nest = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    let root = Root::new(false);
    root.append(&[user(0, "fine")]);
    root.append_bytes(
        format!(
            "{{\"type\":\"session/title\",\"seq\":1,\"time\":1,\"data\":{{\"deep\":{}}}}}\n",
            nest(50_000)
        )
        .as_bytes(),
    );
    let service = root.service();
    assert_eq!(texts(&service), ["fine"]);
    let request = ReadRequest {
        seq: 1.0,
        before: 0.0,
        after: 0.0,
    };
    let window = service
        .read_event("s", &request, &Cancel::new())
        .expect("a window");
    assert!(window.events[0].data.len() > 100_000);
    let mut block = json!({"type":"text","text":"x"});
    for _ in 0..200 {
        block = json!({"type":"tool-result","toolCallId":"c","content":[block]});
    }
    let mut message = user(2, "");
    message["data"]["content"] = json!([block]);
    root.append(&[message]);
    let error = service
        .filter_events("s", &[], &Cancel::new())
        .expect_err("too deep");
    assert_eq!(error.code(), Some("SESSION_QUERY_CORRUPT_SESSION"));
}

#[test]
fn a_path_without_a_root_has_no_sessions() {
    let service = LocalSessionQuery::new(LocalOptions::new(
        Path::new("/nonexistent/sessions").to_owned(),
    ));
    assert_eq!(service.list_sessions(&Cancel::new()), Ok(Vec::new()));
    let missing = service.filter_events("s", &[EventFilter::Text(" ".to_owned())], &Cancel::new());
    assert_eq!(
        missing,
        Err(SessionQueryError::SessionNotFound { id: "s".to_owned() })
    );
    let reversed = [EventFilter::Time(Bounds {
        from: Some(2.0),
        to: Some(1.0),
    })];
    let error = service
        .filter_events("s", &reversed, &Cancel::new())
        .expect_err("a reversed range");
    assert_eq!(error.code(), Some("SESSION_QUERY_INVALID_FILTER"));
}

#[test]
fn a_log_that_would_take_all_memory_is_refused() {
    for (compressed, size) in [(true, 4 << 40), (false, 1 << 40)] {
        let root = Root::new(compressed);
        root.append(&[user(0, "hello")]);
        let service = root.service();
        let query = || service.filter_events("s", &[], &Cancel::new());
        assert_eq!(query().expect("a small log").len(), 1);
        // A file with a hole: it has next to no blocks, and its text no end.
        let file = OpenOptions::new().write(true).open(&root.path);
        file.and_then(|file| file.set_len(size)).expect("a hole");
        match query() {
            Err(error) => {
                assert!(error.code().is_some());
                assert!(error.to_string().contains(" MiB"), "{error}");
            }
            Ok(found) => panic!("{} events", found.len()),
        }
    }
}

#[test]
fn a_log_whose_lines_are_sound_is_refused_once_their_sum_is_too_large() {
    let root = Root::new(true);
    let padding = " ".repeat(128 << 20);
    let append = |seq| {
        let line = format!("{}{padding}\n", user(seq, "hello"));
        root.append_bytes(&frame(line.as_bytes()));
    };
    (0..15).for_each(append);
    let service = root.service();
    assert_eq!(texts(&service).len(), 15);
    (15..17).for_each(append);
    let error = service
        .filter_events("s", &[], &Cancel::new())
        .expect_err("more than 2 GiB");
    assert!(
        error.to_string().contains("more than 2048 MiB of text"),
        "{error}"
    );
}

/// The key that `serde_json` takes for raw text when it reads a value.
const KEY: &str = "$serde_json::private::RawValue";

#[test]
fn no_key_of_an_event_is_special() {
    for member in [json!(5), json!("5"), json!("x"), json!({}), json!("{}")] {
        let odd = json!({ KEY: member });
        let root = Root::new(false);
        let mut nested = user(1, "found");
        nested["data"]["content"][0]["meta"] = odd.clone();
        // An old answer gets its present shape when it is read.
        let old = json!({"type":"assistant/message","seq":2,"time":2,"surfaceOp":"append","data":{
            "turn":1,"step":1,"content":[{"type":"text","text":"old","meta":odd}],"provenance":{"provider":"p","model":"m"},
        }});
        let rows = [
            json!({"type":"future/thing","seq":0,"time":0,"ignorable":true,"data":odd}),
            nested,
            old,
        ];
        root.append(&rows);
        let service = root.service();
        assert_eq!(texts(&service), ["found", "old"]);
        let request = ReadRequest {
            seq: 0.0,
            before: 0.0,
            after: 2.0,
        };
        let window = service
            .read_event("s", &request, &Cancel::new())
            .expect("a window");
        let answer = window.to_json();
        assert_eq!(answer["target"]["data"], odd);
        assert_eq!(answer["events"][0]["data"], odd);
        assert_eq!(answer["events"][1]["data"], rows[1]["data"]);
        let message = &answer["events"][2]["data"]["message"];
        assert_eq!(message["content"][0]["meta"], odd, "{answer}");
    }
}

#[test]
fn no_key_of_a_header_or_of_a_turn_is_special() {
    let odd = json!({ KEY: 5 });
    let place = tempfile::tempdir().expect("a directory");
    let mut header = header("s");
    header["more"] = odd.clone();
    let mut start = turn_start(0);
    start["data"]["turn"] = odd.clone();
    write_log(place.path(), &header, &[start, user(1, "one")]);
    let service = LocalSessionQuery::new(LocalOptions::new(place.path().to_owned()));
    let request = ReadRequest {
        seq: 2.0,
        before: 0.0,
        after: 0.0,
    };
    let window = service
        .read_event("s", &request, &Cancel::new())
        .expect("the event that closes the turn");
    assert_eq!(window.to_json()["target"]["data"]["turn"], odd);
}

#[test]
fn no_key_of_a_filter_is_special() {
    let list = |text: &str| {
        EventFilter::list_from_json(&parse_json(text).expect("JSON"))
            .map_err(|error| error.to_string())
    };
    let text = EventFilter::Text("x".to_owned());
    for member in ["5", "\"5\"", "{}"] {
        let odd = format!(r#"{{"{KEY}":{member}}}"#);
        let inside = format!(r#"[{{"kind":"text","text":"x","more":{odd}}}]"#);
        assert_eq!(list(&inside), Ok(vec![text.clone()]));
        let first = format!(r#"[{{"{KEY}":{member},"kind":"text","text":"x"}}]"#);
        assert_eq!(list(&first), Ok(vec![text.clone()]));
    }
    let hidden = format!(r#"[{{"{KEY}":"{{\"kind\":\"text\",\"text\":\"x\"}}"}}]"#);
    assert!(list(&hidden).is_err());
}
