//! Output as ripgrep 15.0.0 prints it with `--json`.

use serde_json::{Value, json};

fn line(record: &Value) -> String {
    format!("{record}\n")
}

pub fn begin() -> String {
    line(&json!({"type": "begin", "data": {"path": {"text": super::SPILL_PATH}}}))
}

pub fn end() -> String {
    line(&json!({"type": "end", "data": {
        "path": {"text": super::SPILL_PATH}, "binary_offset": null,
        "stats": {"elapsed": {"secs": 0, "nanos": 58083, "human": "0.000058s"}, "searches": 1, "searches_with_match": 1,
                  "bytes_searched": 43, "bytes_printed": 821, "matched_lines": 4, "matches": 4}
    }}))
}

pub fn summary() -> String {
    line(&json!({"data": {
        "elapsed_total": {"human": "0.000796s", "nanos": 795649, "secs": 0},
        "stats": {"bytes_printed": 821, "bytes_searched": 43, "elapsed": {"human": "0.000058s", "nanos": 58083, "secs": 0},
                  "matched_lines": 4, "matches": 4, "searches": 1, "searches_with_match": 1}
    }, "type": "summary"}))
}

fn match_record(lines: Value, number: u64, start: usize, end: usize) -> String {
    line(&json!({"type": "match", "data": {
        "path": {"text": super::SPILL_PATH}, "lines": lines, "line_number": number, "absolute_offset": 0,
        "submatches": [{"match": {"text": "hit"}, "start": start, "end": end}]
    }}))
}

/// A matching line; the hit is where `hit` first stands in it.
pub fn hit(number: u64, text: &str, hit: &str) -> String {
    let start = text.find(hit).unwrap();
    match_record(json!({"text": text}), number, start, start + hit.len())
}

/// A matching line that is not UTF-8, in Base64.
pub fn hit_in_bytes(number: u64, base64: &str, start: usize, end: usize) -> String {
    match_record(json!({"bytes": base64}), number, start, end)
}

/// What a search with these match records prints.
pub fn whole(matches: &[String]) -> String {
    if matches.is_empty() {
        return summary();
    }
    format!("{}{}{}{}", begin(), matches.concat(), end(), summary())
}
