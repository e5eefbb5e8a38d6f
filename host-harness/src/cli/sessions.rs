//! `dsh-host sessions`.

use super::history::{Logs, printable, when};
use super::{Outcome, style};
use clap::Args;
use dsh_services::session_query::{Cancel, SessionQuery, SessionRecord};
use serde_json::Value;
use std::io::Write;

/// Lists the recorded sessions, newest first.
#[derive(Args)]
#[command(after_help = "Examples:
  dsh-host sessions
  dsh-host sessions --json | jq -r '.[].header.id'

Exits with 1 when the directory cannot be listed.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    logs: Logs,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let answer = arguments.logs.service()?.list_sessions(&Cancel::new());
    if !arguments.logs.json() && answer.as_ref().is_ok_and(Vec::is_empty) {
        let root = arguments.logs.root()?;
        anstream::eprintln!("no session lies in {}", root.display());
    }
    let value = |records: &Vec<SessionRecord>| -> Value {
        records.iter().map(SessionRecord::to_json).collect()
    };
    arguments.logs.print(answer, value, |out, records| {
        records.iter().try_for_each(|record| print(out, record))
    })
}

fn print(out: &mut dyn Write, record: &SessionRecord) -> std::io::Result<()> {
    let header = &record.header;
    let place = header.cwd.as_deref().unwrap_or("(no directory)");
    write!(
        out,
        "{}{}{}  {}{}{}  {}",
        style::NAME,
        printable(&header.id),
        style::RESET,
        style::FAINT,
        when(header.created_at),
        style::RESET,
        printable(place)
    )?;
    match &header.parent_session {
        Some(parent) => writeln!(out, "  (from {})", printable(parent)),
        None => writeln!(out),
    }
}
