//! The failures of a session query and their codes (SPEC-sessions 9).

use thiserror::Error;

use super::js;

/// Why a query has no answer. The texts are those of the published service, so they may be compared.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum SessionQueryError {
    /// No log of that id is listed.
    #[error("session \"{id}\" not found")]
    SessionNotFound {
        /// The id asked for.
        id: String,
    },
    /// The session is there and has no event with that sequence number.
    #[error("session \"{id}\" has no event at seq {}", js::number(*seq))]
    EventNotFound {
        /// The session's id.
        id: String,
        /// The sequence number asked for, as given: it may be negative, fractional or not a number.
        seq: f64,
    },
    /// `before` or `after` is not a whole number from 0 to the greatest window.
    #[error("{name} must be an integer between 0 and {max}")]
    InvalidWindow {
        /// The argument's name.
        name: &'static str,
        /// The greatest value allowed.
        max: u32,
    },
    /// A filter has the wrong shape or an impossible value.
    #[error("session {0}")]
    InvalidFilter(String),
    /// The log was read, but its surface markers contradict each other.
    #[error("invalid session surface: {0}")]
    InvalidSurface(String),
    /// The stored log breaks the rules of its format.
    #[error("stored session \"{id}\" is corrupt: {detail}")]
    CorruptSession {
        /// The session's id.
        id: String,
        /// What is wrong with it.
        detail: String,
    },
    /// The root could not be listed: one damaged log can hide all of them (SPEC-sessions 3.4).
    #[error("session persistence listing failed: {0}")]
    ListingFailed(String),
    /// The log could not be read, or is of a format that this reader does not know.
    #[error("failed to {verb} session \"{id}\": {detail}")]
    ReadFailed {
        /// `inspect` for a format 0 log, `read stored` for a later one.
        verb: &'static str,
        /// The session's id.
        id: String,
        /// What went wrong.
        detail: String,
    },
    /// The caller's [`Cancel`](super::Cancel) was set. It has no code: the host answers with the caller's own reason.
    #[error("session query was cancelled")]
    Cancelled,
    /// Another provider's failure (a bridge to a running DSH), passed on with its own code and text.
    #[error("{message}")]
    Foreign {
        /// The code that the provider gave, when it gave one.
        code: Option<String>,
        /// The provider's text.
        message: String,
    },
}

impl SessionQueryError {
    /// The `SESSION_QUERY_*` code; none for a cancelled query and for a foreign failure without one.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::SessionNotFound { .. } => Some("SESSION_QUERY_SESSION_NOT_FOUND"),
            Self::EventNotFound { .. } => Some("SESSION_QUERY_EVENT_NOT_FOUND"),
            Self::InvalidWindow { .. } => Some("SESSION_QUERY_INVALID_WINDOW"),
            Self::InvalidFilter(_) => Some("SESSION_QUERY_INVALID_FILTER"),
            Self::InvalidSurface(_) => Some("SESSION_QUERY_INVALID_SURFACE"),
            Self::CorruptSession { .. } => Some("SESSION_QUERY_CORRUPT_SESSION"),
            Self::ListingFailed(_) | Self::ReadFailed { .. } => {
                Some("SESSION_QUERY_PERSISTENCE_FAILED")
            }
            Self::Cancelled => None,
            Self::Foreign { code, .. } => code.as_deref(),
        }
    }
}
