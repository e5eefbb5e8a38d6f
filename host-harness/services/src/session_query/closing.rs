//! The events that close an interrupted log. They are in no file: their lines are made, and read like any other.

use super::decode::{self, Body, Context};
use super::kinds::{Format, KindTable};
use super::record::Record;
use super::types::Surface;

/// The closing events of a log; none when its last turn is closed.
#[derive(Debug, Default)]
pub struct Closing {
    pub events: Vec<Closer>,
}

/// One closing event.
#[derive(Debug)]
pub struct Closer {
    pub line: String,
    pub text: String,
    pub record: Record,
    pub surface: Surface,
}

impl Closing {
    /// Reads the made lines.
    pub fn new(
        lines: Vec<String>,
        format: Format,
        session_id: &str,
        kinds: &mut KindTable,
    ) -> Self {
        let context = Context { format, session_id };
        let mut events = Vec::with_capacity(lines.len());
        for line in lines {
            let batch = decode::lines(format!("{line}\n").as_bytes(), 0, context);
            let Some(Body::Event(event)) =
                batch.lines.into_iter().next().map(|decoded| decoded.body)
            else {
                continue;
            };
            let surface = if event.kind.name() == "tool/result" {
                Surface::Current
            } else {
                Surface::LogOnly
            };
            let record = Record {
                time: event.time,
                line_start: 0,
                line_len: 0,
                member: Record::WHOLE,
                text_piece: 0,
                text_start: 0,
                text_len: batch.text.len() as u32,
                kind: kinds.intern(event.kind),
            };
            events.push(Closer {
                line,
                text: batch.text,
                record,
                surface,
            });
        }
        Self { events }
    }
}
