//! What the tools answer when they fail: codes for programs, sentences for the model (SPEC 6).

use crate::arguments::MAX_LIMIT;
use crate::config::MAX_WINDOW;
use crate::grep_spill::{MAX_PATTERN_BYTES, SearchFailure};
use dsh_guest_support::args::{self, InvalidArgs};

/// An error as it crosses the contract: what the model reads and what programs switch on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failure {
    /// Class name, if any.
    pub name: Option<String>,
    /// Stable code, if any.
    pub code: Option<String>,
    /// Text without the leading `Error: `.
    pub message: String,
}

/// Why a call did not settle with an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum CallError {
    /// The tool failed.
    Failed(ToolError),
    /// The call's signal ended it. The host holds the reason and reports it.
    Aborted,
}

impl From<ToolError> for CallError {
    fn from(error: ToolError) -> Self {
        CallError::Failed(error)
    }
}

/// A failure of a tool. Its text is what the model reads after `Error: `.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ToolError {
    /// No tool of this plugin has that name.
    #[error("unknown tool \"{0}\"")]
    UnknownTool(String),
    /// The arguments do not satisfy the schema.
    #[error("{0}")]
    InvalidArgs(InvalidArgs),
    /// There is no session query service.
    #[error("session query backend unavailable")]
    NoSessionQuery,
    /// A spill file is there, but no subprocess service.
    #[error("subprocess backend unavailable")]
    NoSubprocess,
    /// The call comes from outside any agent.
    #[error("context tools require an agent-bound session")]
    NoSession,
    /// A number is negative or beyond 2^53 - 1.
    #[error("{name} must be a non-negative safe integer")]
    UnsafeInteger {
        /// The argument.
        name: &'static str,
    },
    /// A list was given without a value.
    #[error("{name} must contain at least one value when supplied")]
    EmptyList {
        /// The argument.
        name: &'static str,
    },
    /// `seq_from` is greater than `seq_to`.
    #[error("session seq filter from must be less than or equal to to")]
    ReversedRange,
    /// The session scan was asked for white space alone.
    #[error("session text filter must contain non-whitespace text")]
    BlankText,
    /// `limit` is out of range.
    #[error("limit must be an integer between 1 and {MAX_LIMIT}")]
    Limit,
    /// `before` or `after` is out of range.
    #[error("{name} must be an integer between 0 and {MAX_WINDOW}")]
    Window {
        /// The argument.
        name: &'static str,
    },
    /// `pattern` is empty.
    #[error("pattern must be a non-empty string")]
    EmptyPattern,
    /// `pattern` holds U+0000, which no program argument can.
    #[error("pattern must not contain a NUL character")]
    NulInPattern,
    /// `pattern` is longer than a program argument may be.
    #[error("pattern must be at most {MAX_PATTERN_BYTES} bytes long")]
    LongPattern,
    /// `path` cannot be the path of a spill file.
    #[error("path must be an absolute spill path")]
    InvalidPath,
    /// The host does not let this session read that path.
    #[error("path is not a spill file of this session")]
    PathDenied,
    /// ripgrep did not answer.
    #[error("{0}")]
    Search(SearchFailure),
    /// The session query service refused or failed.
    #[error("{}", .0.sentence)]
    Service(ServiceError),
}

impl ToolError {
    /// Class name for `error.info.name`.
    pub fn name(&self) -> &'static str {
        match self {
            ToolError::InvalidArgs(_) => args::NAME,
            ToolError::UnsafeInteger { .. }
            | ToolError::EmptyList { .. }
            | ToolError::ReversedRange
            | ToolError::BlankText
            | ToolError::Window { .. }
            | ToolError::Service(_) => "SessionQueryError",
            _ => "ContextProxyError",
        }
    }

    /// Code for `error.info.code`.
    pub fn code(&self) -> &'static str {
        match self {
            ToolError::UnknownTool(_) => "UNKNOWN_TOOL",
            ToolError::InvalidArgs(_) => args::CODE,
            ToolError::NoSessionQuery | ToolError::NoSubprocess => {
                "CONTEXT_PROXY_BACKEND_UNAVAILABLE"
            }
            ToolError::NoSession => "CONTEXT_PROXY_NO_SESSION",
            ToolError::UnsafeInteger { .. }
            | ToolError::EmptyList { .. }
            | ToolError::ReversedRange
            | ToolError::BlankText => "SESSION_QUERY_INVALID_FILTER",
            ToolError::Limit => "CONTEXT_PROXY_INVALID_LIMIT",
            ToolError::Window { .. } => "SESSION_QUERY_INVALID_WINDOW",
            ToolError::EmptyPattern | ToolError::NulInPattern | ToolError::LongPattern => {
                "CONTEXT_PROXY_INVALID_PATTERN"
            }
            ToolError::InvalidPath => "CONTEXT_PROXY_INVALID_PATH",
            ToolError::PathDenied => "CONTEXT_PROXY_PATH_DENIED",
            ToolError::Search(failure) => failure.code(),
            ToolError::Service(error) => error.code,
        }
    }

    /// What the host's log should keep of it, where the model is told less than is known.
    pub fn detail(&self) -> Option<&str> {
        match self {
            ToolError::Service(error) => Some(&error.detail),
            ToolError::Search(failure) => failure.detail(),
            _ => None,
        }
    }
}

impl From<&ToolError> for Failure {
    fn from(error: &ToolError) -> Self {
        Failure {
            name: Some(error.name().to_owned()),
            code: Some(error.code().to_owned()),
            message: error.to_string(),
        }
    }
}

/// A failure of the session query service in words that are safe to show: details may name files, so they only go to the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceError {
    /// The code that the model's side sees.
    pub code: &'static str,
    /// The fixed sentence.
    pub sentence: &'static str,
    /// The service's own code and message.
    pub detail: String,
}

/// Codes that pass through, each with its sentence (SPEC 6.4).
const SENTENCES: &[(&str, &str)] = &[
    ("SESSION_QUERY_ABORTED", "session query was cancelled"),
    (
        "SESSION_QUERY_CORRUPT_SESSION",
        "session event history is corrupt",
    ),
    (
        "SESSION_QUERY_EVENT_NOT_FOUND",
        "session event was not found",
    ),
    (
        "SESSION_QUERY_INVALID_FILTER",
        "session query filters were rejected",
    ),
    (
        "SESSION_QUERY_INVALID_SURFACE",
        "session event history is invalid",
    ),
    (
        "SESSION_QUERY_INVALID_WINDOW",
        "session event window is invalid",
    ),
    (
        "SESSION_QUERY_PERSISTENCE_FAILED",
        "session history storage is unavailable",
    ),
    ("SESSION_QUERY_SESSION_NOT_FOUND", "session was not found"),
];

impl From<Failure> for ToolError {
    /// Translates what the session query service answered.
    fn from(failure: Failure) -> Self {
        let given = failure.code.as_deref().unwrap_or_default();
        if given == "BACKEND_UNAVAILABLE" {
            return ToolError::NoSessionQuery;
        }
        let (code, sentence) = SENTENCES
            .iter()
            .copied()
            .find(|(code, _)| *code == given)
            .unwrap_or((
                "SESSION_QUERY_TOOL_FAILED",
                "session query operation failed",
            ));
        ToolError::Service(ServiceError {
            code,
            sentence,
            detail: format!("{given}: {}", failure.message),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(code: Option<&str>) -> (String, &'static str) {
        let error = ToolError::from(Failure {
            name: None,
            code: code.map(str::to_owned),
            message: "/secret/path is broken".to_owned(),
        });
        (error.to_string(), error.code())
    }

    #[test]
    fn known_codes_pass_with_a_fixed_sentence_and_no_detail() {
        for (code, sentence) in SENTENCES {
            assert_eq!(translated(Some(code)), ((*sentence).to_owned(), *code));
        }
    }

    #[test]
    fn everything_else_is_one_code_and_one_sentence() {
        for code in [
            None,
            Some("SESSION_QUERY_SOURCE_CONFLICT"),
            Some("SESSION_QUERY_INVALID_CONFIG"),
            Some("EIO"),
        ] {
            assert_eq!(
                translated(code),
                (
                    "session query operation failed".to_owned(),
                    "SESSION_QUERY_TOOL_FAILED"
                )
            );
        }
    }

    #[test]
    fn the_detail_is_kept_for_the_log() {
        let error = ToolError::from(Failure {
            name: None,
            code: Some("SESSION_QUERY_CORRUPT_SESSION".to_owned()),
            message: "stored session \"a\" is corrupt".to_owned(),
        });
        assert_eq!(
            error.detail(),
            Some("SESSION_QUERY_CORRUPT_SESSION: stored session \"a\" is corrupt")
        );
    }

    #[test]
    fn a_service_that_went_away_reads_like_one_that_was_never_there() {
        let (text, code) = translated(Some("BACKEND_UNAVAILABLE"));
        assert_eq!(
            (text.as_str(), code),
            (
                "session query backend unavailable",
                "CONTEXT_PROXY_BACKEND_UNAVAILABLE"
            )
        );
    }
}
