//! What the `data` of an event holds: its text, what later events need of it, and its faults.

use serde_json::value::RawValue;

use super::decode::{Context, Event, Fact, Stage};
use super::extract::Joiner;
use super::fingerprint;
use super::kinds::{Format, Kind};
use super::legacy;
use super::mark::SurfaceOp;
use super::message::{Boundary, Call, Message, Todos, Wrapped};
use super::shape::{self, HeaderFault};
use super::view::{Lax, Scalar, View};
use crate::json;

/// Looks into the `data` of an event.
pub struct Examiner<'e> {
    pub context: Context<'e>,
    pub seq: u64,
    pub event: &'e mut Event,
    /// Where texts go.
    pub out: &'e mut String,
}

fn raw(value: Option<&RawValue>) -> Box<str> {
    value.map_or("null", RawValue::get).into()
}

impl Examiner<'_> {
    /// Takes the event's text and facts from its `data`, and notes what is wrong with it.
    pub fn event(&mut self, name: &str, data: &str) {
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
        let Ok(value) = json::parse(data) else {
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
