//! `dsh-host plugins`.

use super::session::{MountedRow, Session, Where};
use super::{Outcome, style};
use clap::Args;
use dsh_host::{CTX_VERSION, Limits, permissions};
use serde_json::{Value, json};
use std::io::Write;

/// Lists the plugins.
#[derive(Args)]
#[command(after_help = "Example:\n  dsh-host plugins --json | jq '.[].imports'")]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: Where,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(arguments: Arguments) -> Outcome {
    let profile = arguments.place.profile()?;
    let session = Session::open(&arguments.place, profile, |_| true).await?;
    let mut out = anstream::stdout().lock();
    if arguments.json {
        let rows: Vec<Value> = session.rows.iter().map(to_json).collect();
        writeln!(out, "{:#}", Value::Array(rows))?;
    } else {
        for (index, row) in session.rows.iter().enumerate() {
            if index > 0 {
                writeln!(out)?;
            }
            print(&mut out, row)?;
        }
    }
    drop(out);
    session.close().await
}

fn print(out: &mut impl Write, mounted: &MountedRow) -> std::io::Result<()> {
    let name = mounted.manifest.name.as_str();
    writeln!(
        out,
        "{}{name}{} {}  ({})",
        style::NAME,
        style::RESET,
        mounted.manifest.version,
        state(mounted)
    )?;
    let mut line = |key: &str, value: String| {
        writeln!(out, "  {}{key:<9}{}{value}", style::FAINT, style::RESET)
    };
    line("does", mounted.manifest.summary.clone())?;
    let world = mounted
        .component
        .world()
        .map_or("none of dsh:ctx".into(), |world| {
            format!("dsh:ctx/{world}@{CTX_VERSION}")
        });
    line("world", world)?;
    for (index, permission) in permissions(mounted.component.imports()).iter().enumerate() {
        line(
            if index == 0 { "may" } else { "" },
            format!("{}  ({})", permission.meaning, permission.interface),
        )?;
    }
    let wasi = mounted
        .component
        .imports()
        .iter()
        .filter(|name| name.starts_with("wasi:"))
        .count();
    line(
        "",
        format!(
            "nothing else: no files, network, environment or arguments behind its {wasi} WASI imports"
        ),
    )?;
    for (index, grant) in mounted.grants.iter().enumerate() {
        line(if index == 0 { "runs" } else { "" }, grant.clone())?;
    }
    let limits = &mounted.row.limits;
    line(
        "limits",
        format!(
            "{} MiB memory, {} ms of computing at a stretch, {} ms to obey a cancel, {} calls at once",
            limits.memory >> 20,
            limits.spin.as_millis(),
            limits.abort_grace.as_millis(),
            limits.concurrent_calls
        ),
    )?;
    line("size", format!("{} bytes", style::grouped(size(mounted))))?;
    Ok(())
}

fn state(mounted: &MountedRow) -> String {
    use dsh_host::RowState;
    match &mounted.state {
        None if mounted.row.disabled => "off".into(),
        None => "not mounted".into(),
        Some(RowState::Active) => "on".into(),
        Some(RowState::Pending(missing)) => format!("waits for {}", missing.join(", ")),
        Some(RowState::Failed(failure)) => format!("failed: {failure}"),
    }
}

fn size(mounted: &MountedRow) -> u64 {
    u64::try_from(mounted.component.size()).unwrap_or(u64::MAX)
}

fn to_json(mounted: &MountedRow) -> Value {
    let manifest = &mounted.manifest;
    json!({
        "id": mounted.row.id,
        "name": manifest.name,
        "version": manifest.version,
        "summary": manifest.summary,
        "state": state(mounted),
        "world": mounted.component.world(),
        "imports": mounted.component.imports(),
        "exports": mounted.component.exports(),
        "required": manifest.required,
        "optional": manifest.optional,
        "configSchema": manifest.config_schema,
        "grants": mounted.grants,
        "limits": limits_json(&mounted.row.limits),
        "bytes": size(mounted),
    })
}

fn limits_json(limits: &Limits) -> Value {
    json!({
        "memoryMiB": limits.memory >> 20,
        "messageMiB": limits.message >> 20,
        "spinMs": limits.spin.as_millis(),
        "abortGraceMs": limits.abort_grace.as_millis(),
        "applyMs": limits.apply.as_millis(),
        "disposeMs": limits.dispose.as_millis(),
        "concurrentCalls": limits.concurrent_calls,
    })
}
