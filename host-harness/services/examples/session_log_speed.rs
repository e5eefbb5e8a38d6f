//! How fast a large session log is queried, and how much memory that takes.
//!
//! Writes a log of about 200 MB into a temporary directory, plain and compressed, and prints one line of figures for each:
//! the time of only decompressing and parsing its lines, a cold query, the same query again, a cold `readEvent`, the
//! resident memory, and the two ratios that count.
//!
//! `cargo run --release -p dsh-services --example session_log_speed [EVENTS]`

use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::time::Instant;

use dsh_services::session_query::{
    Cancel, EventFilter, LocalOptions, LocalSessionQuery, ReadRequest, SessionQuery,
};
use serde_json::{Value, json};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let events = std::env::args()
        .nth(1)
        .map_or(Ok(300_000), |count| count.parse())?;
    for (file, compressed) in [("session.jsonl", false), ("session.jsonl.zstd", true)] {
        let root = tempfile::tempdir()?;
        let directory = root.path().join("--work-app--/large");
        fs::create_dir_all(&directory)?;
        let path = directory.join(file);
        let plain_bytes = write_log(&path, events, compressed)?;
        measure(root.path(), &path, compressed, plain_bytes)?;
    }
    Ok(())
}

fn measure(root: &Path, path: &Path, compressed: bool, plain_bytes: u64) -> Result<()> {
    let (started, cpu_before) = (Instant::now(), cpu_ms()?);
    let lines = parse_only(path, compressed)?;
    let parse_ms = started.elapsed().as_millis();
    let parse_cpu_ms = cpu_ms()?;

    let memory_before = resident_bytes("VmRSS")?;
    let service = LocalSessionQuery::new(LocalOptions::new(root.to_owned()));
    let cancel = Cancel::new();
    let query = |text: &str| -> Result<(usize, u128)> {
        let started = Instant::now();
        let found =
            service.filter_events("large", &[EventFilter::Text(text.to_owned())], &cancel)?;
        Ok((found.len(), started.elapsed().as_millis()))
    };
    let (hits, cold_ms) = query("needle in event")?;
    let cold_cpu_ms = cpu_ms()? - parse_cpu_ms;
    let (_, warm_ms) = query("needle in event")?;
    let (_, absent_ms) = query("nowhere to be found")?;
    let (_, common_letters_ms) = query("ess")?;
    let started = Instant::now();
    let window = service.read_event(
        "large",
        &ReadRequest {
            seq: 100_000.0,
            before: 50.0,
            after: 50.0,
        },
        &cancel,
    )?;
    let read_ms = started.elapsed().as_millis();
    let ratio = |a: u128, b: u128| (a * 100 / b.max(1)) as f64 / 100.0;
    let peak = resident_bytes("VmHWM")?.saturating_sub(memory_before);
    let figures = json!({
        "cold_query_over_parse_only": ratio(cold_ms, parse_ms),
        "peak_growth_over_plain": ratio(peak.into(), plain_bytes.into()),
        "compressed": compressed,
        "plain_mb": plain_bytes >> 20,
        "file_mb": fs::metadata(path)?.len() >> 20,
        "lines": lines,
        "parse_only_ms": parse_ms,
        "parse_only_cpu_ms": parse_cpu_ms - cpu_before,
        "cold_query_ms": cold_ms,
        "cold_query_cpu_ms": cold_cpu_ms,
        "hits": hits,
        "warm_query_ms": warm_ms,
        "absent_query_ms": absent_ms,
        "common_letters_query_ms": common_letters_ms,
        "read_event_ms": read_ms,
        "window": window.events.len(),
        "resident_growth_mb": resident_bytes("VmRSS")?.saturating_sub(memory_before) >> 20,
        "peak_growth_mb": peak >> 20,
        "cached_mb": service.cached_bytes() >> 20,
    });
    println!("{figures}");
    Ok(())
}

/// The floor that a cold query is compared with.
fn parse_only(path: &Path, compressed: bool) -> Result<usize> {
    let file = fs::File::open(path)?;
    let reader: Box<dyn BufRead> = if compressed {
        Box::new(BufReader::with_capacity(
            1 << 20,
            zstd::stream::Decoder::new(file)?,
        ))
    } else {
        Box::new(BufReader::with_capacity(1 << 20, file))
    };
    let mut lines = 0;
    for line in reader.lines() {
        serde_json::from_str::<Value>(&line?)?;
        lines += 1;
    }
    Ok(lines)
}

/// Linux's own account of the process, in bytes.
fn resident_bytes(name: &str) -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find(|line| line.starts_with(name))
        .ok_or("no such line in /proc/self/status")?;
    let kilobytes = line
        .split_whitespace()
        .nth(1)
        .ok_or("no number in /proc/self/status")?;
    Ok(kilobytes.parse::<u64>()? * 1024)
}

/// The processor time of all threads so far, which other programs on the machine do not add to. Linux counts in hundredths.
fn cpu_ms() -> Result<u64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields = stat
        .rsplit(") ")
        .next()
        .ok_or("no fields in /proc/self/stat")?;
    let ticks: u64 = fields
        .split(' ')
        .skip(11)
        .take(2)
        .map(str::parse::<u64>)
        .sum::<std::result::Result<_, _>>()?;
    Ok(ticks * 10)
}

/// A log of turns with a question, packed chunks, an answer with a call, and a result; each batch is a frame of its own.
fn write_log(path: &Path, events: u64, compressed: bool) -> Result<u64> {
    let mut file = std::io::BufWriter::new(fs::File::create(path)?);
    let mut plain_bytes = 0;
    let mut put = |text: &str| -> Result<()> {
        plain_bytes += text.len() as u64;
        if compressed {
            let mut encoder = zstd::stream::Encoder::new(&mut file, 3)?;
            encoder.include_checksum(true)?;
            encoder.write_all(text.as_bytes())?;
            encoder.finish()?;
        } else {
            file.write_all(text.as_bytes())?;
        }
        Ok(())
    };
    let header = json!({"type":"session","version":0,"id":"large","createdAt":1,"cwd":"/work/app","delegationDepth":0});
    put(&format!("{header}\n"))?;
    let (mut seq, mut turn) = (0, 0);
    let mut words = Words(1);
    while seq < events {
        turn += 1;
        put(&turn_lines(&mut seq, turn, &mut words))?;
    }
    file.flush()?;
    Ok(plain_bytes)
}

fn turn_lines(seq: &mut u64, turn: u64, words: &mut Words) -> String {
    let mut lines = String::new();
    let mut event = |kind: &str, data: Value, sources: Option<Vec<u64>>| {
        let mut event = json!({ "type": kind, "seq": *seq, "time": 1_767_225_600_000_u64 + *seq, "data": data });
        if matches!(kind, "user/message" | "assistant/message" | "tool/result") {
            event["surfaceOp"] = "append".into();
        }
        if let Some(sources) = sources {
            event["sourceEventSeqs"] = json!(sources);
        }
        lines.push_str(&format!("{event}\n"));
        *seq += 1;
        *seq - 1
    };
    let at = json!({ "turn": turn, "step": 1 });
    let with = |extra: Value| {
        let mut data = at.clone();
        if let (Some(data), Value::Object(extra)) = (data.as_object_mut(), extra) {
            data.extend(extra);
        }
        data
    };
    event("turn/start", json!({ "turn": turn }), None);
    event("step/start", at.clone(), None);
    let needle = if turn.is_multiple_of(500) {
        "a Needle in EVENT "
    } else {
        ""
    };
    let question = format!("{needle}{}", words.text(600));
    event(
        "user/message",
        json!({ "id": format!("u{turn}"), "role": "user", "content": [{ "type": "text", "text": question }], "source": { "kind": "user" } }),
        None,
    );
    for _ in 0..3 {
        let chunk =
            with(json!({ "chunk": { "type": "text-delta", "index": 0, "text": words.text(60) } }));
        event("assistant/chunk", chunk, None);
    }
    let arguments = json!({ "command": words.text(200) }).to_string();
    let call = format!("call_{turn}");
    let answer = json!({
        "id": format!("a{turn}"),
        "role": "assistant",
        "content": [
            { "type": "reasoning", "text": words.text(400) },
            { "type": "text", "text": words.text(700) },
            { "type": "tool-call", "id": call, "name": "bash", "arguments": arguments },
        ],
        "source": { "kind": "model", "provider": "deepseek", "model": "deepseek-chat" },
    });
    event(
        "assistant/message",
        with(json!({ "message": answer })),
        None,
    );
    let called = event(
        "tool/call",
        with(json!({ "callId": call, "name": "bash", "arguments": arguments })),
        None,
    );
    let result = json!({
        "id": format!("r{turn}"),
        "role": "user",
        "content": [{ "type": "tool-result", "toolCallId": call, "content": [{ "type": "text", "text": words.text(4_500) }], "isError": false }],
        "source": { "kind": "tool", "callId": call },
    });
    event(
        "tool/result",
        with(json!({ "message": result })),
        Some(vec![called]),
    );
    event("step/end", at, None);
    event(
        "turn/end",
        json!({ "turn": turn, "reason": { "kind": "completed" } }),
        None,
    );
    lines
}

/// Text that compresses about as well as real transcripts do.
struct Words(u64);

impl Words {
    fn text(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 16);
        while text.len() < bytes {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let word = self.0 >> 33;
            match word % 16 {
                0 => text.push('\n'),
                1 => text.push_str("\t\"quoted\" "),
                _ => text.push_str(&format!("{:x} ", word % 50_000)),
            }
        }
        text
    }
}
