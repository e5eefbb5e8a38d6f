//! The event types that the two formats know (SPEC-sessions 4.4). A type outside its format's list makes a log unreadable
//! unless the event is marked ignorable.

use std::collections::HashMap;

const V0: u8 = 1;
const V4: u8 = 2;
const BOTH: u8 = V0 | V4;

/// Sorted by name.
const KNOWN: &[(&str, u8)] = &[
    ("agent-preset/selected", BOTH),
    ("agent/inbox/spliced", BOTH),
    ("approval/asked", BOTH),
    ("approval/decided", BOTH),
    ("approval/policy", BOTH),
    ("assistant/attempt", V4),
    ("assistant/chunk", V0),
    ("assistant/message", BOTH),
    ("command/done", BOTH),
    ("command/run", BOTH),
    ("compaction/end", BOTH),
    ("compaction/prune", BOTH),
    ("compaction/start", BOTH),
    ("compaction/summary", BOTH),
    ("deliverables/presented", V4),
    ("developer/message", V4),
    ("feedback/message-delete", V4),
    ("feedback/message-put", V4),
    ("feedback/record", BOTH),
    ("goal/change", BOTH),
    ("hook/invoked", BOTH),
    ("hook/result", BOTH),
    ("image/offload", V4),
    ("job/registered", V4),
    ("job/settled", V4),
    ("llm/retry", BOTH),
    ("llm/retry-started", BOTH),
    ("model/selection", V4),
    ("permission/preset", BOTH),
    ("plan/mode", BOTH),
    ("request/context", BOTH),
    ("request/header", BOTH),
    ("sandbox/mode", BOTH),
    ("schedule/change", BOTH),
    ("session-log-deepseek/delivery-accepted", V4),
    ("session/end-seed", BOTH),
    ("session/title", BOTH),
    ("session/title-llm-request", BOTH),
    ("step/end", BOTH),
    ("step/start", BOTH),
    ("subagent/catalog", V4),
    ("subagent/descriptor", BOTH),
    ("subagent/model-selection-policy", V4),
    ("system/message", V4),
    ("team/member", BOTH),
    ("team/message/delivered", BOTH),
    ("team/message/queued", BOTH),
    ("team/task", BOTH),
    ("todo/write", BOTH),
    ("tool-workflow/agent-end", BOTH),
    ("tool-workflow/agent-start", BOTH),
    ("tool-workflow/run-end", BOTH),
    ("tool-workflow/run-start", BOTH),
    ("tool/call", BOTH),
    ("tool/code-dispatch", V0),
    ("tool/code-dispatch-start", V0),
    ("tool/ptc-dispatch", V4),
    ("tool/ptc-dispatch-start", V4),
    ("tool/result", BOTH),
    ("turn/end", BOTH),
    ("turn/start", BOTH),
    ("user/message", BOTH),
    ("web/deepseek-search-llm-request", BOTH),
    ("working-directory/change", V4),
    ("workspace/changes", V4),
];

/// A log's format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `session.jsonl`.
    V0,
    /// `session.v4.jsonl`.
    V4,
}

/// An event type: an index into the known ones, or the name of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    Known(u32),
    Other(Box<str>),
}

impl Kind {
    pub fn of(name: &str) -> Self {
        match KNOWN.binary_search_by(|(known, _)| known.cmp(&name)) {
            // The table is far shorter than u32::MAX.
            Ok(index) => Self::Known(index as u32),
            Err(_) => Self::Other(name.into()),
        }
    }

    pub fn name(&self) -> &str {
        match self {
            Self::Known(index) => KNOWN.get(*index as usize).map_or("", |(name, _)| name),
            Self::Other(name) => name,
        }
    }

    pub fn is_known_to(&self, format: Format) -> bool {
        let bit = if format == Format::V0 { V0 } else { V4 };
        matches!(self, Self::Known(index) if KNOWN.get(*index as usize).is_some_and(|(_, formats)| formats & bit != 0))
    }
}

/// The event types of one log, numbered: the known ones first, then the others in order of appearance.
#[derive(Debug, Clone, Default)]
pub struct KindTable {
    others: Vec<Box<str>>,
    by_name: HashMap<Box<str>, u32>,
}

impl KindTable {
    pub fn intern(&mut self, kind: Kind) -> u32 {
        match kind {
            Kind::Known(index) => index,
            Kind::Other(name) => match self.by_name.get(&name) {
                Some(index) => *index,
                None => {
                    let index = (KNOWN.len() + self.others.len()) as u32;
                    self.others.push(name.clone());
                    self.by_name.insert(name, index);
                    index
                }
            },
        }
    }

    pub fn name(&self, index: u32) -> &str {
        let index = index as usize;
        match KNOWN.get(index) {
            Some((name, _)) => name,
            None => self.others.get(index - KNOWN.len()).map_or("", |name| name),
        }
    }

    /// The number of a type that this log may hold.
    pub fn find(&self, name: &str) -> Option<u32> {
        match Kind::of(name) {
            Kind::Known(index) => Some(index),
            Kind::Other(name) => self.by_name.get(&name).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_has_the_published_numbers() {
        assert!(KNOWN.is_sorted_by(|a, b| a.0 < b.0));
        let count = |bit: u8| {
            KNOWN
                .iter()
                .filter(|(_, formats)| formats & bit != 0)
                .count()
        };
        assert_eq!((count(V0), count(V4)), (48, 62));
    }

    #[test]
    fn interned_names_come_back() {
        let mut table = KindTable::default();
        let known = table.intern(Kind::of("turn/end"));
        let other = table.intern(Kind::of("future/thing"));
        assert_eq!(table.intern(Kind::of("future/thing")), other);
        assert_eq!(
            (table.name(known), table.name(other)),
            ("turn/end", "future/thing")
        );
        assert_eq!(
            (table.find("future/thing"), table.find("nope")),
            (Some(other), None)
        );
        assert!(
            Kind::of("system/message").is_known_to(Format::V4)
                && !Kind::of("system/message").is_known_to(Format::V0)
        );
        assert!(!Kind::of("future/thing").is_known_to(Format::V4));
    }
}
