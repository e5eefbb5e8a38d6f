//! `context_grep` without a spill file: a literal scan of the session's texts (SPEC 5.3).

use crate::arguments::not_blank;
use crate::config::MAX_SAFE_INTEGER;
use crate::errors::ToolError;
use crate::output::{self, Budget, MAX_TEXT_BYTES, Matches};
use crate::query::{Request, limits};
use crate::services::{Document, Filter, Page, PageLimits};
use crate::text_cut::prefix;
use serde::Serialize;

const SOURCE: Option<&str> = Some("session");

/// What the model is told when the spill file that it named is gone.
pub const VANISHED_NOTE: &str = "spill path not available; literal session scan used";

/// The query behind a session scan.
pub fn request(pattern: &str, limit: u32, current_step: Option<u64>) -> Result<Request, ToolError> {
    not_blank(pattern)?;
    Ok(Request {
        filters: vec![Filter::Text(pattern.to_owned())],
        limits: PageLimits {
            centre_on_hit: true,
            ..limits(
                limit,
                Budget::for_matches(SOURCE, Some(VANISHED_NOTE)).of_page(&Match::longest_frame()),
                current_step,
            )
        },
    })
}

/// One match of `context_grep`, whatever was searched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Match {
    /// The line or event text, or an excerpt of it.
    pub text: String,
    /// Where it stands.
    pub citation: String,
    /// Whether `text` is only a part.
    #[serde(skip_serializing_if = "output::is_false")]
    pub truncated: bool,
}

impl Match {
    /// What a match takes at most besides its text.
    fn longest_frame() -> Self {
        Match {
            text: String::new(),
            citation: output::session_citation(MAX_SAFE_INTEGER),
            truncated: true,
        }
    }
}

impl From<Document> for Match {
    fn from(document: Document) -> Self {
        let text = prefix(&document.text, MAX_TEXT_BYTES);
        Match {
            citation: output::session_citation(document.seq),
            truncated: (text.len() as u64) < document.text_bytes,
            text: text.to_owned(),
        }
    }
}

/// The answer; `vanished` when a spill file was named that is gone.
pub fn answer(page: Page, vanished: bool) -> Matches<Match> {
    let items = page
        .documents
        .into_iter()
        .map(|document| (document.seq, Match::from(document)));
    output::page(
        SOURCE,
        vanished.then_some(VANISHED_NOTE),
        items,
        page.next_seq,
    )
}
