//! Where a log stands inside a turn, and the events that close an interrupted one (SPEC-sessions 4.9).

use serde_json::{Value, json};

use super::decode::Fact;
use super::kinds::Format;
use super::mark::SurfaceOp;
use crate::json;

/// The open turn, its open step, and the calls that wait for their results.
#[derive(Debug, Default, Clone)]
pub struct Turns {
    turn: Option<Box<str>>,
    step: Option<Box<str>>,
    pending: Vec<Pending>,
}

#[derive(Debug, Clone)]
struct Pending {
    call: Box<str>,
    step: Box<str>,
    started: Option<u64>,
}

impl Turns {
    /// Follows one event.
    pub fn push(&mut self, seq: u64, fact: &Fact, op: &SurfaceOp, format: Format) {
        match fact {
            Fact::TurnStart { turn } => {
                *self = Self {
                    turn: Some(turn.clone()),
                    ..Self::default()
                }
            }
            Fact::TurnEnd => *self = Self::default(),
            Fact::StepStart { step } => self.step = Some(step.clone()),
            Fact::StepEnd => {
                self.step = None;
                self.pending.clear();
            }
            Fact::Answer { step, calls } => {
                for call in calls {
                    let fresh = Pending {
                        call: call.clone(),
                        step: step.clone(),
                        started: None,
                    };
                    match self
                        .pending
                        .iter_mut()
                        .find(|pending| pending.call == *call)
                    {
                        Some(pending) => *pending = fresh,
                        None => self.pending.push(fresh),
                    }
                }
            }
            Fact::Call { id } => {
                if let Some(pending) = self.pending.iter_mut().find(|pending| pending.call == *id) {
                    pending.started = Some(seq);
                }
            }
            // Format 4 takes a replacement for the shortening of an old result, which answers nothing.
            Fact::Result { call, .. } if format == Format::V0 || *op == SurfaceOp::Append => {
                self.pending.retain(|pending| pending.call != *call);
            }
            Fact::Result { .. } | Fact::EndOfSeed { .. } | Fact::Nothing => {}
        }
    }

    /// The lines that close the log, numbered from `seq`; none when no turn is open.
    pub fn closers(&self, seq: u64, time: i64, format: Format) -> Vec<String> {
        let Some(turn) = &self.turn else {
            return Vec::new();
        };
        let turn = value(turn);
        let mut lines = Vec::new();
        for pending in &self.pending {
            let seq = seq + lines.len() as u64;
            let mut event = json!({
                "type": "tool/result",
                "seq": seq,
                "time": time,
                "data": {
                    "turn": turn,
                    "step": value(&pending.step),
                    "message": result_message(pending, seq, format),
                    "error": if pending.started.is_some() {
                        json!({ "name": "ToolOutcomeUnknownError", "code": "TOOL_OUTCOME_UNKNOWN" })
                    } else {
                        json!({ "name": "ToolNotStartedError", "code": "TOOL_NOT_STARTED" })
                    },
                },
                "surfaceOp": "append",
            });
            if let Some(started) = pending.started {
                event["sourceEventSeqs"] = json!([started]);
            }
            lines.push(event.to_string());
        }
        let mut close = |kind: &str, data: Value| {
            let seq = seq + lines.len() as u64;
            lines.push(json!({ "type": kind, "seq": seq, "time": time, "data": data }).to_string());
        };
        if let Some(step) = &self.step {
            close("step/end", json!({ "turn": turn, "step": value(step) }));
        }
        close(
            "turn/end",
            json!({ "turn": turn, "reason": { "kind": "interrupted" } }),
        );
        lines
    }
}

fn value(raw: &str) -> Value {
    json::parse(raw).unwrap_or(Value::Null)
}

fn result_message(pending: &Pending, seq: u64, format: Format) -> Value {
    let call = &pending.call;
    let text = if pending.started.is_some() {
        "The tool call was interrupted after it was recorded, but no result was durably recorded. Its outcome is unknown. \
         Decide whether to retry from the tool semantics: retry only if the operation is read-only or idempotent; if it may \
         have side effects, first verify external state or ask the user. Do not retry blindly."
    } else {
        "The tool call was interrupted before the Harness recorded it as started. Retry it if it is still needed."
    };
    let id = format!("interrupted-tool-result-{call}-{seq}");
    let source = json!({ "kind": "tool", "callId": call });
    let content = json!([{ "type": "text", "text": text }]);
    match format {
        Format::V0 => json!({
            "id": id,
            "role": "user",
            "source": source,
            "content": [{ "type": "tool-result", "toolCallId": call, "isError": true, "content": content }],
        }),
        Format::V4 => json!({
            "id": id,
            "role": "tool",
            "toolCallId": call,
            "isError": true,
            "source": source,
            "content": content,
        }),
    }
}
