//! `ctx.sessionQuery` of a running DSH.

use super::peer::Peer;
use crate::failure::Failure;
use dsh_services::session_query::{
    Bounds, Cancel, Document, EventFilter, EventRecord, Header, Page, PageBuilder, PageLimits,
    RawEvent, ReadRequest, SessionQuery, SessionQueryError, SessionRecord, Surface, TextCut,
    Window,
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::runtime::Handle;

/// How often a waiting query looks whether it was given up.
const LOOK: Duration = Duration::from_millis(10);

/// The session query service on the other side. Its calls block, as the trait says, and must not be made on a thread of the runtime.
pub(super) struct BridgeSessionQuery {
    peer: Peer,
    runtime: Handle,
}

impl BridgeSessionQuery {
    /// Must be called inside a tokio runtime, which then carries the questions.
    pub(super) fn new(peer: Peer) -> Self {
        Self {
            peer,
            runtime: Handle::current(),
        }
    }

    fn ask(
        &self,
        method: &str,
        params: Value,
        cancel: &Cancel,
    ) -> Result<(Value, Vec<Value>), SessionQueryError> {
        let mut items = Vec::new();
        let asking = self.peer.ask_parts(method, params, |part| match part {
            Value::Array(part) => items.extend(part),
            other => items.push(other),
        });
        let given_up = async {
            while !cancel.is_cancelled() {
                tokio::time::sleep(LOOK).await;
            }
        };
        let answer = self.runtime.block_on(async {
            tokio::select! {
                answer = asking => answer.map_err(convert),
                () = given_up => Err(SessionQueryError::Cancelled),
            }
        })?;
        Ok((answer, items))
    }
}

impl SessionQuery for BridgeSessionQuery {
    fn list_sessions(&self, cancel: &Cancel) -> Result<Vec<SessionRecord>, SessionQueryError> {
        let (_, items) = self.ask("sessionQuery.listSessions", json!({}), cancel)?;
        items.iter().map(record).collect()
    }

    fn list_events(
        &self,
        session_id: &str,
        cancel: &Cancel,
    ) -> Result<Vec<EventRecord>, SessionQueryError> {
        let params = json!({ "sessionId": session_id });
        let (_, items) = self.ask("sessionQuery.listEvents", params, cancel)?;
        items.iter().map(event_record).collect()
    }

    fn filter_page(
        &self,
        session_id: &str,
        filters: &[EventFilter],
        limits: &PageLimits,
        cancel: &Cancel,
    ) -> Result<Page, SessionQueryError> {
        let cut = TextCut::new(filters, limits)?;
        let params = json!({
            "sessionId": session_id,
            "filters": filters.iter().map(filter).collect::<Vec<_>>(),
            "maxDocuments": u32::try_from(limits.max_documents).unwrap_or(u32::MAX),
            "beforeSeq": limits.before_seq,
        });
        let (answer, items) = self.ask("sessionQuery.filterEvents", params, cancel)?;
        let mut page = PageBuilder::new(limits);
        for item in &items {
            let text = text(item, "text")?;
            let part = cut.of(&text);
            let document = Document {
                record: event_record(item)?,
                text_bytes: item
                    .get("textBytes")
                    .and_then(Value::as_u64)
                    .unwrap_or(text.len() as u64),
                text_start: part.start as u64,
                text: text.get(part).unwrap_or_default().to_owned(),
            };
            if !page.take_in(document) {
                return Ok(page.finish());
            }
        }
        let mut page = page.finish();
        page.next_seq = answer.get("nextSeq").and_then(Value::as_u64);
        Ok(page)
    }

    fn read_event(
        &self,
        session_id: &str,
        request: &ReadRequest,
        cancel: &Cancel,
    ) -> Result<Window, SessionQueryError> {
        let params = json!({
            "sessionId": session_id,
            "seq": request.seq,
            "before": request.before,
            "after": request.after,
        });
        let (answer, items) = self.ask("sessionQuery.readEvent", params, cancel)?;
        Ok(Window {
            session: header(answer.get("session").unwrap_or(&Value::Null))?,
            inherited_event_count: answer.get("inheritedEventCount").and_then(Value::as_u64),
            target: number(&answer, "target")?,
            start_seq: number(&answer, "startSeq")?,
            end_seq: number(&answer, "endSeq")?,
            events: items.iter().map(raw_event).collect::<Result<_, _>>()?,
        })
    }
}

fn record(item: &Value) -> Result<SessionRecord, SessionQueryError> {
    let flag = |key: &str| item.get(key).and_then(Value::as_bool).unwrap_or(false);
    Ok(SessionRecord {
        header: header(item.get("header").unwrap_or(&Value::Null))?,
        live: flag("live"),
        persisted: flag("persisted"),
        format_status: (item.get("formatStatus").and_then(Value::as_str) == Some("current"))
            .then_some("current"),
    })
}

fn header(item: &Value) -> Result<Header, SessionQueryError> {
    let optional = |key: &str| item.get(key).and_then(Value::as_str).map(String::from);
    Ok(Header {
        id: text(item, "id")?,
        version: item.get("version").and_then(Value::as_f64).unwrap_or(0.0),
        created_at: item
            .get("createdAt")
            .and_then(Value::as_f64)
            .map_or(0, |time| time as i64),
        cwd: optional("cwd"),
        parent_session: optional("parentSession"),
        members: item.as_object().cloned().unwrap_or_default(),
    })
}

fn event_record(item: &Value) -> Result<EventRecord, SessionQueryError> {
    let surface = text(item, "surface")?;
    Ok(EventRecord {
        seq: number(item, "seq")?,
        event_type: text(item, "type")?,
        time: time(item),
        surface: Surface::from_name(&surface)
            .ok_or_else(|| odd(&format!("unknown surface \"{surface}\"")))?,
    })
}

fn raw_event(item: &Value) -> Result<RawEvent, SessionQueryError> {
    let member = |key: &str| item.get(key).filter(|value| !value.is_null());
    let sources = member("sourceEventSeqs").and_then(Value::as_array);
    Ok(RawEvent {
        seq: number(item, "seq")?,
        event_type: text(item, "type")?,
        time: time(item),
        text: text(item, "text")?,
        data: item.get("data").unwrap_or(&Value::Null).to_string(),
        surface_op: member("surfaceOp").map(Value::to_string),
        source_event_seqs: sources.map(|seqs| seqs.iter().filter_map(Value::as_u64).collect()),
        ignorable: item.get("ignorable").and_then(Value::as_bool) == Some(true),
    })
}

fn filter(filter: &EventFilter) -> Value {
    let range = |kind: &str, bounds: &Bounds| {
        let mut range = json!({ "kind": kind });
        for (key, value) in [("from", bounds.from), ("to", bounds.to)] {
            if let Some(value) = value {
                range[key] = value.into();
            }
        }
        range
    };
    match filter {
        EventFilter::Seq(bounds) => range("seq", bounds),
        EventFilter::Time(bounds) => range("time", bounds),
        EventFilter::Types(types) => json!({ "kind": "type", "values": types }),
        EventFilter::Surfaces(surfaces) => {
            let names: Vec<_> = surfaces.iter().map(|surface| surface.as_str()).collect();
            json!({ "kind": "surface", "values": names })
        }
        EventFilter::Text(text) => json!({ "kind": "text", "text": text }),
    }
}

fn time(item: &Value) -> i64 {
    item.get("time")
        .and_then(Value::as_f64)
        .map_or(0, |time| time as i64)
}

fn text(item: &Value, key: &str) -> Result<String, SessionQueryError> {
    let found = item.get(key).and_then(Value::as_str);
    found
        .map(String::from)
        .ok_or_else(|| odd(&format!("{key} is no string")))
}

fn number(item: &Value, key: &str) -> Result<u64, SessionQueryError> {
    let found = item.get(key).and_then(Value::as_u64);
    found.ok_or_else(|| odd(&format!("{key} is no sequence number")))
}

/// DSH answered in a shape that this host does not know.
fn odd(what: &str) -> SessionQueryError {
    SessionQueryError::Foreign {
        code: None,
        message: format!("unexpected answer of the session query service: {what}"),
    }
}

fn convert(failure: Failure) -> SessionQueryError {
    SessionQueryError::Foreign {
        code: failure.code,
        message: failure.message,
    }
}
