use dsh_context_proxy::errors::Failure;
use dsh_context_proxy::services::{
    Document, Filter, Page, PageLimits, RawEvent, SessionQuery, Surface, Window,
};
use dsh_context_proxy::text_cut::{excerpt, prefix};
use std::cell::{Cell, RefCell};
use std::future::pending;

/// One event of the fake log: its number is its place.
#[derive(Clone)]
pub struct FakeEvent {
    pub event_type: String,
    pub surface: Surface,
    pub text: String,
    pub data: String,
}

pub fn event(event_type: &str, surface: Surface, text: impl Into<String>) -> FakeEvent {
    FakeEvent {
        event_type: event_type.to_owned(),
        surface,
        text: text.into(),
        data: "{\"turn\":1}".to_owned(),
    }
}

/// A session query service over a log in memory. Its text filter knows ASCII case alone: how texts are compared is the host's affair and
/// tested there; here it only matters what the service is asked.
pub struct FakeSession {
    pub available: Cell<bool>,
    pub events: Vec<FakeEvent>,
    pub failure: Option<Failure>,
    pub hangs: bool,
    pub asked: RefCell<Vec<(Vec<Filter>, PageLimits)>>,
    pub read: RefCell<Vec<(u64, u32, u32)>>,
}

impl FakeSession {
    pub fn new(events: Vec<FakeEvent>) -> Self {
        FakeSession {
            available: Cell::new(true),
            events,
            failure: None,
            hangs: false,
            asked: RefCell::default(),
            read: RefCell::default(),
        }
    }

    /// The log of SPEC 8: a turn with one tool call whose result was pruned.
    pub fn fixture() -> Self {
        use Surface::{Current, LogOnly, Shadowed};
        Self::new(vec![
            event("turn/start", LogOnly, ""),
            event("step/start", LogOnly, ""),
            event("user/message", Current, "Find the  flaky\n test"),
            event("assistant/chunk", LogOnly, ""),
            event("assistant/chunk", LogOnly, ""),
            event("assistant/chunk", LogOnly, ""),
            event(
                "assistant/message",
                Current,
                "Looking now\nbash\n{\"command\":\"pytest -q\"}",
            ),
            event("tool/call", LogOnly, "bash\n{\"command\":\"pytest -q\"}"),
            event(
                "tool/result",
                Shadowed,
                "FAILED tests/test_io.py::test_flaky (AssertionError)",
            ),
            event("step/end", LogOnly, ""),
            event("todo/write", LogOnly, "in_progress\nfix test_flaky"),
            event("tool/result", Current, "FAILED tests (pruned)"),
            event("turn/end", LogOnly, "error\nprovider timeout"),
        ])
    }

    pub fn failing(code: &str) -> Self {
        FakeSession {
            failure: Some(Failure {
                name: Some("SessionQueryError".to_owned()),
                code: Some(code.to_owned()),
                message: "stored session \"session-1\" is at /home/someone/.dsh".to_owned(),
            }),
            ..Self::fixture()
        }
    }

    async fn gate(&self) -> Result<(), Failure> {
        if self.hangs {
            pending::<()>().await;
        }
        self.failure.clone().map_or(Ok(()), Err)
    }

    fn matches(&self, seq: u64, filter: &Filter) -> bool {
        let event = &self.events[seq as usize];
        match filter {
            Filter::Seq { from, to } => {
                from.is_none_or(|from| from <= seq) && to.is_none_or(|to| seq <= to)
            }
            Filter::Types(types) => types.contains(&event.event_type),
            Filter::Surfaces(surfaces) => surfaces.contains(&event.surface),
            Filter::Text(text) => find(&event.text, text).is_some(),
        }
    }
}

fn find(text: &str, needle: &str) -> Option<usize> {
    text.to_ascii_lowercase().find(&needle.to_ascii_lowercase())
}

impl SessionQuery for FakeSession {
    fn available(&self) -> bool {
        self.available.get()
    }

    async fn filter_events(
        &self,
        filters: Vec<Filter>,
        limits: PageLimits,
    ) -> Result<Page, Failure> {
        self.asked.borrow_mut().push((filters.clone(), limits));
        self.gate().await?;
        let all = 0..self.events.len() as u64;
        let mut found = all.filter(|seq| {
            !self.events[*seq as usize].text.is_empty()
                && limits.before_seq.is_none_or(|before| *seq < before)
                && filters.iter().all(|filter| self.matches(*seq, filter))
        });
        let needle = filters.iter().find_map(|filter| match filter {
            Filter::Text(text) if limits.centre_on_hit => Some(text),
            _ => None,
        });
        let document = |seq: u64| {
            let event = &self.events[seq as usize];
            let max = limits.max_text_bytes as usize;
            let text = match needle
                .and_then(|needle| find(&event.text, needle).map(|at| at..at + needle.len()))
            {
                Some(hit) => excerpt(&event.text, hit, max),
                None => prefix(&event.text, max),
            };
            Document {
                seq,
                event_type: event.event_type.clone(),
                text: text.to_owned(),
                text_bytes: event.text.len() as u64,
            }
        };
        let documents = found
            .by_ref()
            .take(limits.max_documents as usize)
            .map(document)
            .collect();
        Ok(Page {
            documents,
            next_seq: found.next(),
        })
    }

    async fn read_event(
        &self,
        seq: u64,
        before: u32,
        after: u32,
        max_neighbour_bytes: u32,
    ) -> Result<Window, Failure> {
        self.read.borrow_mut().push((seq, before, after));
        self.gate().await?;
        let count = self.events.len() as u64;
        if seq >= count {
            return Err(Failure {
                name: None,
                code: Some("SESSION_QUERY_EVENT_NOT_FOUND".to_owned()),
                message: format!("session \"session-1\" has no event at seq {seq}"),
            });
        }
        let start_seq = seq.saturating_sub(before.into());
        let end_seq = (count - 1).min(seq + u64::from(after));
        let raw = |at: u64| {
            let event = &self.events[at as usize];
            let max = if at == seq {
                usize::MAX
            } else {
                max_neighbour_bytes as usize
            };
            let text = prefix(&event.text, max);
            RawEvent {
                seq: at,
                event_type: event.event_type.clone(),
                text: text.to_owned(),
                text_cut: text.len() < event.text.len(),
                data: (at == seq && text.is_empty()).then(|| event.data.clone()),
            }
        };
        Ok(Window {
            target: seq,
            start_seq,
            end_seq,
            events: (start_seq..=end_seq).map(raw).collect(),
        })
    }
}
