//! `context_slice`: one event whole, with its neighbours (SPEC 4).

use crate::arguments::Arguments;
use crate::errors::ToolError;
use crate::output::{self, MAX_ANSWER_BYTES, MAX_TEXT_BYTES};
use crate::services::{RawEvent, Window};
use crate::text_cut::prefix;
use dsh_guest_support::js_json;
use serde::Serialize;
use serde_json::Value;

/// What neighbours and frame may always take, however long the target is.
const MIN_REST_BYTES: usize = 24_000;
/// More than the answer takes without its items.
const FRAME_BYTES: usize = 128;
/// The one event type whose data is not shown: the model's own request, with every tool schema in it.
const HIDDEN_DATA_TYPE: &str = "request/header";

/// Which window is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The target.
    pub seq: u64,
    /// Raw events before it, at most 50.
    pub before: u32,
    /// Raw events after it, at most 50.
    pub after: u32,
}

/// Reads the arguments; `default` stands for `before` and `after` when they are not given.
pub fn request(arguments: &Arguments, default: u32) -> Result<Request, ToolError> {
    // The schema requires `seq`, so it is there.
    let seq = arguments.safe_integer("seq")?.unwrap_or_default();
    Ok(Request {
        seq,
        before: arguments.window("before", default)?,
        after: arguments.window("after", default)?,
    })
}

#[derive(Serialize)]
struct Answer<'a> {
    seq: u64,
    #[serde(rename = "startSeq")]
    start_seq: u64,
    #[serde(rename = "endSeq")]
    end_seq: u64,
    items: Vec<Item<'a>>,
}

#[derive(Serialize)]
struct Item<'a> {
    seq: u64,
    #[serde(rename = "type")]
    event_type: &'a str,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
    citation: String,
    #[serde(skip_serializing_if = "output::is_false")]
    truncated: bool,
}

/// The answer as JSON text.
///
/// The target is never cut. Its neighbours share what it leaves of the answer's size: their texts are cut at 2,000 bytes, and all at the
/// same shorter length where that is too much.
pub fn answer(window: &Window) -> String {
    let target = window
        .events
        .iter()
        .find(|event| event.seq == window.target);
    let mut target = target.map(target_item);
    let taken = target
        .as_ref()
        .map_or(0, |item| js_json::stringify(item).len());
    let room = MAX_ANSWER_BYTES
        .saturating_sub(taken + FRAME_BYTES)
        .max(MIN_REST_BYTES);
    let cut = neighbour_cut(window, room);
    let items = window.events.iter().filter_map(|event| {
        if event.seq == window.target {
            target.take()
        } else {
            Some(neighbour_item(event, cut))
        }
    });
    js_json::stringify(&Answer {
        seq: window.target,
        start_seq: window.start_seq,
        end_seq: window.end_seq,
        items: items.collect(),
    })
}

/// The longest cut, at most 2,000 bytes, with which the neighbours take no more than `room` bytes.
fn neighbour_cut(window: &Window, room: usize) -> usize {
    let fits = |cut: &usize| {
        let neighbours = window
            .events
            .iter()
            .filter(|event| event.seq != window.target);
        let size: usize = neighbours
            .map(|event| js_json::stringify(&neighbour_item(event, *cut)).len() + 1)
            .sum();
        size <= room
    };
    if fits(&MAX_TEXT_BYTES) {
        return MAX_TEXT_BYTES;
    }
    // Longer cuts take more room, so the longest that fits is found by halving.
    let (mut low, mut high) = (0, MAX_TEXT_BYTES);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if fits(&middle) {
            low = middle
        } else {
            high = middle
        }
    }
    low
}

fn target_item(event: &RawEvent) -> Item<'_> {
    let data = event
        .data
        .as_deref()
        .filter(|_| event.text.is_empty() && event.event_type != HIDDEN_DATA_TYPE)
        .and_then(|data| js_json::parse(data.as_bytes()).ok());
    Item {
        seq: event.seq,
        event_type: &event.event_type,
        text: &event.text,
        data,
        citation: output::session_citation(event.seq),
        truncated: event.text_cut,
    }
}

fn neighbour_item(event: &RawEvent, max_bytes: usize) -> Item<'_> {
    let text = prefix(&event.text, max_bytes);
    Item {
        seq: event.seq,
        event_type: output::short_type(&event.event_type),
        text,
        data: None,
        citation: output::session_citation(event.seq),
        truncated: event.text_cut || text.len() < event.text.len(),
    }
}
