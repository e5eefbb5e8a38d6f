//! Session logs of format 0, row by row, and how they are stored.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The header of a session that works in no directory.
pub fn header(id: &str) -> Value {
    json!({"type":"session","version":0,"id":id,"createdAt":1,"delegationDepth":0})
}

/// An event without a place on the surface.
pub fn event(kind: &str, seq: u64, data: Value) -> Value {
    json!({"type":kind,"seq":seq,"time":seq,"data":data})
}

pub fn turn_start(seq: u64) -> Value {
    event("turn/start", seq, json!({"turn":1}))
}

pub fn step_start(seq: u64) -> Value {
    event("step/start", seq, json!({"turn":1,"step":1}))
}

pub fn step_end(seq: u64) -> Value {
    event("step/end", seq, json!({"turn":1,"step":1}))
}

pub fn turn_end(seq: u64) -> Value {
    event(
        "turn/end",
        seq,
        json!({"turn":1,"reason":{"kind":"completed"}}),
    )
}

/// An event on the surface.
fn appended(kind: &str, seq: u64, data: Value) -> Value {
    let mut row = event(kind, seq, data);
    row["surfaceOp"] = "append".into();
    row
}

pub fn user(seq: u64, text: &str) -> Value {
    let message = json!({"id":format!("m{seq}"),"role":"user","content":[{"type":"text","text":text}],"source":{"kind":"user"}});
    appended("user/message", seq, message)
}

/// An answer of the model.
pub fn assistant(seq: u64, content: Value) -> Value {
    let message = json!({"id":format!("m{seq}"),"role":"assistant","content":content,"source":{"kind":"model","provider":"p","model":"m"}});
    appended(
        "assistant/message",
        seq,
        json!({"turn":1,"step":1,"message":message}),
    )
}

pub fn tool_call(seq: u64, call: &str, name: &str, arguments: &str) -> Value {
    event(
        "tool/call",
        seq,
        json!({"turn":1,"step":1,"callId":call,"name":name,"arguments":arguments}),
    )
}

pub fn tool_result(seq: u64, call: &str, text: &str) -> Value {
    let block = json!({"type":"tool-result","toolCallId":call,"content":[{"type":"text","text":text}],"isError":false});
    let message = json!({"id":format!("m{seq}"),"role":"user","content":[block],"source":{"kind":"tool","callId":call}});
    appended(
        "tool/result",
        seq,
        json!({"turn":1,"step":1,"message":message}),
    )
}

/// The same event with another place on the surface: it replaces these, both included.
pub fn replacing(mut row: Value, start: u64, end: u64) -> Value {
    row["surfaceOp"] = json!({"op":"replace","start":start,"end":end});
    row["sourceEventSeqs"] = (start..=end).collect();
    row
}

/// Rows as lines.
pub fn lines(rows: &[Value]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

/// One Zstandard frame with a checksum, as each batch of a compressed log is one.
pub fn frame(text: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).expect("an encoder");
    encoder.include_checksum(true).expect("a checksum");
    encoder.write_all(text).expect("memory");
    encoder.finish().expect("memory")
}

/// Writes the log of a session without a directory, and tells its path. The identifier must need no escaping.
pub fn write_log(root: &Path, header: &Value, rows: &[Value]) -> PathBuf {
    let id = header["id"].as_str().expect("an id");
    let directory = root.join("_no-cwd").join(id);
    fs::create_dir_all(&directory).expect("a directory");
    let path = directory.join("session.jsonl");
    fs::write(&path, format!("{header}\n{}", lines(rows))).expect("a log");
    path
}

/// What stands for a session in the name of its spill directory.
pub fn short_hash(id: &str) -> String {
    Sha256::digest(id.as_bytes())
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
