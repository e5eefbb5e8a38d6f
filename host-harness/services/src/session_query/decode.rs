//! One line of a log, examined on its own: its event, its text, and what is wrong with it.
//!
//! Nothing here depends on the lines before, so the lines of a large log are decoded on several threads. What does depend on
//! them is in [`fold`](super::fold).

use std::borrow::Cow;
use std::ops::Range;

use serde_json::value::RawValue;

use super::examine::Examiner;
use super::fingerprint::Fingerprint;
use super::js::is_safe_integer;
use super::kinds::{Format, Kind};
use super::mark::{self, Sources, SurfaceOp};
use super::packed::{ChunkKind, Members, members};
use super::repair;
use super::row::{self, Line, Row};

/// What the decoder must know of the log.
#[derive(Debug, Clone, Copy)]
pub struct Context<'c> {
    pub format: Format,
    pub session_id: &'c str,
}

/// Decoded lines and their texts.
#[derive(Debug, Default)]
pub struct Batch {
    pub lines: Vec<Decoded>,
    pub text: String,
}

/// A decoded line: where it lies in the plain text, without its line feed, and what it holds.
#[derive(Debug)]
pub struct Decoded {
    pub start: u64,
    pub len: u32,
    pub body: Body,
}

/// What a line holds.
#[derive(Debug)]
pub enum Body {
    /// Nothing that parses, or a malformed packed row.
    Unparsable,
    /// JSON that is no object.
    NotObject { null: bool },
    /// An event.
    Event(Event),
    /// A packed row.
    Packed(Members),
}

/// An event without its content.
#[derive(Debug)]
pub struct Event {
    pub kind: Kind,
    /// The number it claims; none when that is no number.
    pub seq: Option<f64>,
    pub time: i64,
    pub ignorable: bool,
    /// Where its text lies in [`Batch::text`].
    pub text: Range<usize>,
    pub fact: Fact,
    pub op: SurfaceOp,
    pub sources: Sources,
    pub faults: Vec<Fault>,
}

/// What later lines, or the closing of an interrupted log, need of an event.
#[derive(Debug, PartialEq)]
pub enum Fact {
    Nothing,
    TurnStart {
        turn: Box<str>,
    },
    TurnEnd,
    StepStart {
        step: Box<str>,
    },
    StepEnd,
    Answer {
        step: Box<str>,
        calls: Vec<Box<str>>,
    },
    Call {
        id: Box<str>,
    },
    Result {
        call: Box<str>,
        fingerprint: Fingerprint,
        upgraded: bool,
    },
    EndOfSeed {
        inherited: bool,
    },
}

/// Something wrong with an event.
#[derive(Debug, PartialEq)]
pub struct Fault {
    pub stage: Stage,
    pub text: String,
}

/// The engines check a log in several passes; a fault of an earlier pass hides those of later ones (SPEC-sessions 4.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Found in every line that parses, whatever happened before: the log is corrupt even if the line would be dropped.
    Admission,
    /// The line is no event; at the end of a log it is dropped. Format 4 only.
    Row,
    /// Checked over all events before unknown types.
    Early,
    /// An unknown type.
    Unknown,
    /// Checked over all events at the end.
    Late,
}

/// Decodes a run of complete lines that begins at the offset `start` of the plain text.
pub fn lines(bytes: &[u8], start: u64, context: Context<'_>) -> Batch {
    let mut batch = Batch::default();
    let mut at = 0;
    for end in memchr::memchr_iter(b'\n', bytes) {
        line(&bytes[at..end], start + at as u64, context, &mut batch);
        at = end + 1;
    }
    batch
}

/// The text of a line as every later reader sees it: valid UTF-8, without lone surrogates.
pub fn line_text(bytes: &[u8]) -> Cow<'_, str> {
    // The lossy conversion looks at every byte; this test is many times faster and nearly always enough.
    let text =
        std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed);
    if !repair::may_have_surrogates(&text) {
        return text;
    }
    match repair::lone_surrogates(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(repaired) => Cow::Owned(repaired),
    }
}

fn line(bytes: &[u8], start: u64, context: Context<'_>, batch: &mut Batch) {
    let text = line_text(bytes);
    let body = match row::parse(&text) {
        Line::Unparsable => Body::Unparsable,
        Line::NotObject { null } => Body::NotObject { null },
        Line::Row(row) => body(&row, context, &mut batch.text),
    };
    let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    batch.lines.push(Decoded { start, len, body });
}

fn body(row: &Row<'_>, context: Context<'_>, out: &mut String) -> Body {
    let name = row::string(row.kind);
    if context.format == Format::V0
        && let Some(kind) = name.as_deref().and_then(ChunkKind::of)
    {
        return members(row, kind).map_or(Body::Unparsable, Body::Packed);
    }
    // JavaScript prints a missing type as `undefined`, and no known type is called so.
    let name = name.unwrap_or_else(|| Cow::Borrowed(row.kind.map_or("undefined", RawValue::get)));
    let seq = row::number(row.seq);
    let whole_seq = seq
        .filter(|seq| is_safe_integer(*seq) && *seq >= 0.0)
        .unwrap_or_default() as u64;
    let mut event = Event {
        kind: Kind::of(&name),
        seq,
        time: 0,
        ignorable: row::is_true(row.ignorable),
        text: out.len()..out.len(),
        fact: Fact::Nothing,
        op: mark::surface_op(row.surface_op, context.format),
        sources: mark::sources(row.sources, context.format, whole_seq),
        faults: Vec::new(),
    };
    envelope(row, context.format, &mut event);
    if let Some(data) = row.data {
        let mut examiner = Examiner {
            context,
            seq: whole_seq,
            event: &mut event,
            out,
        };
        examiner.event(&name, data.get());
    } else if context.format == Format::V4
        && matches!(&*name, "tool/result" | "request/header" | "system/message")
    {
        event.fault(Stage::Admission, format!("format v4 {name} requires data"));
    }
    event.text.end = out.len();
    if !event.kind.is_known_to(context.format) && !event.ignorable {
        let seq = row.seq.map_or("undefined", RawValue::get);
        let text = format!(
            "session \"{}\" contains event type \"{}\" (seq {seq}) unknown to this harness and not marked ignorable; \
             refusing to interpret the log — it was likely written by a newer harness",
            context.session_id,
            event.kind.name(),
        );
        event.fault(Stage::Unknown, text);
    }
    Body::Event(event)
}

impl Event {
    /// Notes a fault.
    pub fn fault(&mut self, stage: Stage, text: impl Into<String>) {
        self.faults.push(Fault {
            stage,
            text: text.into(),
        });
    }
}

fn envelope(row: &Row<'_>, format: Format, event: &mut Event) {
    let stage = if format == Format::V4 {
        Stage::Row
    } else {
        Stage::Late
    };
    let time = row::number(row.time).filter(|time| is_safe_integer(*time));
    event.time = time.unwrap_or_default() as i64;
    let packed_only = row.seq0.map(|_| "seq0").or(row.time0.map(|_| "time0"));
    let problem = if let Some(name) = row.unexpected.as_deref().or(packed_only) {
        format!("has unexpected field {name}")
    } else if row.kind.is_some_and(|kind| !kind.get().starts_with('"')) || row.kind.is_none() {
        "type must be a string".to_owned()
    } else if row.data.is_none() {
        "lacks required field data".to_owned()
    } else if row.seq.is_none() {
        "lacks required field seq".to_owned()
    } else if time.is_none() {
        "time must be a safe integer".to_owned()
    } else if row.ignorable.is_some() && !event.ignorable {
        "ignorable must be true when present".to_owned()
    } else {
        match (&event.sources, format) {
            (Sources::Invalid(why), Format::V4) => why.clone(),
            _ => return,
        }
    };
    event.fault(stage, format!("event {problem}"));
}
