//! `dsh-host demo`.

use super::session::{AGENT, MountedRow, Session, Where};
use super::{Outcome, Stop, complete, demo_history, demo_symbols, prompt, style};
use clap::Args;
use dsh_host::{AbortSignal, permissions};
use std::io::Write;
use std::time::Instant;

/// Shows the plugins at work.
#[derive(Args)]
#[command(after_help = "Example:\n  dsh-host demo --cwd ~/src/my-project")]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: Where,
}

/// Queries that find something in a checkout of this project, and say something in most others.
const QUERIES: &[(&str, &str)] = &[
    ("", "the top of the tree"),
    ("plugins/", "one directory, read live"),
    ("rank", "a name, anywhere in the tree"),
    ("hhcargo", "letters in order, not side by side"),
    ("chnagelog", "a slip of the fingers"),
    ("../", "a way out of the tree"),
    ("/etc/", "another way out"),
];

/// Candidates shown for each query.
const SHOWN: usize = 5;

pub(crate) async fn run(arguments: Arguments) -> Outcome {
    let start = Instant::now();
    let mut profile = arguments.place.profile()?;
    // What a build leaves behind is not worth showing.
    let files = profile
        .rows
        .iter_mut()
        .find(|row| row.name == "dsh-file-reference-local" && row.config.is_null());
    if let Some(row) = files {
        row.config = serde_json::json!({ "ignoredFiles": "hide" });
    }
    let history = profile.clone();
    let session = Session::open(&arguments.place, profile, |_| true).await?;
    let mut out = anstream::stdout().lock();
    let opened = start.elapsed().as_millis();
    writeln!(
        out,
        "{} plugins in WebAssembly sandboxes, ready after {opened} ms, on {}",
        session.rows.len(),
        session.cwd
    )?;

    heading(&mut out, "@path completion (dsh-file-reference-local)")?;
    for (query, meaning) in QUERIES {
        completion(&mut out, &session, query, meaning).await?;
    }

    heading(
        &mut out,
        "What it adds to the system prompt of an agent that has the tool `read`",
    )?;
    let text = prompt::with_tools(&session.host, &["read".into()]).await?;
    writeln!(out, "{text}")?;
    writeln!(
        out,
        "{}Without `read` it adds nothing.{}",
        style::FAINT,
        style::RESET
    )?;

    heading(&mut out, "Reading back history (dsh-context-proxy)")?;
    demo_history::run(&mut out, &arguments.place, history).await?;

    heading(&mut out, "What each plugin may touch")?;
    for row in &session.rows {
        sandbox(&mut out, row)?;
    }
    writeln!(
        out,
        "Everything else is out of reach: there is no import for it. `dsh-host plugins` shows the limits."
    )?;

    heading(&mut out, "Symbols (dsh-workspace-intelligence)")?;
    demo_symbols::show(&mut out, &session).await?;
    drop(out);
    session.close().await
}

fn heading(out: &mut impl Write, text: &str) -> std::io::Result<()> {
    writeln!(out, "\n{}{text}{}", style::HEADING, style::RESET)
}

async fn completion(
    out: &mut impl Write,
    session: &Session,
    query: &str,
    meaning: &str,
) -> Outcome {
    let start = Instant::now();
    let answer = session
        .host
        .search_file_references(AGENT, query, &AbortSignal::never())
        .await;
    let elapsed = start.elapsed().as_secs_f64() * 1e3;
    let mut result = answer.map_err(|error| Stop::usage(error.into_failure()))?;
    let found = result.candidates.len() + result.suggestions.len();
    let coverage = complete::coverage(&result);
    writeln!(
        out,
        "{}@{query}{}  {}{meaning}: {elapsed:.2} ms, {coverage}{}",
        style::NAME,
        style::RESET,
        style::FAINT,
        style::RESET
    )?;
    result.candidates.truncate(SHOWN);
    result.suggestions.truncate(SHOWN);
    let mut shown = Vec::new();
    complete::print(&mut shown, &result)?;
    for line in String::from_utf8_lossy(&shown).lines() {
        writeln!(out, "    {line}")?;
    }
    match found {
        0 => writeln!(out, "    {}nothing{}", style::FAINT, style::RESET)?,
        more if more > SHOWN => writeln!(
            out,
            "    {}and {} more{}",
            style::FAINT,
            more - SHOWN,
            style::RESET
        )?,
        _ => {}
    }
    Ok(())
}

fn sandbox(out: &mut impl Write, row: &MountedRow) -> std::io::Result<()> {
    writeln!(out, "{}{}{}", style::NAME, row.manifest.name, style::RESET)?;
    for permission in permissions(row.component.imports()) {
        writeln!(
            out,
            "    {:<14} {}",
            permission.interface, permission.meaning
        )?;
    }
    Ok(())
}
