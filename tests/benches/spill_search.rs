//! `context_grep` on a spill file of 200 MB, through host and component, beside ripgrep alone, in turns.
//!
//! `cargo bench -p dsh-tests --bench spill_search` prints one line of JSON for each pattern. `DSH_RG` names ripgrep, else `rg` on `PATH` is taken.

use anyhow::{Context, Result, ensure};
use dsh_tests::history::Place;
use dsh_tests::hosts::{HISTORY, row};
use dsh_tests::real_tools::ripgrep;
use serde_json::json;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const LINES: u64 = 2_500_000;
const ROUNDS: usize = 7;

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(run())
}

async fn run() -> Result<()> {
    let rg = ripgrep();
    let config = json!({"rgPath": rg.to_str().context("a path that is no text")?});
    let place = Place::mounted(|host| row(host, HISTORY, config), None).await;
    let file = place.spill("s", "large.txt", "");
    write_lines(&file)?;
    place.unseal();
    // The first call compiles, and brings the file into memory.
    place.grep("s", &file, "absent anywhere").await.value();
    // Of every line ripgrep alone would print gigabytes, which says nothing: there the time itself counts.
    for (what, pattern, beside) in [
        ("a hundred lines at the end", r"line 2499\d7\d ", true),
        ("a word that is nowhere", "absent anywhere", true),
        ("every line", "line", false),
    ] {
        let rg = beside.then_some(rg.as_path());
        measure(&place, rg, &file, what, pattern).await?;
    }
    Ok(())
}

fn write_lines(file: &Path) -> Result<()> {
    let mut out = std::io::BufWriter::new(std::fs::File::create(file)?);
    for line in 0..LINES {
        writeln!(
            out,
            "line {line} of the output of a long command, {:016x} and so on, as logs are",
            line.wrapping_mul(0x9E37_79B9_7F4A_7C15)
        )?;
    }
    Ok(out.flush()?)
}

async fn measure(
    place: &Place,
    rg: Option<&Path>,
    file: &Path,
    what: &str,
    pattern: &str,
) -> Result<()> {
    let (mut tool, mut alone) = (Vec::new(), Vec::new());
    let mut matches = 0;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let answer = place.grep("s", file, pattern).await.value();
        tool.push(start.elapsed().as_secs_f64() * 1e3);
        matches = answer["matches"].as_array().map_or(0, Vec::len);
        if let Some(rg) = rg {
            alone.push(by_itself(rg, file, pattern)?);
        }
    }
    let (tool, alone) = (median(tool), median(alone));
    let figures = json!({
        "file_mb": std::fs::metadata(file)?.len() / 1_000_000,
        "searched_for": what,
        "matches_shown": matches,
        "tool_ms": tool.map(round),
        "ripgrep_alone_ms": alone.map(round),
        "ratio": tool.zip(alone).map(|(tool, alone)| round(tool / alone)),
    });
    println!("{figures}");
    Ok(())
}

fn by_itself(rg: &Path, file: &Path, pattern: &str) -> Result<f64> {
    let start = Instant::now();
    let status = Command::new(rg)
        .args(["--no-config", "--json", "--text"])
        .arg(format!("--regexp={pattern}"))
        .arg("--")
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()?;
    let ended = status.code().is_some_and(|code| code < 2);
    ensure!(ended, "ripgrep failed: {status}");
    Ok(start.elapsed().as_secs_f64() * 1e3)
}

fn median(mut times: Vec<f64>) -> Option<f64> {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied()
}

fn round(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}
