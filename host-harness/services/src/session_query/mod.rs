//! `ctx.sessionQuery` over this machine's persisted session logs: read only, both log formats, every published error code.
//!
//! The rules that the numbers `SPEC-sessions n` refer to are in `plugins/context-proxy/SPEC-sessions.md`.

mod cache;
mod cancel;
mod closing;
mod collate;
mod cut;
mod decode;
mod discovery;
mod error;
mod examine;
mod extract;
mod feed;
mod filter;
mod fingerprint;
mod frames;
mod header;
mod js;
mod kinds;
mod layout;
mod legacy;
mod load;
mod local;
mod log;
mod mark;
mod matcher;
mod message;
mod packed;
mod query;
mod record;
mod repair;
mod reread;
mod revision;
mod row;
mod shape;
mod surface;
mod turns;
mod types;
mod view;
mod window;

pub use cancel::Cancel;
pub use cut::TextCut;
pub use error::SessionQueryError;
pub use filter::{Bounds, EventFilter, mend_json, parse_json};
pub use layout::Compression;
pub use local::{LocalOptions, LocalSessionQuery};
pub use types::{
    Document, EventRecord, Header, Page, PageBuilder, PageLimits, RawEvent, ReadRequest,
    SessionRecord, Surface, Window,
};

/// The greatest `before` and `after` of [`SessionQuery::read_event`].
pub const READ_WINDOW_MAX: u32 = 50;

/// The session query service. The calls block for as long as reading takes, so an asynchronous host runs them on a thread
/// that may block; each ends soon after its [`Cancel`] is set.
pub trait SessionQuery: Send + Sync {
    /// All sessions with a readable header, newest first, then by id in the collation order of the Unicode root locale.
    ///
    /// # Errors
    /// [`SessionQueryError::ListingFailed`], [`SessionQueryError::Cancelled`].
    fn list_sessions(&self, cancel: &Cancel) -> Result<Vec<SessionRecord>, SessionQueryError>;

    /// All events of a session without their content, in ascending order of sequence number.
    ///
    /// # Errors
    /// As [`filter_events`](Self::filter_events).
    fn list_events(
        &self,
        session_id: &str,
        cancel: &Cancel,
    ) -> Result<Vec<EventRecord>, SessionQueryError>;

    /// The events with text that satisfy all conditions, in ascending order of sequence number, within the limits of a page.
    ///
    /// # Errors
    /// Every [`SessionQueryError`] except those of [`read_event`](Self::read_event)'s own arguments.
    fn filter_page(
        &self,
        session_id: &str,
        filters: &[EventFilter],
        limits: &PageLimits,
        cancel: &Cancel,
    ) -> Result<Page, SessionQueryError>;

    /// `filterEvents` as published: all documents, whole texts.
    ///
    /// # Errors
    /// As [`filter_page`](Self::filter_page).
    fn filter_events(
        &self,
        session_id: &str,
        filters: &[EventFilter],
        cancel: &Cancel,
    ) -> Result<Vec<Document>, SessionQueryError> {
        self.filter_page(session_id, filters, &PageLimits::NONE, cancel)
            .map(|page| page.documents)
    }

    /// One event and its neighbours. The window counts raw events and is clamped to the log.
    ///
    /// # Errors
    /// Every [`SessionQueryError`] except those of filters.
    fn read_event(
        &self,
        session_id: &str,
        request: &ReadRequest,
        cancel: &Cancel,
    ) -> Result<Window, SessionQueryError>;
}
