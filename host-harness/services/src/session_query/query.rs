//! Running a query over a log in memory.

use std::collections::HashSet;
use std::ops::Range;

use rayon::prelude::*;

use super::cancel::Cancel;
use super::error::SessionQueryError;
use super::filter::{Bounds, EventFilter};
use super::log::Log;
use super::matcher::Matcher;
use super::record::Record;
use super::types::{Document, EventRecord, Page, PageBuilder, PageLimits, Surface};

/// How many events are tried before the next look at the cancel flag and the page's limit.
const STRIDE: usize = 16 * 1024;

/// Below this many bytes of text a second thread costs more than it saves.
const PARALLEL_BYTES: usize = 1 << 20;

/// The conditions of a query, ready to be tried.
pub struct Plan {
    seqs: Vec<Bounds>,
    times: Vec<Bounds>,
    kinds: Vec<HashSet<u32>>,
    surfaces: Vec<Vec<Surface>>,
    texts: Vec<Matcher>,
}

impl Plan {
    /// Prepares conditions for a log.
    ///
    /// # Errors
    /// [`SessionQueryError::InvalidFilter`] for a text that cannot be searched.
    pub fn new(filters: &[EventFilter], log: &Log) -> Result<Self, SessionQueryError> {
        let mut plan = Self {
            seqs: Vec::new(),
            times: Vec::new(),
            kinds: Vec::new(),
            surfaces: Vec::new(),
            texts: Vec::new(),
        };
        for filter in filters {
            match filter {
                EventFilter::Seq(bounds) => plan.seqs.push(*bounds),
                EventFilter::Time(bounds) => plan.times.push(*bounds),
                EventFilter::Types(names) => {
                    plan.kinds.push(
                        names
                            .iter()
                            .filter_map(|name| log.kinds.find(name))
                            .collect(),
                    );
                }
                EventFilter::Surfaces(surfaces) => plan.surfaces.push(surfaces.clone()),
                EventFilter::Text(text) => plan.texts.push(Matcher::new(text)?),
            }
        }
        Ok(plan)
    }

    /// The events that the conditions on sequence numbers leave.
    fn range(&self, len: usize, before_seq: Option<u64>) -> Range<usize> {
        let end = before_seq.map_or(len, |before| {
            len.min(usize::try_from(before).unwrap_or(usize::MAX))
        });
        let mut range = 0..end;
        for bounds in &self.seqs {
            // A float cast saturates, so bounds of any size are safe.
            if let Some(from) = bounds.from {
                range.start = range.start.max(from.ceil() as usize);
            }
            if let Some(to) = bounds.to {
                let to = if to < 0.0 {
                    0
                } else {
                    (to.floor() as usize).saturating_add(1)
                };
                range.end = range.end.min(to);
            }
        }
        range.start.min(range.end)..range.end
    }

    fn matches(&self, log: &Log, seq: usize) -> bool {
        let Some((record, _)) = log.event(seq) else {
            return false;
        };
        record.text_len > 0
            && self
                .times
                .iter()
                .all(|bounds| bounds.contains(record.time as f64))
            && self.kinds.iter().all(|kinds| kinds.contains(&record.kind))
            && self
                .surfaces
                .iter()
                .all(|surfaces| surfaces.contains(&log.surface(seq)))
            && self.texts.iter().all(|text| text.is_match(log.text(seq)))
    }
}

/// One event without its content.
pub fn event_record(log: &Log, seq: usize, record: &Record) -> EventRecord {
    EventRecord {
        seq: seq as u64,
        event_type: log.kinds.name(record.kind).to_owned(),
        time: record.time,
        surface: log.surface(seq),
    }
}

/// Runs a query.
///
/// # Errors
/// [`SessionQueryError::Cancelled`].
pub fn run(
    log: &Log,
    plan: &Plan,
    limits: &PageLimits,
    cancel: &Cancel,
) -> Result<Page, SessionQueryError> {
    let range = plan.range(log.len(), limits.before_seq);
    let mut page = PageBuilder::new(limits);
    for start in range.clone().step_by(STRIDE) {
        cancel.check()?;
        for seq in matching(log, plan, start..range.end.min(start + STRIDE)) {
            if let Some((record, _)) = log.event(seq)
                && !page.take_in(document(log, plan, seq, &record, limits))
            {
                return Ok(page.finish());
            }
        }
    }
    Ok(page.finish())
}

fn matching(log: &Log, plan: &Plan, stride: Range<usize>) -> Vec<usize> {
    let bytes: usize = stride
        .clone()
        .filter_map(|seq| log.event(seq))
        .map(|(record, _)| record.text_len as usize)
        .sum();
    if plan.texts.is_empty() || bytes < PARALLEL_BYTES {
        stride.filter(|seq| plan.matches(log, *seq)).collect()
    } else {
        stride
            .into_par_iter()
            .with_min_len(256)
            .filter(|seq| plan.matches(log, *seq))
            .collect()
    }
}

fn document(log: &Log, plan: &Plan, seq: usize, record: &Record, limits: &PageLimits) -> Document {
    let text = log.text(seq);
    let hit = if limits.centre_on_hit && text.len() > limits.max_text_bytes {
        plan.texts.first().and_then(|matcher| matcher.find(text))
    } else {
        None
    };
    let cut = excerpt(text, hit, limits.max_text_bytes);
    Document {
        record: event_record(log, seq, record),
        text: text.get(cut.clone()).unwrap_or_default().to_owned(),
        text_bytes: text.len() as u64,
        text_start: cut.start as u64,
    }
}

/// The part of a text to show: at most `max` bytes on character boundaries, from the start, or around a hit so that as much
/// stands before it as after it.
pub fn excerpt(text: &str, hit: Option<Range<usize>>, max: usize) -> Range<usize> {
    if text.len() <= max {
        return 0..text.len();
    }
    let start = hit.map_or(0, |hit| {
        let room = max.saturating_sub(hit.len());
        hit.start.saturating_sub(room / 2).min(text.len() - max)
    });
    let start = text.ceil_char_boundary(start);
    let end = text.floor_char_boundary(start.saturating_add(max).min(text.len()));
    start..end.max(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_stay_whole_characters_and_hold_the_hit() {
        let text = format!("{}needle{}", "é".repeat(50), "x".repeat(50));
        let hit = 100..106;
        for max in 0..text.len() + 2 {
            let cut = excerpt(&text, Some(hit.clone()), max);
            assert!(
                text.get(cut.clone()).is_some() && cut.len() <= max.min(text.len()),
                "{max}"
            );
            if max >= 8 {
                assert!(
                    cut.start <= hit.start && cut.end >= hit.end,
                    "{max}: {cut:?}"
                );
            }
            let from_start = excerpt(&text, None, max);
            assert!(
                from_start.start == 0 && from_start.len() + 1 >= max.min(text.len()),
                "{max}"
            );
        }
        // A hit at either end leaves no room unused.
        assert_eq!(excerpt("needlexxxx", Some(0..6), 8), 0..8);
        assert_eq!(excerpt("xxxxneedle", Some(4..10), 8), 2..10);
        assert_eq!(excerpt("", None, 0), 0..0);
    }
}
