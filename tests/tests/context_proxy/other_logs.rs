//! Where logs lie, forks, odd texts, and sessions that are not on disk.

use dsh_services::session_query::{
    Bounds, Cancel, Compression, Document, EventFilter, EventRecord, LocalOptions,
    LocalSessionQuery, Page, PageLimits, RawEvent, ReadRequest, SessionQuery, SessionQueryError,
    SessionRecord, Surface, Window,
};
use dsh_tests::history::{Place, example};
use dsh_tests::rows::{header, lines, user};
use serde_json::{Value, json};
use std::sync::Arc;

fn header_in(id: &str, cwd: &str) -> Value {
    let mut header = header(id);
    header["cwd"] = cwd.into();
    header
}

#[tokio::test]
async fn case_045_names_of_directories_are_escaped() {
    let place = Place::new().await;
    let long = format!("/{}", "x".repeat(300));
    let cases = [
        ("../x", None, "_no-cwd/..~002Fx".to_owned()),
        ("a/b", None, "_no-cwd/a~002Fb".to_owned()),
        (".", None, "_no-cwd/~002E".to_owned()),
        ("..", None, "_no-cwd/~002E~002E".to_owned()),
        ("😀~", None, "_no-cwd/~D83D~DE00~007E".to_owned()),
        ("in c", Some(r"/c:\d//e"), "--c-d-e--/in~0020c".to_owned()),
        ("at root", Some("/"), "--root--/at~0020root".to_owned()),
        (
            "long",
            Some(long.as_str()),
            format!("--{}--/long", "x".repeat(251)),
        ),
    ];
    for (id, cwd, directory) in &cases {
        let header = cwd.map_or(header(id), |cwd| header_in(id, cwd));
        let text = format!("{header}\n{}", lines(&[user(0, id)]));
        place.write_file(&format!("sessions/{directory}/session.jsonl"), text);
    }
    for (id, _, _) in &cases {
        let found = place.query(id, json!({})).await.value();
        assert_eq!(found["matches"][0]["text"], *id);
    }
    let empty = place.query("", json!({})).await.error();
    assert_eq!(empty.0, "SESSION_QUERY_SESSION_NOT_FOUND");
}

#[tokio::test]
async fn case_046_a_root_that_contradicts_itself_is_not_read() {
    let place = Place::new().await;
    let absent = place.query("s", json!({})).await.error();
    assert_eq!(absent.0, "SESSION_QUERY_SESSION_NOT_FOUND", "an empty root");
    place.change(|| std::fs::remove_dir(place.path("sessions")).unwrap());
    let absent = place.query("s", json!({})).await.error();
    assert_eq!(absent.0, "SESSION_QUERY_SESSION_NOT_FOUND", "no root");

    place.write_at("--a--", &header_in("s", "/a"), &[user(0, "x")]);
    assert_eq!(place.query("s", json!({})).await.seqs(), [0]);
    place.write_at("--b--", &header_in("s", "/b"), &[user(0, "x")]);
    let twice = place.query("s", json!({})).await.error();
    assert_eq!(twice.0, "SESSION_QUERY_PERSISTENCE_FAILED", "one id twice");
    place.change(|| std::fs::remove_dir_all(place.path("sessions/--b--")).unwrap());
    assert_eq!(place.query("s", json!({})).await.seqs(), [0]);

    let compressed = LocalSessionQuery::new(LocalOptions {
        compression: Some(Compression::Zstd),
        ..LocalOptions::new(place.path("sessions"))
    });
    place.use_sessions(Arc::new(compressed));
    let other = place.query("s", json!({})).await.error();
    assert_eq!(
        other.0, "SESSION_QUERY_PERSISTENCE_FAILED",
        "the other suffix"
    );
}

#[tokio::test]
async fn case_047_half_a_surrogate_pair_does_not_hide_the_session() {
    let place = Place::new().await;
    let row = user(0, "before HALF after").to_string();
    let row = row.replace("HALF", "\\ud83d");
    let text = format!("{}\n{row}\n{}", header("s"), lines(&[user(1, "next")]));
    place.write_file("sessions/_no-cwd/s/session.jsonl", text);
    let found = place.query("s", json!({})).await.value();
    assert_eq!(found["matches"][0]["text"], "before \u{fffd} after");
    let read = place.slice("s", 0).await.value();
    assert_eq!(read["items"][0]["text"], "before \u{fffd} after");
}

#[tokio::test]
async fn case_037_inherited_events_of_a_fork_have_its_own_numbers() {
    let place = Place::new().await;
    place.write(
        "parent",
        &[user(0, "asked the parent"), user(1, "only there")],
    );
    let mut fork = header("fork");
    fork["parentSession"] = "parent".into();
    fork["seedLength"] = 1.into();
    place.write_at(
        "_no-cwd",
        &fork,
        &[user(0, "asked the parent"), user(1, "asked the fork")],
    );
    let found = place.query("fork", json!({"text": "asked"})).await.seqs();
    assert_eq!(found, [0, 1]);
    let inherited = place.slice("fork", 0).await.value();
    assert_eq!(inherited["items"][0]["text"], "asked the parent");
    assert_eq!(inherited["items"][0]["citation"], "session:0");
    let own = place.slice("fork", 1).await.value();
    assert_eq!(own["items"][0]["text"], "asked the fork");
}

#[tokio::test]
async fn case_034_an_event_of_a_packed_row_has_its_own_time() {
    let place = Place::with_example().await;
    let chunk = place.slice("session-1", 4).await.value();
    assert_eq!(chunk["items"][0]["type"], "assistant/chunk");
    assert_eq!(chunk["items"][0]["data"]["chunk"]["text"], "ing");
    let request = ReadRequest {
        seq: 4.0,
        before: 0.0,
        after: 0.0,
    };
    let window = place
        .service()
        .read_event("session-1", &request, &Cancel::new());
    assert_eq!(window.unwrap().events[0].time, 1_767_225_601_212);
}

#[tokio::test]
async fn case_050_what_is_checked_first_is_reported() {
    let place = Place::new().await;
    let service = place.service();
    let code = |filter| {
        let found = service.filter_events("missing", &[filter], &Cancel::new());
        found.unwrap_err().code().map(String::from)
    };
    let blank = code(EventFilter::Text(" ".into()));
    assert_eq!(blank.as_deref(), Some("SESSION_QUERY_SESSION_NOT_FOUND"));
    let range = Bounds {
        from: Some(2.0),
        to: Some(1.0),
    };
    let reversed = code(EventFilter::Seq(range));
    assert_eq!(reversed.as_deref(), Some("SESSION_QUERY_INVALID_FILTER"));
    // The tools judge what their schema cannot say before they ask.
    let tool = async |arguments| place.query("missing", arguments).await.error().0;
    let reversed = tool(json!({"seq_from": 2, "seq_to": 1})).await;
    assert_eq!(reversed, "SESSION_QUERY_INVALID_FILTER");
    let blank = tool(json!({"text": " "})).await;
    assert_eq!(blank, "SESSION_QUERY_INVALID_FILTER");
    assert_eq!(tool(json!({})).await, "SESSION_QUERY_SESSION_NOT_FOUND");
}

/// A provider that knows more than the files: the session as its owner has it in memory, or a log that nobody has checked.
struct InMemory {
    texts: Vec<&'static str>,
    surface: Result<(), SessionQueryError>,
    stored: LocalSessionQuery,
}

impl InMemory {
    fn record(seq: usize) -> EventRecord {
        EventRecord {
            seq: seq as u64,
            event_type: "user/message".into(),
            time: 0,
            surface: Surface::Current,
        }
    }
}

impl SessionQuery for InMemory {
    fn list_sessions(&self, cancel: &Cancel) -> Result<Vec<SessionRecord>, SessionQueryError> {
        self.stored.list_sessions(cancel)
    }

    fn list_events(&self, _: &str, _: &Cancel) -> Result<Vec<EventRecord>, SessionQueryError> {
        Ok((0..self.texts.len()).map(Self::record).collect())
    }

    fn filter_page(
        &self,
        _: &str,
        filters: &[EventFilter],
        _: &PageLimits,
        _: &Cancel,
    ) -> Result<Page, SessionQueryError> {
        self.surface.clone()?;
        assert_eq!(filters, [], "this provider filters nothing");
        let document = |(seq, text): (usize, &&str)| Document {
            record: Self::record(seq),
            text: (*text).into(),
            text_bytes: text.len() as u64,
            text_start: 0,
        };
        let documents = self.texts.iter().enumerate().map(document).collect();
        Ok(Page {
            documents,
            next_seq: None,
        })
    }

    fn read_event(
        &self,
        session: &str,
        request: &ReadRequest,
        cancel: &Cancel,
    ) -> Result<Window, SessionQueryError> {
        let records = self.stored.list_sessions(cancel)?;
        let session = records
            .into_iter()
            .find(|record| record.header.id == session)
            .unwrap()
            .header;
        let seq = request.seq as u64;
        let event = RawEvent {
            seq,
            event_type: "user/message".into(),
            time: 0,
            text: self.texts[seq as usize].into(),
            data: "{}".into(),
            surface_op: None,
            source_event_seqs: None,
            ignorable: false,
        };
        Ok(Window {
            session,
            inherited_event_count: None,
            target: seq,
            start_seq: seq,
            end_seq: seq,
            events: vec![event],
        })
    }
}

#[tokio::test]
async fn case_048_a_live_session_is_asked_before_its_file() {
    let place = Place::new().await;
    place.write("s", &[user(0, "flushed")]);
    assert_eq!(place.query("s", json!({})).await.seqs(), [0]);
    let live = InMemory {
        texts: vec!["flushed", "not yet"],
        surface: Ok(()),
        stored: place.service(),
    };
    place.use_sessions(Arc::new(live));
    let found = place.query("s", json!({})).await;
    let texts: Vec<_> = found
        .citations()
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    assert_eq!(texts, ["flushed", "not yet"]);
    let read = place.slice("s", 1).await.value();
    assert_eq!(read["items"][0]["text"], "not yet");
    // The owner is gone: what it had not written is lost.
    place.use_sessions(Arc::new(place.service()));
    assert_eq!(place.query("s", json!({})).await.seqs(), [0]);
    let lost = place.slice("s", 1).await.error();
    assert_eq!(lost.0, "SESSION_QUERY_EVENT_NOT_FOUND");
}

#[tokio::test]
async fn case_027_a_provider_that_checks_nothing_shows_a_bad_surface_to_queries_alone() {
    let place = Place::with_example().await;
    let unchecked = InMemory {
        texts: vec!["readable"],
        surface: Err(SessionQueryError::InvalidSurface(
            "a mark is missing".into(),
        )),
        stored: place.service(),
    };
    place.use_sessions(Arc::new(unchecked));
    let query = place.query("session-1", json!({})).await.error();
    let expected = (
        "SESSION_QUERY_INVALID_SURFACE",
        "Error: session event history is invalid",
    );
    assert_eq!((query.0.as_str(), query.1.as_str()), expected);
    let read = place.slice("session-1", 0).await.value();
    assert_eq!(read["items"][0]["text"], "readable");
}

#[tokio::test]
async fn the_example_is_the_log_that_the_cases_speak_of() {
    let (header, rows) = example();
    assert_eq!(header["id"], "session-1");
    assert_eq!(rows.len(), 11, "thirteen events, three of them in one row");
}
