//! What crosses the boundary of the component.

use dsh_services::session_query::{
    Cancel, EventFilter, EventRecord, LocalSessionQuery, Page, PageLimits, ReadRequest,
    SessionQuery, SessionQueryError, SessionRecord, Window,
};
use dsh_tests::history::Place;
use dsh_tests::rows::user;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the events that the service hands out.
struct Counting {
    service: LocalSessionQuery,
    handed_out: AtomicUsize,
}

impl Counting {
    fn take(&self) -> usize {
        self.handed_out.swap(0, Ordering::SeqCst)
    }
}

impl SessionQuery for Counting {
    fn list_sessions(&self, cancel: &Cancel) -> Result<Vec<SessionRecord>, SessionQueryError> {
        self.service.list_sessions(cancel)
    }

    fn list_events(
        &self,
        session: &str,
        cancel: &Cancel,
    ) -> Result<Vec<EventRecord>, SessionQueryError> {
        self.service.list_events(session, cancel)
    }

    fn filter_page(
        &self,
        session: &str,
        filters: &[EventFilter],
        limits: &PageLimits,
        cancel: &Cancel,
    ) -> Result<Page, SessionQueryError> {
        let page = self.service.filter_page(session, filters, limits, cancel)?;
        let count = page.documents.len();
        self.handed_out.fetch_add(count, Ordering::SeqCst);
        Ok(page)
    }

    fn read_event(
        &self,
        session: &str,
        request: &ReadRequest,
        cancel: &Cancel,
    ) -> Result<Window, SessionQueryError> {
        let window = self.service.read_event(session, request, cancel)?;
        let count = window.events.len();
        self.handed_out.fetch_add(count, Ordering::SeqCst);
        Ok(window)
    }
}

#[tokio::test]
async fn no_more_events_cross_than_are_shown() {
    let place = Place::new().await;
    let rows: Vec<_> = (0..2_000)
        .map(|seq| user(seq, &format!("needle {seq}")))
        .collect();
    place.write("s", &rows);
    let counting = Arc::new(Counting {
        service: place.service(),
        handed_out: AtomicUsize::new(0),
    });
    place.use_sessions(counting.clone());
    for (tool, arguments, list) in [
        ("context_query", json!({}), "matches"),
        ("context_query", json!({"limit": 1}), "matches"),
        (
            "context_query",
            json!({"limit": 200, "text": "needle"}),
            "matches",
        ),
        ("context_query", json!({"seq_from": 1_990}), "matches"),
        ("context_query", json!({"text": "absent"}), "matches"),
        (
            "context_grep",
            json!({"pattern": "needle", "limit": 7}),
            "matches",
        ),
        (
            "context_slice",
            json!({"seq": 1_000, "before": 3, "after": 4}),
            "items",
        ),
        ("context_slice", json!({"seq": 5}), "items"),
    ] {
        let shown = place.call("s", tool, arguments.clone()).await.value();
        let shown = shown[list].as_array().unwrap().len();
        assert_eq!(counting.take(), shown, "{tool} {arguments}");
    }
}

#[tokio::test]
async fn no_more_events_cross_than_fit_into_an_answer() {
    // Plain texts, texts that are three times as long in JSON, and short ones of which the frames are the greater part.
    for (text, least, most) in [
        ("long needle ".repeat(2_000), 21, 23),
        ("needle\n\u{1}\"".repeat(40), 40, 80),
        ("needle".repeat(40), 110, 150),
    ] {
        let place = Place::new().await;
        let rows: Vec<_> = (0..400).map(|seq| user(seq, &text)).collect();
        place.write("s", &rows);
        let counting = Arc::new(Counting {
            service: place.service(),
            handed_out: AtomicUsize::new(0),
        });
        place.use_sessions(counting.clone());
        for (tool, arguments) in [
            ("context_query", json!({"limit": 200})),
            ("context_grep", json!({"pattern": "needle", "limit": 200})),
        ] {
            let answer = place.call("s", tool, arguments).await;
            assert!(answer.0.text().len() <= 48_000);
            let found = answer.value();
            let shown = found["matches"].as_array().unwrap().len();
            assert!((least..=most).contains(&shown), "{tool}: {shown}");
            assert_eq!(counting.take(), shown, "{tool}");
            assert_eq!(found["nextSeq"], shown);
        }
    }
}
