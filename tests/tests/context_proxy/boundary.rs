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
async fn a_page_of_long_texts_is_bounded_by_its_limit() {
    let place = Place::new().await;
    let text = "long needle ".repeat(2_000);
    let rows: Vec<_> = (0..400).map(|seq| user(seq, &text)).collect();
    place.write("s", &rows);
    let found = place.query("s", json!({"limit": 200})).await.0;
    assert!(found.text().len() <= 48_000);
    let found = dsh_tests::history::Answer(found).value();
    let matches = found["matches"].as_array().unwrap();
    assert!(
        matches.len() > 20 && matches.len() < 24,
        "{}",
        matches.len()
    );
    assert_eq!(found["nextSeq"], matches.len());
}
