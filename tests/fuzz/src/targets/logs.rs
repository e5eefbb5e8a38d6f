//! Session logs in memory-backed files, for the targets that read them.

use dsh_services::session_query::{
    Cancel, EventFilter, LocalOptions, LocalSessionQuery, PageLimits, ReadRequest, SessionQuery,
    SessionQueryError,
};
use std::io::Write;
use std::path::PathBuf;
use tempfile::TempDir;

/// A root that holds one session, `s`.
pub struct Root {
    directory: TempDir,
    log: PathBuf,
}

impl Root {
    /// A root whose log has this file name.
    pub fn new(file: &str) -> Self {
        let memory = PathBuf::from("/dev/shm");
        let parent = if memory.is_dir() {
            memory
        } else {
            std::env::temp_dir()
        };
        let directory = tempfile::tempdir_in(parent).unwrap();
        let folder = directory.path().join("--work-app--/s");
        std::fs::create_dir_all(&folder).unwrap();
        let log = folder.join(file);
        Self { directory, log }
    }

    /// Replaces the log.
    pub fn write(&self, bytes: &[u8]) {
        std::fs::write(&self.log, bytes).unwrap();
    }

    /// Lengthens the log.
    pub fn append(&self, bytes: &[u8]) {
        let mut file = std::fs::OpenOptions::new()
            .append(true)
            .open(&self.log)
            .unwrap();
        file.write_all(bytes).unwrap();
    }

    /// Takes the log away.
    pub fn remove(&self) {
        let _ = std::fs::remove_file(&self.log);
    }

    /// A service that has seen nothing yet.
    pub fn service(&self) -> LocalSessionQuery {
        LocalSessionQuery::new(LocalOptions::new(self.directory.path().to_owned()))
    }
}

/// One Zstandard frame.
pub fn frame(text: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// All documents that satisfy the filters.
pub fn documents(
    service: &LocalSessionQuery,
    filters: &[EventFilter],
) -> Result<Vec<(u64, String)>, SessionQueryError> {
    let documents = service.filter_events("s", filters, &Cancel::new())?;
    Ok(documents
        .into_iter()
        .map(|document| (document.record.seq, document.text))
        .collect())
}

/// Everything that the service answers for the session, as text to compare, once it is consistent in itself.
pub fn answers(service: &LocalSessionQuery) -> Result<String, SessionQueryError> {
    let cancel = Cancel::new();
    let sessions = service.list_sessions(&cancel)?;
    let events = service.list_events("s", &cancel)?;
    assert!(
        sessions.iter().any(|session| session.header.id == "s"),
        "what is read is listed"
    );
    for (at, event) in events.iter().enumerate() {
        assert_eq!(event.seq, at as u64, "without a gap");
    }
    let documents = service.filter_events("s", &[], &cancel)?;
    let mut shown = format!("{sessions:?}\n{events:?}\n");
    for document in &documents {
        assert!(!document.text.is_empty());
        assert_eq!(
            (document.text_bytes, document.text_start),
            (document.text.len() as u64, 0)
        );
        assert_eq!(document.record, events[document.record.seq as usize]);
    }
    pages_hold_the_same(
        service,
        &documents
            .iter()
            .map(|d| (d.record.seq, &*d.text))
            .collect::<Vec<_>>(),
    );
    let request = |seq: u64, before, after| ReadRequest {
        seq: seq as f64,
        before,
        after,
    };
    for event in events.iter().take(20) {
        let window = service.read_event("s", &request(event.seq, 1.0, 2.0), &cancel)?;
        assert_eq!(window.target, event.seq);
        assert_eq!(window.start_seq, event.seq.saturating_sub(1));
        assert_eq!(window.end_seq, (event.seq + 2).min(events.len() as u64 - 1));
        for (raw, seq) in window.events.iter().zip(window.start_seq..) {
            assert_eq!(
                (raw.seq, &raw.event_type),
                (seq, &events[seq as usize].event_type)
            );
            assert!(dsh_services::json::parse(&raw.data).is_ok(), "{}", raw.data);
            let text = documents
                .iter()
                .find(|d| d.record.seq == seq)
                .map_or("", |d| &d.text);
            assert_eq!(raw.text, text);
        }
        shown += &format!("{window:?}\n");
    }
    let beyond = service.read_event("s", &request(events.len() as u64, 0.0, 0.0), &cancel);
    assert!(matches!(
        beyond,
        Err(SessionQueryError::EventNotFound { .. })
    ));
    Ok(shown)
}

/// Small pages, one after the other, are the whole answer.
fn pages_hold_the_same(service: &LocalSessionQuery, documents: &[(u64, &str)]) {
    let limits = PageLimits {
        max_documents: 2,
        max_text_bytes: 7,
        ..PageLimits::NONE
    };
    let (mut from, mut paged) = (0, Vec::new());
    loop {
        let bounds = dsh_services::session_query::Bounds {
            from: Some(from as f64),
            to: None,
        };
        let page = service
            .filter_page("s", &[EventFilter::Seq(bounds)], &limits, &Cancel::new())
            .unwrap();
        assert!(page.documents.len() <= 2);
        paged.extend(page.documents);
        match page.next_seq {
            Some(next) => {
                assert!(next > from || from == 0, "a page leads on");
                from = next;
            }
            None => break,
        }
    }
    assert_eq!(paged.len(), documents.len());
    for (cut, (seq, text)) in paged.iter().zip(documents) {
        assert_eq!((cut.record.seq, cut.text_bytes), (*seq, text.len() as u64));
        assert!(cut.text.len() <= 7 && text.starts_with(&cut.text));
        assert!(cut.text.len() + 3 >= text.len().min(7), "as much as fits");
    }
}
