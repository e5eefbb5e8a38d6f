//! `dsh-host read-event`.

use super::history::{Logs, heading, indented, number};
use super::{Outcome, Stop};
use clap::Args;
use dsh_services::session_query::{Cancel, RawEvent, ReadRequest, SessionQuery, Window};
use std::io::Write;

/// Reads one event of a session and its neighbours.
#[derive(Args)]
#[command(after_help = "Examples:
  dsh-host read-event session-1 8
  dsh-host read-event --before 2 --after 2 --json -- session-1 8

Events without text are shown by their data. The service judges the numbers: SEQ must be that of an event, N a whole number
from 0 to 50. Exits with 1 when it answers an error.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    logs: Logs,
    /// Events to show before it, those without text included [default: 0]
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        default_value = "0",
        hide_default_value = true
    )]
    before: String,
    /// Events to show after it [default: 0]
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        default_value = "0",
        hide_default_value = true
    )]
    after: String,
    /// Identifier of the session
    session: String,
    /// Sequence number of the event
    #[arg(allow_negative_numbers = true)]
    seq: String,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let seq = number(&arguments.seq);
    if seq.is_nan() {
        let given = &arguments.seq;
        return Err(Stop::usage(format!(
            "SEQ must be the number of an event, from 0, not {given:?}"
        )));
    }
    let request = ReadRequest {
        seq,
        before: number(&arguments.before),
        after: number(&arguments.after),
    };
    let answer = arguments
        .logs
        .service()?
        .read_event(&arguments.session, &request, &Cancel::new());
    arguments.logs.print(answer, Window::to_json, print)
}

fn print(out: &mut dyn Write, window: &Window) -> std::io::Result<()> {
    window
        .events
        .iter()
        .try_for_each(|event| print_event(out, event, window))
}

fn print_event(out: &mut dyn Write, event: &RawEvent, window: &Window) -> std::io::Result<()> {
    let asked = event.seq == window.target && window.events.len() > 1;
    let mark = if asked { "  (asked for)" } else { "" };
    heading(out, event.seq, &event.event_type, event.time, mark)?;
    match event.text.as_str() {
        "" => indented(out, &event.data),
        text => indented(out, text),
    }
}
