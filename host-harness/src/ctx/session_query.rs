//! `dsh:ctx/session-query`: the caller's own history.

use crate::bindings::dsh::ctx::session_query as wit;
use crate::bindings::dsh::ctx::types;
use crate::ctx::call::Caller;
use crate::ctx::history::{failure, on_a_thread};
use crate::store::PluginState;
use dsh_services::session_query::{
    self as local, Bounds, Cancel, EventFilter, PageLimits, ReadRequest, SessionQuery,
    SessionQueryError, Surface,
};
use std::sync::Arc;
use wasmtime::Result;
use wasmtime::component::{Accessor, HasSelf, Resource};

type Access = Accessor<PluginState, HasSelf<PluginState>>;

/// Documents in one answer, whatever a guest asks for.
const MAX_DOCUMENTS: u32 = 1_000;

impl wit::Host for PluginState {
    fn available(&mut self) -> Result<bool> {
        Ok(self.env.services.session_query().is_some())
    }
}

impl wit::HostWithStore<PluginState> for HasSelf<PluginState> {
    async fn filter_events(
        accessor: &Access,
        caller: Resource<Caller>,
        filters: Vec<wit::EventFilter>,
        limits: wit::PageLimits,
    ) -> Result<Result<wit::Page, types::Failure>> {
        let filters: Vec<EventFilter> = filters.into_iter().map(convert_filter).collect();
        let limits = PageLimits {
            max_documents: limits.max_documents.clamp(1, MAX_DOCUMENTS) as usize,
            max_text_bytes: limits.max_text_bytes as usize,
            max_page_bytes: limits.max_page_bytes as usize,
            document_bytes: limits.document_bytes as usize,
            centre_on_hit: limits.centre_on_hit,
            before_seq: limits.before_seq,
        };
        let texts = filters.iter().map(|filter| match filter {
            EventFilter::Text(text) => text.len(),
            EventFilter::Types(types) => types.iter().map(String::len).sum(),
            EventFilter::Seq(_) | EventFilter::Time(_) | EventFilter::Surfaces(_) => 0,
        });
        let request = texts.map(|bytes| size_of::<EventFilter>() + bytes).sum();
        let page = query(
            accessor,
            &caller,
            request,
            move |service, session, cancel| service.filter_page(session, &filters, &limits, cancel),
        );
        Ok(page.await?.map(convert_page))
    }

    async fn read_event(
        accessor: &Access,
        caller: Resource<Caller>,
        seq: f64,
        before: f64,
        after: f64,
        max_neighbour_bytes: u32,
    ) -> Result<Result<wit::Window, types::Failure>> {
        let request = ReadRequest { seq, before, after };
        let window = query(accessor, &caller, 0, move |service, session, cancel| {
            service.read_event(session, &request, cancel)
        });
        Ok(window
            .await?
            .map(|window| convert_window(window, max_neighbour_bytes as usize)))
    }
}

/// Runs a blocking query for the caller's session on a thread that may block.
async fn query<R: Send + 'static>(
    accessor: &Access,
    caller: &Resource<Caller>,
    request_bytes: usize,
    work: impl FnOnce(&dyn SessionQuery, &str, &Cancel) -> Result<R, SessionQueryError> + Send + 'static,
) -> Result<Result<R, types::Failure>> {
    let (service, session, lanes) = accessor.with(|mut access| {
        let state = access.get();
        let session = state.table.get(caller)?.live_session().map(String::from);
        wasmtime::error::Ok((
            state.env.services.session_query(),
            session,
            state.lanes.clone(),
        ))
    })?;
    let Some(service): Option<Arc<dyn SessionQuery>> = service else {
        return Ok(Err(failure(
            Some("BACKEND_UNAVAILABLE"),
            "session query backend unavailable".into(),
        )));
    };
    let Some(session) = session else {
        let message = "the call has no session, or has ended".into();
        return Ok(Err(failure(
            Some("SESSION_QUERY_SESSION_NOT_FOUND"),
            message,
        )));
    };
    on_a_thread(&lanes, request_bytes, move |cancel| {
        work(&*service, &session, cancel)
    })
    .await
}

fn convert_filter(filter: wit::EventFilter) -> EventFilter {
    let bounds = |bounds: wit::Bounds| Bounds {
        from: bounds.from,
        to: bounds.to,
    };
    match filter {
        wit::EventFilter::Seq(range) => EventFilter::Seq(bounds(range)),
        wit::EventFilter::Time(range) => EventFilter::Time(bounds(range)),
        wit::EventFilter::Types(types) => EventFilter::Types(types.into_iter().collect()),
        wit::EventFilter::Surfaces(surfaces) => {
            EventFilter::Surfaces(surfaces.into_iter().map(surface_from_wit).collect())
        }
        wit::EventFilter::Text(text) => EventFilter::Text(text),
    }
}

fn surface_from_wit(surface: wit::Surface) -> Surface {
    match surface {
        wit::Surface::Current => Surface::Current,
        wit::Surface::Shadowed => Surface::Shadowed,
        wit::Surface::LogOnly => Surface::LogOnly,
    }
}

fn surface_to_wit(surface: Surface) -> wit::Surface {
    match surface {
        Surface::Current => wit::Surface::Current,
        Surface::Shadowed => wit::Surface::Shadowed,
        Surface::LogOnly => wit::Surface::LogOnly,
    }
}

fn convert_page(page: local::Page) -> wit::Page {
    let documents = page.documents.into_iter().map(|document| wit::Document {
        seq: document.record.seq,
        event_type: document.record.event_type,
        time: document.record.time,
        surface: surface_to_wit(document.record.surface),
        text: document.text,
        text_bytes: document.text_bytes,
        text_start: document.text_start,
    });
    wit::Page {
        documents: documents.collect(),
        next_seq: page.next_seq,
    }
}

fn convert_window(window: local::Window, max_neighbour_bytes: usize) -> wit::Window {
    let target = window.target;
    let events = window.events.into_iter().map(|event| {
        let is_target = event.seq == target;
        let mut text = event.text;
        let kept = if is_target {
            text.len()
        } else {
            text.floor_char_boundary(max_neighbour_bytes)
        };
        let text_cut = kept < text.len();
        text.truncate(kept);
        wit::RawEvent {
            seq: event.seq,
            data: (is_target && text.is_empty()).then_some(event.data),
            event_type: event.event_type,
            time: event.time,
            text,
            text_cut,
        }
    });
    wit::Window {
        target,
        start_seq: window.start_seq,
        end_seq: window.end_seq,
        events: events.collect(),
    }
}
