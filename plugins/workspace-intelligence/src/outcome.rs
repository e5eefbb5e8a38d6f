//! How the answers of all servers become one outcome, and the errors that a call can end with (SPEC 15).

use crate::failure::{ProviderFailure, one_line};
use crate::render::ProviderCounts;
use crate::symbol::Symbol;
use dsh_guest_support::args::{self, InvalidArgs};
use dsh_guest_support::utf16;

/// How many failing servers an error names.
const NAMED_FAILURES: usize = 3;
/// How much of each reason it tells, in UTF-16 code units.
const REASON_UNITS: usize = 200;
/// What the harness puts before a message, in UTF-16 code units.
const ERROR_PREFIX_UNITS: usize = "Error: ".len();

/// What one server contributed to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It answered.
    Symbols {
        /// In the server's order.
        symbols: Vec<Symbol>,
        /// Whether this call started the process.
        started: bool,
        /// Whether the server was still reporting progress.
        indexing: bool,
    },
    /// It does not offer `workspace/symbol`.
    Unsupported,
    /// It failed.
    Failed(ProviderFailure),
}

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The arguments do not fit the schema.
    #[error(transparent)]
    InvalidArgs(#[from] InvalidArgs),
    /// The query cannot be searched for.
    #[error("{0}")]
    InvalidQuery(&'static str),
    /// The caller has no working directory.
    #[error("workspace_symbol needs a session with a working directory")]
    WorkspaceRequired,
    /// The caller's working directory is none.
    #[error("workspace {path}: {reason}")]
    WorkspaceInvalid {
        /// As the session names it.
        path: String,
        /// Why it cannot be used.
        reason: String,
    },
    /// No server offers `workspace/symbol`.
    #[error("no configured language server supports workspace/symbol")]
    Unsupported,
    /// No server answered, and at least one failed.
    #[error(
        "workspace symbol search failed: {failed} failed, {unsupported} unsupported; {reasons}"
    )]
    ProviderFailed {
        /// How many failed.
        failed: usize,
        /// How many do not offer the request.
        unsupported: usize,
        /// Of the first few: id and reason.
        reasons: String,
    },
    /// The plugin is being unmounted.
    #[error("the workspace-intelligence plugin is being unloaded")]
    Disposed,
}

impl CallError {
    /// `error.info.code`.
    pub fn code(&self) -> &'static str {
        match self {
            CallError::InvalidArgs(_) => args::CODE,
            CallError::InvalidQuery(_) => "WORKSPACE_SYMBOL_INVALID_QUERY",
            CallError::WorkspaceRequired => "WORKSPACE_SYMBOL_WORKSPACE_REQUIRED",
            CallError::WorkspaceInvalid { .. } => "WORKSPACE_SYMBOL_WORKSPACE_INVALID",
            CallError::Unsupported => "WORKSPACE_SYMBOL_UNSUPPORTED",
            CallError::ProviderFailed { .. } => "WORKSPACE_SYMBOL_PROVIDER_FAILED",
            CallError::Disposed => "WORKSPACE_SYMBOL_DISPOSED",
        }
    }

    /// `error.info.name`.
    pub fn name(&self) -> &'static str {
        match self {
            CallError::InvalidArgs(_) => args::NAME,
            _ => "WorkspaceSymbolError",
        }
    }

    /// The message, short enough that the model reads at most `max_chars` UTF-16 code units.
    pub fn message(&self, max_chars: usize) -> String {
        cut(
            self.to_string(),
            max_chars.saturating_sub(ERROR_PREFIX_UNITS),
        )
    }
}

/// How a call ends without an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallEnd {
    /// It failed.
    Failed(CallError),
    /// Its signal was set; the host knows why.
    Aborted,
}

impl<E: Into<CallError>> From<E> for CallEnd {
    fn from(error: E) -> Self {
        CallEnd::Failed(error.into())
    }
}

/// One success makes the call a success; failures and servers without support are then only counted.
pub fn fold(answers: Vec<(&str, Answer)>) -> Result<(Vec<Vec<Symbol>>, ProviderCounts), CallError> {
    let mut counts = ProviderCounts::default();
    let mut lists = Vec::new();
    let mut reasons = Vec::new();
    for (id, answer) in answers {
        match answer {
            Answer::Symbols {
                symbols,
                started,
                indexing,
            } => {
                counts.succeeded += 1;
                counts.started += usize::from(started);
                counts.indexing += usize::from(indexing);
                lists.push(symbols);
            }
            Answer::Unsupported => counts.unsupported += 1,
            Answer::Failed(failure) => {
                counts.failed += 1;
                if reasons.len() < NAMED_FAILURES {
                    let id = one_line(id);
                    reasons.push(format!("{id}: {}", cut(failure.brief(), REASON_UNITS)));
                }
            }
        }
    }
    let ProviderCounts {
        succeeded,
        failed,
        unsupported,
        ..
    } = counts;
    if succeeded > 0 {
        Ok((lists, counts))
    } else if failed > 0 {
        Err(CallError::ProviderFailed {
            failed,
            unsupported,
            reasons: reasons.join("; "),
        })
    } else {
        Err(CallError::Unsupported)
    }
}

/// At most `units` UTF-16 code units of a text, in whole characters.
fn cut(mut text: String, units: usize) -> String {
    text.truncate(utf16::cut(&text, units).bytes);
    text
}
