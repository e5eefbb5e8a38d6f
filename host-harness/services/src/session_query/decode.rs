//! One line of a log, examined on its own: its event, its text, and what is wrong with it.
//!
//! Nothing here depends on the lines before, so the lines of a large log are decoded on several threads. What does depend on
//! them is in [`fold`](super::fold).

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;
use serde_json::value::RawValue;

use super::extract::Joiner;
use super::fingerprint::{self, Fingerprint};
use super::js::is_safe_integer;
use super::kinds::{Format, Kind};
use super::legacy;
use super::mark::{self, Sources, SurfaceOp};
use super::message::{Boundary, Call, Message, Todos, Wrapped};
use super::packed::{ChunkKind, Members, members};
use super::repair;
use super::row::{self, Line, Row};
use super::shape::{self, HeaderFault};
use super::view::{Lax, Scalar, View};

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
    let text = String::from_utf8_lossy(bytes);
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
    fn fault(&mut self, stage: Stage, text: impl Into<String>) {
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

/// Looks into the `data` of an event.
struct Examiner<'e> {
    context: Context<'e>,
    seq: u64,
    event: &'e mut Event,
    out: &'e mut String,
}

fn raw(value: Option<&RawValue>) -> Box<str> {
    value.map_or("null", RawValue::get).into()
}

impl Examiner<'_> {
    fn event(&mut self, name: &str, data: &str) {
        match name {
            "user/message" => {
                let Some(message) = self.view::<Message<'_>>(data) else {
                    return;
                };
                let old = message.as_ref().is_some_and(|message| {
                    !message.id.is_present()
                        && !message.role.is_present()
                        && !message.has.message
                        && message.has.content
                        && message.has.source
                });
                if old && self.upgrade(name, data) {
                    return;
                }
                self.message(name, message.as_ref(), None);
                if let Some(message) = &message {
                    Joiner::new(self.out).message(message);
                }
            }
            "assistant/message" | "tool/result" | "developer/message" => self.wrapped(name, data),
            "tool/call" => {
                let Some(Some(call)) = self.view::<Call<'_>>(data) else {
                    return;
                };
                Joiner::new(self.out).tool_call(&call);
                if let Some(id) = call.call_id.as_str() {
                    self.event.fact = Fact::Call { id: id.into() };
                }
            }
            "todo/write" => {
                if let Some(Some(todos)) = self.view::<Todos<'_>>(data) {
                    Joiner::new(self.out).todos(&todos);
                }
            }
            "turn/start" | "turn/end" | "step/start" | "step/end" | "session/end-seed" => {
                self.boundary(name, data)
            }
            "steering/message" if self.context.format == Format::V0 => {
                self.upgrade(name, data);
            }
            "request/header-delta" | "mode/set" if self.context.format == Format::V0 => {
                let (id, seq) = (self.context.session_id, self.seq);
                self.event.fault(
                    Stage::Early,
                    format!(
                        "session \"{id}\" contains unsupported legacy {name} event at seq {seq}"
                    ),
                );
            }
            "request/header" => {
                let result = shape::request_header(
                    data,
                    self.context.format,
                    self.context.session_id,
                    self.seq,
                );
                if let Err(fault) = result {
                    let (stage, text) = match fault {
                        HeaderFault::Admission(text) => (Stage::Admission, text),
                        HeaderFault::Shape(text) => (Stage::Early, text),
                        HeaderFault::Late(text) => (Stage::Late, text),
                    };
                    self.event.fault(stage, text);
                }
            }
            "system/message" if self.context.format == Format::V4 => {
                if let Err(text) = shape::admit_system(data) {
                    self.event.fault(Stage::Admission, text);
                }
            }
            "tool/code-dispatch" | "tool/code-dispatch-start"
                if self.context.format == Format::V4 && !self.event.ignorable =>
            {
                self.event.fault(
                    Stage::Admission,
                    format!("format v4 rejects retired event type {name}"),
                );
            }
            _ => {}
        }
    }

    /// The view of an object, `Some(None)` for anything else, `None` when it cannot be read at all.
    fn view<'d, T: View<'d>>(&mut self, data: &'d str) -> Option<Option<T>> {
        match serde_json::from_str::<Lax<T>>(data) {
            Ok(Lax(view)) => Some(view),
            // The line did parse, so this is nesting that no sound message has, or a number beyond a double.
            Err(error) => {
                let text = format!("session event at seq {} cannot be read: {error}", self.seq);
                self.event.fault(self.shape_stage(), text);
                None
            }
        }
    }

    /// Format 0 checks shapes before it looks for unknown types, format 4 after.
    fn shape_stage(&self) -> Stage {
        if self.context.format == Format::V0 {
            Stage::Early
        } else {
            Stage::Late
        }
    }

    fn message(&mut self, name: &str, message: Option<&Message<'_>>, data: Option<&Wrapped<'_>>) {
        let format = self.context.format;
        if format == Format::V4 {
            // The engine prints the number as the line has it; only a line without one differs.
            if let Err(text) = shape::admit_v4(name, message, data, &self.seq.to_string()) {
                self.event.fault(Stage::Admission, text);
            }
        }
        if let Err(text) = shape::check(name, message, format, self.seq) {
            self.event.fault(self.shape_stage(), text);
        }
    }

    fn wrapped(&mut self, name: &str, data: &str) {
        let Some(view) = self.view::<Wrapped<'_>>(data) else {
            return;
        };
        let view = view.unwrap_or_default();
        let old = !view.has_message
            && view.has_content
            && (view.has_provenance || (view.has_call_id && view.has_is_error));
        if old && self.context.format == Format::V0 && self.upgrade(name, data) {
            return;
        }
        self.message(name, view.message.0.as_ref(), Some(&view));
        let Some(message) = &view.message.0 else {
            return;
        };
        match name {
            "assistant/message" => {
                Joiner::new(self.out).message(message);
                let calls = message
                    .content
                    .0
                    .iter()
                    .flatten()
                    .filter_map(|block| block.0.as_ref());
                let calls = calls.filter(|block| block.kind.as_str() == Some("tool-call"));
                let calls = calls
                    .filter_map(|block| block.id.as_str().map(Box::from))
                    .collect();
                self.event.fact = Fact::Answer {
                    step: raw(view.step),
                    calls,
                };
            }
            "tool/result" => {
                Joiner::new(self.out).tool_result(&view);
                let call = match self.context.format {
                    Format::V0 => message
                        .source
                        .0
                        .as_ref()
                        .and_then(|source| source.call_id.as_str()),
                    Format::V4 => message.tool_call_id.as_str(),
                };
                let fingerprint = fingerprint::of(data, self.context.format);
                self.event.fact = Fact::Result {
                    call: call.unwrap_or_default().into(),
                    fingerprint,
                    upgraded: false,
                };
            }
            _ => {}
        }
    }

    fn boundary(&mut self, name: &str, data: &str) {
        let Some(view) = self.view::<Boundary<'_>>(data) else {
            return;
        };
        let Some(boundary) = view else {
            self.event.fact = boundary_fact(name, &Boundary::default());
            return;
        };
        let may_be_old = name == "turn/end" || (name == "turn/start" && boundary.has_trigger);
        if may_be_old && self.context.format == Format::V0 && self.upgrade(name, data) {
            return;
        }
        self.event.fact = boundary_fact(name, &boundary);
        if name == "turn/end"
            && let Some(reason) = &boundary.reason.0
        {
            Joiner::new(self.out).turn_end(reason);
        }
    }

    /// Examines the present shape of an old event instead; false when the event is not old.
    fn upgrade(&mut self, name: &str, data: &str) -> bool {
        let Ok(value) = serde_json::from_str::<Value>(data) else {
            return false;
        };
        let replaces = matches!(self.event.op, SurfaceOp::Replace { .. });
        // The inherited id is looked up when the event is read; here it only has to be there.
        let inherited = replaces.then_some("inherited");
        match legacy::upgrade(name, &value, self.context.session_id, self.seq, inherited) {
            Ok(None) => false,
            Ok(Some(upgraded)) => {
                self.event.kind = Kind::of(upgraded.kind);
                self.present(upgraded.kind, &upgraded.data.to_string());
                if let Fact::Result { upgraded, .. } = &mut self.event.fact {
                    *upgraded = true;
                }
                true
            }
            Err(text) => {
                self.event.fault(Stage::Early, text);
                true
            }
        }
    }

    /// As [`event`](Self::event), for data that an upgrade has just made: it is not old any more, so this does not recurse.
    fn present(&mut self, name: &str, data: &str) {
        match name {
            "turn/start" | "turn/end" => {
                if let Some(Some(boundary)) = self.view::<Boundary<'_>>(data) {
                    self.event.fact = boundary_fact(name, &boundary);
                    if let (Some(reason), "turn/end") = (&boundary.reason.0, name) {
                        Joiner::new(self.out).turn_end(reason);
                    }
                }
            }
            _ => self.event(name, data),
        }
    }
}

fn boundary_fact(name: &str, boundary: &Boundary<'_>) -> Fact {
    match name {
        "turn/start" => Fact::TurnStart {
            turn: raw(boundary.turn),
        },
        "turn/end" => Fact::TurnEnd,
        "step/start" => Fact::StepStart {
            step: raw(boundary.step),
        },
        "step/end" => Fact::StepEnd,
        _ => Fact::EndOfSeed {
            inherited: boundary.inherited == Scalar::Bool(true),
        },
    }
}
