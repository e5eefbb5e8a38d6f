//! `dsh-host complete`.

use super::history::printable;
use super::session::{AGENT, Session, Where};
use super::{Outcome, Stop, style};
use clap::Args;
use dsh_host::profile::Profile;
use dsh_host::{AbortSignal, Candidate, Kind, LimitedBy, LoadedComponent, SearchResult};
use dsh_services::json;
use serde_json::{Map, Value, json};
use std::io::{IsTerminal, Write};

/// Completes the text after `@`.
#[derive(Args)]
#[command(after_help = "Examples:
  dsh-host complete src/ma          what is in src and looks like `ma`
  dsh-host complete --json -- worl  fuzzy, over the whole tree, as JSON

A query with a `/`, or none at all, lists one directory. Any other is matched against the whole tree.
Directories are printed with a trailing `/`.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    config: ConfigArguments,
    /// Print the answer of `ctx.fileReferences.list` as JSON
    #[arg(long)]
    json: bool,
    /// The text after `@`
    query: String,
}

/// Configuration of the completion plugin, in place of the profile's.
#[derive(Args, Clone)]
pub(crate) struct ConfigArguments {
    /// Most candidates [default: 20]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_results: Option<String>,
    /// Most files and directories in the index [default: 10000]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_entries: Option<String>,
    /// Name of directories to leave out; may be repeated [default: .git and node_modules]
    #[arg(long, value_name = "NAME", conflicts_with = "no_exclude")]
    exclude: Vec<String>,
    /// Leave no directory out
    #[arg(long)]
    no_exclude: bool,
    /// What to do with entries that ignore files exclude: show, last or hide [default: show]
    #[arg(long, value_name = "HOW")]
    ignored_files: Option<String>,
}

impl ConfigArguments {
    /// Writes the options that were given into the configuration of every row. The plugin judges the values, so that its own texts are what
    /// the user reads.
    pub(crate) fn apply(&self, profile: &mut Profile) {
        let number = |text: &String| json::parse(text).unwrap_or_else(|_| json!(text));
        let mut given = Map::new();
        if let Some(text) = &self.max_results {
            given.insert("maxResults".into(), number(text));
        }
        if let Some(text) = &self.max_entries {
            given.insert("maxEntries".into(), number(text));
        }
        if self.no_exclude || !self.exclude.is_empty() {
            given.insert("excludedDirectories".into(), json!(self.exclude));
        }
        if let Some(how) = &self.ignored_files {
            given.insert("ignoredFiles".into(), json!(how));
        }
        if given.is_empty() {
            return;
        }
        for row in &mut profile.rows {
            if row.config.is_null() {
                row.config = json!({});
            }
            if let Value::Object(config) = &mut row.config {
                config.extend(given.clone());
            }
        }
    }
}

/// Opens a session with the plugins that complete paths, and no others: the command is to start within milliseconds.
pub(crate) async fn open(place: &Where, config: &ConfigArguments) -> Result<Session, Stop> {
    let mut profile = place.profile()?;
    if place.profile.is_none() {
        profile
            .rows
            .retain(|row| row.name == "dsh-file-reference-local");
    }
    config.apply(&mut profile);
    let session = Session::open(place, profile, LoadedComponent::provides_file_references).await?;
    if session.rows.iter().all(|row| row.state.is_none()) {
        return Err(Stop::usage("no plugin of the profile completes paths"));
    }
    Ok(session)
}

pub(crate) async fn run(arguments: Arguments) -> Outcome {
    let session = open(&arguments.place, &arguments.config).await?;
    let mut out = anstream::stdout().lock();
    if arguments.json {
        let answer = session
            .host
            .list_file_references(AGENT, &arguments.query, &AbortSignal::never())
            .await;
        let candidates = answer.map_err(|error| Stop::usage(error.into_failure()))?;
        writeln!(
            out,
            "{}",
            Value::Array(candidates.iter().map(to_json).collect())
        )?;
    } else {
        let answer = session
            .host
            .search_file_references(AGENT, &arguments.query, &AbortSignal::never())
            .await;
        let result = answer.map_err(|error| Stop::usage(error.into_failure()))?;
        print(&mut out, &result)?;
        if std::io::stdout().is_terminal() {
            anstream::eprintln!("{}{}{}", style::FAINT, coverage(&result), style::RESET);
        }
    }
    drop(out);
    session.close().await
}

/// Prints the candidates, or the near misses under a line that says so.
pub(crate) fn print(out: &mut impl Write, result: &SearchResult) -> std::io::Result<()> {
    let shown = if result.candidates.is_empty() && !result.suggestions.is_empty() {
        writeln!(out, "No match. Similar names:")?;
        &result.suggestions
    } else {
        &result.candidates
    };
    for candidate in shown {
        match candidate.kind {
            Kind::Directory => writeln!(
                out,
                "{}{}/{}",
                style::DIRECTORY,
                shown_name(&candidate.path),
                style::RESET
            )?,
            Kind::File => writeln!(out, "{}", shown_name(&candidate.path))?,
        }
    }
    Ok(())
}

/// A name in one line that moves no cursor: a workspace may hold names with any characters. `--json` has them as they are.
fn shown_name(path: &str) -> String {
    printable(path)
        .replace('\n', "\\u{a}")
        .replace('\t', "\\u{9}")
}

/// How much was looked through, in a few words.
pub(crate) fn coverage(result: &SearchResult) -> String {
    let indexed = style::grouped(result.indexed);
    match result.limited_by {
        LimitedBy::None => format!("{indexed} entries, complete"),
        LimitedBy::MaxEntries => {
            format!("{indexed} entries, more exist: raise maxEntries to see them")
        }
        LimitedBy::Unreadable(count) => format!(
            "{indexed} entries, {} directories unreadable",
            style::grouped(count)
        ),
    }
}

fn to_json(candidate: &Candidate) -> Value {
    let kind = match candidate.kind {
        Kind::File => "file",
        Kind::Directory => "directory",
    };
    json!({ "path": candidate.path, "kind": kind })
}
