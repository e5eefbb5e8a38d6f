//! `context_query`: which events of the session match (SPEC 3).

use crate::arguments::{Arguments, not_blank};
use crate::config::MAX_SAFE_INTEGER;
use crate::errors::ToolError;
use crate::output::{self, Budget, MAX_TEXT_BYTES, Matches};
use crate::services::{Document, Filter, Page, PageLimits, Surface};
use crate::text_cut::prefix;
use serde::Serialize;

/// A query that the service can be asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The conditions.
    pub filters: Vec<Filter>,
    /// How much may come back.
    pub limits: PageLimits,
}

/// Reads the arguments. `current_step` is where the step that makes this call began: from there on everything is left out, or every text
/// query would find its own call.
pub fn request(arguments: &Arguments, current_step: Option<u64>) -> Result<Request, ToolError> {
    let mut filters = Vec::new();
    if let Some(text) = arguments.text("text") {
        not_blank(text)?;
        filters.push(Filter::Text(text.to_owned()));
    }
    if let Some(types) = arguments.texts("types")? {
        filters.push(Filter::Types(
            types.into_iter().map(str::to_owned).collect(),
        ));
    }
    if let Some(surfaces) = arguments.texts("surfaces")? {
        let surfaces = surfaces.into_iter().filter_map(Surface::from_name);
        filters.push(Filter::Surfaces(surfaces.collect()));
    }
    let from = arguments.safe_integer("seq_from")?;
    let to = arguments.safe_integer("seq_to")?;
    if let (Some(from), Some(to)) = (from, to)
        && from > to
    {
        return Err(ToolError::ReversedRange);
    }
    if from.is_some() || to.is_some() {
        filters.push(Filter::Seq { from, to });
    }
    Ok(Request {
        filters,
        limits: limits(
            arguments.limit()?,
            Budget::for_matches(None, None).of_page(&Match::longest_frame()),
            current_step,
        ),
    })
}

/// The bounds of a page of at most `limit` matches, whose sizes [`Budget::of_page`] gave.
pub fn limits(
    limit: u32,
    (max_page_bytes, document_bytes): (u32, u32),
    current_step: Option<u64>,
) -> PageLimits {
    PageLimits {
        max_documents: limit,
        max_text_bytes: MAX_TEXT_BYTES as u32,
        max_page_bytes,
        document_bytes,
        centre_on_hit: false,
        before_seq: current_step,
    }
}

/// One match as the model sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Match {
    seq: u64,
    #[serde(rename = "type")]
    event_type: String,
    text: String,
    citation: String,
    #[serde(skip_serializing_if = "output::is_false")]
    truncated: bool,
}

impl Match {
    /// What a match takes at most besides its text and type.
    fn longest_frame() -> Self {
        Match {
            seq: MAX_SAFE_INTEGER,
            event_type: String::new(),
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
            seq: document.seq,
            event_type: output::short_type(&document.event_type).to_owned(),
            citation: output::session_citation(document.seq),
            truncated: (text.len() as u64) < document.text_bytes,
            text: text.to_owned(),
        }
    }
}

/// The answer.
pub fn answer(page: Page) -> Matches<Match> {
    let items = page
        .documents
        .into_iter()
        .map(|document| (document.seq, Match::from(document)));
    output::page(None, None, items, page.next_seq)
}
