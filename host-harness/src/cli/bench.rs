//! `dsh-host bench`.

use super::complete::{self, ConfigArguments};
use super::session::{AGENT, Where};
use super::{Outcome, Stop};
use clap::{Args, Subcommand};
use dsh_host::{AbortSignal, AgentSpec, Host, Kind};
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

/// What to measure.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Completion: cold and warm queries and directory listings through the component, in milliseconds
    Complete(Arguments),
}

/// Measures completion the way the published module is measured, so that the two can be compared: an unmeasured build warms the system's
/// caches; `cold_ms` is the median of new searches with their first bare query; each bare query is then timed once on the warm index, after
/// twenty that are not counted; two hundred directory listings are timed in turn.
#[derive(Args)]
#[command(after_help = "Example:
  dsh-host bench complete --cwd ~/src/linux --max-entries 200000 --queries queries.json

The file of queries is a JSON array of strings. Those with a `/` are directory listings; when there are none, the directories at the top of
the tree are listed. Prints {\"cold_ms\":…,\"warm_median_ms\":…,\"warm_p95_ms\":…,\"dir_median_ms\":…}.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    config: ConfigArguments,
    /// File with the queries
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,
    /// Measured builds of the index
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    cold_runs: u32,
}

/// Directory listings that are timed.
const LISTINGS: usize = 200;
/// Bare queries that are made before the timed ones.
const WARM_UP: usize = 20;

pub(crate) async fn run(command: Command) -> Outcome {
    let Command::Complete(arguments) = command;
    let text = std::fs::read_to_string(&arguments.queries).map_err(|error| {
        Stop::usage(format!(
            "--queries: {}: {error}",
            arguments.queries.display()
        ))
    })?;
    let queries: Vec<String> = serde_json::from_str(&text).map_err(|error| {
        Stop::usage(format!(
            "--queries: {} is no JSON array of strings: {error}",
            arguments.queries.display()
        ))
    })?;
    let (listings, bare): (Vec<String>, Vec<String>) = queries
        .into_iter()
        .filter(|query| !query.is_empty())
        .partition(|query| query.contains(['/', '\\']));
    let Some(first) = bare.first().cloned() else {
        return Err(Stop::usage(
            "--queries: at least one query without a `/` is needed",
        ));
    };
    let session = complete::open(&arguments.place, &arguments.config).await?;
    // Callers of a host are tasks of its runtime, so the measuring is one too: a caller on a thread of its own would add the time that it
    // takes to wake that thread.
    let (host, cwd) = (session.host.clone(), session.cwd.clone());
    let measuring = tokio::spawn(measure(
        host,
        cwd,
        first,
        bare,
        listings,
        arguments.cold_runs,
    ));
    let answer = measuring.await.map_err(Stop::usage)??;
    writeln!(std::io::stdout().lock(), "{answer}")?;
    session.close().await
}

async fn measure(
    host: Host,
    cwd: String,
    first: String,
    bare: Vec<String>,
    listings: Vec<String>,
    cold_runs: u32,
) -> Result<Value, Stop> {
    time(&host, AGENT, &first).await?;
    let mut cold = Vec::new();
    for run in 0..cold_runs {
        let agent = format!("cold-{run}");
        let spec = AgentSpec::new(&agent, &cwd);
        host.create_agent(spec).await.map_err(Stop::usage)?;
        cold.push(time(&host, &agent, &first).await?);
        host.dispose_agent(&agent).await;
    }
    for query in bare.iter().take(WARM_UP) {
        time(&host, AGENT, query).await?;
    }
    let mut warm = Vec::new();
    for query in &bare {
        warm.push(time(&host, AGENT, query).await?);
    }
    let listings = if listings.is_empty() {
        top_directories(&host).await?
    } else {
        listings
    };
    let mut listed = Vec::new();
    for query in listings
        .iter()
        .cycle()
        .take(if listings.is_empty() { 0 } else { LISTINGS })
    {
        listed.push(time(&host, AGENT, query).await?);
    }
    Ok(json!({
        "cold_ms": median(&mut cold),
        "warm_median_ms": median(&mut warm),
        "warm_p95_ms": percentile_95(&mut warm),
        "dir_median_ms": median(&mut listed),
    }))
}

/// Milliseconds that one query takes, the way through the component included.
async fn time(host: &Host, agent: &str, query: &str) -> Result<f64, Stop> {
    let start = Instant::now();
    let answer = host
        .list_file_references(agent, query, &AbortSignal::never())
        .await;
    let elapsed = start.elapsed();
    answer.map_err(|error| Stop::usage(error.into_failure()))?;
    Ok(elapsed.as_secs_f64() * 1e3)
}

async fn top_directories(host: &Host) -> Result<Vec<String>, Stop> {
    let answer = host
        .list_file_references(AGENT, "", &AbortSignal::never())
        .await;
    let candidates = answer.map_err(|error| Stop::usage(error.into_failure()))?;
    let directories = candidates
        .into_iter()
        .filter(|candidate| candidate.kind == Kind::Directory);
    Ok(directories.map(|candidate| candidate.path + "/").collect())
}

fn median(times: &mut [f64]) -> Option<f64> {
    times.sort_by(f64::total_cmp);
    let (middle, last) = (times.len() / 2, times.len().checked_sub(1)?);
    let value = if times.len() % 2 == 1 {
        times[middle]
    } else {
        f64::midpoint(times[middle - 1], times[middle.min(last)])
    };
    Some(rounded(value))
}

fn percentile_95(times: &mut [f64]) -> Option<f64> {
    times.sort_by(f64::total_cmp);
    let last = times.len().checked_sub(1)?;
    times
        .get((times.len() * 95 / 100).min(last))
        .copied()
        .map(rounded)
}

fn rounded(milliseconds: f64) -> f64 {
    (milliseconds * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_percentiles_are_those_of_the_published_bench() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&mut []), None);
        let mut hundred: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(percentile_95(&mut hundred), Some(95.0));
        assert_eq!(percentile_95(&mut [7.0]), Some(7.0));
        assert_eq!(rounded(1.23456), 1.235);
    }
}
