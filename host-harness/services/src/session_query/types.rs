//! What a query takes and gives (SPEC-sessions 7).

use serde_json::{Map, Value, json};

use crate::json;

/// How an event stands to what the model sees now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Surface {
    /// Part of the current model context.
    Current,
    /// Replaced by a later event.
    Shadowed,
    /// Never part of the model context.
    LogOnly,
}

impl Surface {
    /// The name used in filters and answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Shadowed => "shadowed",
            Self::LogOnly => "log-only",
        }
    }

    /// The surface of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Current, Self::Shadowed, Self::LogOnly]
            .into_iter()
            .find(|surface| surface.as_str() == name)
    }
}

/// What the first line of a log says of the session.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    /// The session's id.
    pub id: String,
    /// The format version that the header names. A format 0 root may list versions that cannot be read.
    pub version: f64,
    /// Milliseconds since the epoch.
    pub created_at: i64,
    /// The working directory, an absolute path as text.
    pub cwd: Option<String>,
    /// The session that this one was forked from.
    pub parent_session: Option<String>,
    /// The members as the service answers them, in their canonical order.
    pub members: Map<String, Value>,
}

impl Header {
    /// The header as the service answers it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        Value::Object(self.members.clone())
    }
}

/// One entry of the session list.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRecord {
    /// The session's header.
    pub header: Header,
    /// Whether a running agent owns the session. Never so for logs read from this machine's files.
    pub live: bool,
    /// Whether the session has a log in storage.
    pub persisted: bool,
    /// `current` for a format 4 log; format 0 has no such member.
    pub format_status: Option<&'static str>,
}

impl SessionRecord {
    /// The record as the service answers it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut record = json!({ "header": self.header.to_json(), "live": self.live, "persisted": self.persisted });
        if let Some(status) = self.format_status {
            record["formatStatus"] = status.into();
        }
        record
    }
}

/// One event of a log without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRecord {
    /// The sequence number.
    pub seq: u64,
    /// The event type, such as `tool/result`.
    pub event_type: String,
    /// Milliseconds since the epoch.
    pub time: i64,
    /// How it stands to the model context.
    pub surface: Surface,
}

impl EventRecord {
    /// The record as the service answers it.
    #[must_use]
    pub fn to_json(&self, session_id: &str) -> Value {
        json!({
            "sessionId": session_id,
            "seq": self.seq,
            "type": self.event_type,
            "time": self.time,
            "surface": self.surface.as_str(),
        })
    }
}

/// One event that has text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The event without its content.
    pub record: EventRecord,
    /// The extracted text, or the part of it that the page's limits allow.
    pub text: String,
    /// Length in bytes of the whole extracted text.
    pub text_bytes: u64,
    /// Byte offset in the whole text at which `text` begins.
    pub text_start: u64,
}

impl Document {
    /// The document as the service answers it.
    #[must_use]
    pub fn to_json(&self, session_id: &str) -> Value {
        let mut document = self.record.to_json(session_id);
        document["text"] = self.text.as_str().into();
        document
    }
}

/// How much a page may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLimits {
    /// The most documents.
    pub max_documents: usize,
    /// The most bytes of text for each document, cut on a character boundary.
    pub max_text_bytes: usize,
    /// The most bytes that all documents together may take as JSON, as [`PageBuilder::take_in`] counts them.
    pub max_page_bytes: usize,
    /// What each document takes besides its text and its event type.
    pub document_bytes: usize,
    /// Whether a cut text is centred on the first hit of the first text condition rather than taken from the start.
    pub centre_on_hit: bool,
    /// Events with this sequence number or a greater one are left out.
    pub before_seq: Option<u64>,
}

impl PageLimits {
    /// No limit at all: what `filterEvents` itself answers.
    pub const NONE: Self = Self {
        max_documents: usize::MAX,
        max_text_bytes: usize::MAX,
        max_page_bytes: usize::MAX,
        document_bytes: 0,
        centre_on_hit: false,
        before_seq: None,
    };
}

/// A part of what matches a query.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// Matching events in ascending order of sequence number.
    pub documents: Vec<Document>,
    /// The sequence number of the first match that was not returned; none when all were.
    pub next_seq: Option<u64>,
}

/// Fills a page up to its limits.
#[derive(Debug)]
pub struct PageBuilder<'a> {
    page: Page,
    limits: &'a PageLimits,
    bytes: usize,
}

impl<'a> PageBuilder<'a> {
    /// An empty page.
    #[must_use]
    pub fn new(limits: &'a PageLimits) -> Self {
        Self {
            page: Page::default(),
            limits,
            bytes: 0,
        }
    }

    /// Appends a document, or notes it as the first one that was not returned when the page is full. Says whether it was appended.
    ///
    /// A document counts its text and its event type as JSON strings, and `document_bytes` more. The first one is taken in whatever it
    /// counts, so that a caller who goes on from `next_seq` always gets further.
    pub fn take_in(&mut self, document: Document) -> bool {
        let bytes = json_length(&document.text)
            .saturating_add(json_length(&document.record.event_type))
            .saturating_add(self.limits.document_bytes)
            .saturating_add(self.bytes);
        let count = self.page.documents.len();
        let fits = count == 0 || bytes <= self.limits.max_page_bytes;
        if !fits || count >= self.limits.max_documents {
            self.page.next_seq = Some(document.record.seq);
            return false;
        }
        self.bytes = bytes;
        self.page.documents.push(document);
        true
    }

    /// The page.
    #[must_use]
    pub fn finish(self) -> Page {
        self.page
    }
}

/// The length in bytes of a text as a JSON string, quotes and escapes included.
fn json_length(text: &str) -> usize {
    let escaped = |byte| match byte {
        b'"' | b'\\' | 0x08 | 0x09 | 0x0a | 0x0c | 0x0d => 2,
        0..0x20 => 6,
        _ => 1,
    };
    text.bytes().map(escaped).sum::<usize>() + 2
}

/// What `readEvent` is asked for. The numbers are judged by the service, so they are passed on as they were given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReadRequest {
    /// The sequence number of the target.
    pub seq: f64,
    /// How many raw events before it, 0 to 50.
    pub before: f64,
    /// How many raw events after it, 0 to 50.
    pub after: f64,
}

/// One event as it stands in the log, after upgrades of old shapes.
#[derive(Debug, Clone, PartialEq)]
pub struct RawEvent {
    /// The sequence number.
    pub seq: u64,
    /// The event type.
    pub event_type: String,
    /// Milliseconds since the epoch.
    pub time: i64,
    /// The extracted text, empty when the event has none.
    pub text: String,
    /// The `data` member as JSON text that any parser accepts: lone surrogates are U+FFFD, numbers beyond a double are null.
    pub data: String,
    /// The surface marker as JSON text.
    pub surface_op: Option<String>,
    /// The events that this one was made from, ranges expanded.
    pub source_event_seqs: Option<Vec<u64>>,
    /// Whether a reader that does not know the type may ignore the event.
    pub ignorable: bool,
}

impl RawEvent {
    /// The event as the service answers it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let parse = |text: &str| json::parse(text).unwrap_or(Value::Null);
        let mut event = json!({
            "type": self.event_type,
            "seq": self.seq,
            "time": self.time,
            "data": parse(&self.data),
        });
        if self.ignorable {
            event["ignorable"] = true.into();
        }
        if let Some(op) = &self.surface_op {
            event["surfaceOp"] = parse(op);
        }
        if let Some(sources) = &self.source_event_seqs {
            event["sourceEventSeqs"] = sources.as_slice().into();
        }
        event
    }
}

/// An event and what stands around it.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// The session's header.
    pub session: Header,
    /// How many leading events a fork inherited; format 4 only.
    pub inherited_event_count: Option<u64>,
    /// The sequence number asked for.
    pub target: u64,
    /// The sequence number of the first event returned.
    pub start_seq: u64,
    /// The sequence number of the last event returned.
    pub end_seq: u64,
    /// All events from `start_seq` to `end_seq`.
    pub events: Vec<RawEvent>,
}

impl Window {
    /// The window as the service answers it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let events: Vec<Value> = self.events.iter().map(RawEvent::to_json).collect();
        let target = self
            .events
            .iter()
            .position(|event| event.seq == self.target);
        let mut window = json!({
            "session": self.session.to_json(),
            "target": target.and_then(|at| events.get(at)).cloned(),
            "startSeq": self.start_seq,
            "endSeq": self.end_seq,
        });
        if let Some(count) = self.inherited_event_count {
            window["inheritedEventCount"] = count.into();
        }
        window["events"] = Value::Array(events);
        window
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn document(seq: u64, text: &str) -> Document {
        Document {
            record: EventRecord {
                seq,
                event_type: "user".into(),
                time: 0,
                surface: Surface::Current,
            },
            text: text.into(),
            text_bytes: text.len() as u64,
            text_start: 0,
        }
    }

    fn page(texts: &[String], limits: &PageLimits) -> Page {
        let mut page = PageBuilder::new(limits);
        for (seq, text) in texts.iter().enumerate() {
            if !page.take_in(document(seq as u64, text)) {
                break;
            }
        }
        page.finish()
    }

    proptest! {
        #[test]
        fn a_text_counts_what_it_takes_as_json(text in any::<String>()) {
            prop_assert_eq!(json_length(&text), serde_json::to_string(&text).unwrap().len());
        }

        #[test]
        fn a_page_is_full_exactly_when_the_next_document_would_break_a_limit(
            texts in proptest::collection::vec("[a-z\\n\"]{0,40}", 0..12),
            max_documents in 1_usize..14,
            max_page_bytes in 0_usize..400,
        ) {
            let limits = PageLimits { max_documents, max_page_bytes, document_bytes: 10, ..PageLimits::NONE };
            let page = page(&texts, &limits);
            let size = |count: usize| -> usize {
                let sizes = texts.iter().take(count).map(|text| serde_json::to_string(text).unwrap().len() + r#""user""#.len() + 10);
                sizes.sum()
            };
            let shown = page.documents.len();
            prop_assert!(shown <= max_documents && (shown <= 1 || size(shown) <= max_page_bytes));
            prop_assert_eq!(page.next_seq, (shown < texts.len()).then_some(shown as u64));
            if shown < texts.len() {
                prop_assert!(shown == max_documents || size(shown + 1) > max_page_bytes);
            }
        }
    }
}
