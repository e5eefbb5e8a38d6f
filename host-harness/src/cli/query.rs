//! `dsh-host query`.

use super::history::{Logs, heading, indented};
use super::{Outcome, Stop, read_stdin};
use clap::Args;
use dsh_services::session_query::{Cancel, Document, EventFilter, SessionQuery, parse_json};
use serde_json::Value;
use std::io::Write;

/// Finds the events of a session that have text and satisfy all filters.
#[derive(Args)]
#[command(after_help = r#"Examples:
  dsh-host query session-1 '[]'
  dsh-host query session-1 '[{"kind":"text","text":"failed"},{"kind":"surface","values":["shadowed"]}]'
  dsh-host query --json -- session-1 '[{"kind":"seq","from":6,"to":8},{"kind":"type","values":["tool/result"]}]'

Filters are those of ctx.sessionQuery.filterEvents: seq and time with from and to, type and surface with values, text.
Exits with 1 when the service answers an error."#)]
pub(crate) struct Arguments {
    #[command(flatten)]
    logs: Logs,
    /// Identifier of the session
    session: String,
    /// The filters as a JSON array, or - to read them from standard input
    filters: String,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let filters = match arguments.filters.as_str() {
        "-" => read_stdin("FILTERS")?,
        text => text.to_owned(),
    };
    let filters = parse_json(&filters)
        .map_err(|error| Stop::usage(format!("FILTERS is not JSON: {error}")))?;
    let service = arguments.logs.service()?;
    let session = arguments.session.as_str();
    let answer = EventFilter::list_from_json(&filters)
        .and_then(|filters| service.filter_events(session, &filters, &Cancel::new()));
    let value = |found: &Vec<Document>| -> Value {
        found
            .iter()
            .map(|document| document.to_json(session))
            .collect()
    };
    arguments.logs.print(answer, value, |out, found| {
        found.iter().try_for_each(|document| print(out, document))
    })
}

fn print(out: &mut dyn Write, document: &Document) -> std::io::Result<()> {
    let record = &document.record;
    let surface = format!("  {}", record.surface.as_str());
    heading(out, record.seq, &record.event_type, record.time, &surface)?;
    indented(out, &document.text)
}
