//! The part of `dsh-host demo` that reads history back: a session that DSH has recorded, with one of its spill files, is part of the command.

use super::history::printable;
use super::session::{AGENT, Session, Where};
use super::{Stop, style};
use dsh_host::grants::requests;
use dsh_host::profile::Profile;
use dsh_host::{CallRequest, LoadedComponent};
use dsh_services::json;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::time::Instant;

const SESSION: &str = "session-7dc66442-17ee-456f-8327-a11128ba2e2a";
const LOG: &[u8] = include_bytes!(
    "../../../tests/golden/sessions/v4/real-rich/sessions/--work-app--/session-7dc66442-17ee-456f-8327-a11128ba2e2a/session.v4.jsonl.zstd"
);
const LOG_PLACE: &str =
    "sessions/--work-app--/session-7dc66442-17ee-456f-8327-a11128ba2e2a/session.v4.jsonl.zstd";
const SPILL: &[u8] = include_bytes!(
    "../../../tests/golden/sessions/v4/real-rich/work/spill/session-a2825e2e2ce5/45c4336f91a0-bash.txt"
);
const SPILL_PLACE: &str = "spill/session-a2825e2e2ce5/45c4336f91a0-bash.txt";

/// Characters of a text that are shown.
const SHOWN: usize = 100;

/// Shows the three tools on the bundled session, as the rows of the profile configure them.
pub(crate) async fn run(
    out: &mut impl Write,
    place: &Where,
    mut profile: Profile,
) -> Result<(), Stop> {
    profile
        .rows
        .retain(|row| row.name == "dsh-context-proxy" && !row.disabled);
    let Some(row) = profile.rows.first().cloned() else {
        writeln!(out, "The profile has no such row.")?;
        return Ok(());
    };
    let files = match lay_out() {
        Ok(files) => files,
        Err(error) => {
            writeln!(out, "The sample session cannot be laid out: {error}")?;
            return Ok(());
        }
    };
    let place = Where {
        sessions: Some(files.path().join("sessions")),
        spill_root: vec![files.path().join("spill")],
        session: Some(SESSION.into()),
        ..place.clone()
    };
    let session = Session::open(&place, profile, LoadedComponent::provides_tools).await?;
    writeln!(
        out,
        "On a session that DSH has recorded ({} KB compressed), and one of its spill files ({} KB):",
        LOG.len() / 1_000,
        SPILL.len() / 1_000
    )?;
    show(
        out,
        &session,
        "context_query",
        json!({"text": "exit code", "limit": 3}),
    )
    .await?;
    show(
        out,
        &session,
        "context_slice",
        json!({"seq": 25, "before": 3}),
    )
    .await?;
    let wanted = requests(&row.name, &row.config).into_iter().next();
    let wanted = wanted.map(|program| program.path.unwrap_or(program.command));
    match ripgrep(&session, wanted.as_deref().unwrap_or("rg")).await {
        Ok(()) => {
            let path = files.path().join(SPILL_PLACE);
            let arguments = json!({"pattern": r"NEEDLE-9[45]\d\b", "path": path.to_string_lossy()});
            show(out, &session, "context_grep", arguments).await?;
        }
        Err(reason) => {
            writeln!(
                out,
                "{}context_grep searches spill files with ripgrep, and there is none: {reason}. Without a path it scans the session:{}",
                style::FAINT,
                style::RESET
            )?;
            show(
                out,
                &session,
                "context_grep",
                json!({"pattern": "NEEDLE-945", "limit": 2}),
            )
            .await?;
        }
    }
    session.close().await
}

/// The bundled files, where the services look for such files.
fn lay_out() -> std::io::Result<tempfile::TempDir> {
    let files = tempfile::Builder::new()
        .prefix("dsh-host-demo-")
        .tempdir()?;
    for (place, content) in [(LOG_PLACE, LOG), (SPILL_PLACE, SPILL)] {
        let path = files.path().join(place);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
        std::fs::write(path, content)?;
    }
    Ok(files)
}

/// Whether ripgrep is there, or what was tried. Asked beforehand, because the plugin would report it to the log.
async fn ripgrep(session: &Session, wanted: &str) -> Result<(), String> {
    let Some(service) = session.host.services().subprocess() else {
        return Err("no programs can be started".into());
    };
    let found = service.resolve_executable(wanted, &[], None).await;
    found.map(drop).map_err(|error| error.to_string())
}

async fn show(
    out: &mut impl Write,
    session: &Session,
    tool: &str,
    arguments: Value,
) -> Result<(), Stop> {
    let start = Instant::now();
    let request = CallRequest {
        agent: Some(AGENT.into()),
        ..CallRequest::new(tool, &arguments.to_string())
    };
    let answer = session.host.call(request).await;
    let elapsed = start.elapsed().as_secs_f64() * 1e3;
    writeln!(
        out,
        "{}{tool}{} {}  {}{elapsed:.2} ms{}",
        style::NAME,
        style::RESET,
        shortened(&arguments),
        style::FAINT,
        style::RESET
    )?;
    let text = answer.text();
    let value = match json::parse(&text) {
        Ok(value) if !answer.is_error() => value,
        _ => {
            writeln!(out, "    {}", printable(&text))?;
            return Ok(());
        }
    };
    let list = value.get("matches").or_else(|| value.get("items"));
    let found = list
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    for item in found {
        let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
        let citation = last_part(text("citation"));
        let shown = match text("text") {
            "" => item
                .get("data")
                .map(ToString::to_string)
                .unwrap_or_default(),
            text => text.to_owned(),
        };
        writeln!(
            out,
            "    {citation}  {}  {}",
            text("type"),
            one_line(&shown)
        )?;
    }
    if value.get("truncated") == Some(&Value::Bool(true)) {
        writeln!(out, "    {}and more{}", style::FAINT, style::RESET)?;
    }
    Ok(())
}

/// The arguments without the way to the temporary directory, which says nothing.
fn shortened(arguments: &Value) -> String {
    let mut arguments = arguments.clone();
    if let Some(Value::String(path)) = arguments.get_mut("path") {
        *path = last_part(path).to_owned();
    }
    arguments.to_string()
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn one_line(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    printable(&shown.replace(['\n', '\t'], " "))
}
