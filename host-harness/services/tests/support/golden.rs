//! The recorded answers of two published engines, and how answers are compared with them.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use dsh_services::session_query::Compression;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Logs that the engine refuses for a rule about the life cycle of turns, steps and tools, or about references between events.
/// We check none of these and read the log (SPEC-sessions 4.10).
pub const READ_ANYWAY: [&str; 7] = [
    "v4/shape-call-args-object",
    "v4/shape-call-mismatch",
    "v4/shape-call-unanswered",
    "v4/shape-delivery-wrong",
    "v4/shape-title-bad",
    "v4/shape-turn-2-first",
    "v4/shape-turn-end-early",
];

/// One directory of vectors.
pub struct Case {
    /// The format and the directory's name, such as `v0/forks`.
    pub name: String,
    /// The persistence root.
    pub root: PathBuf,
    /// How the engine was configured to store logs.
    pub compression: Compression,
    /// What was asked.
    pub requests: Vec<Value>,
    /// What was answered, in the same order.
    pub expected: Vec<Value>,
}

impl Case {
    fn read(format: &str, directory: &Path) -> Self {
        let name = directory.file_name().expect("a name").to_string_lossy();
        let name = format!("{format}/{name}");
        let list = |file: &str| match read_json(&directory.join(file)) {
            Value::Array(list) => list,
            other => panic!("{name}/{file}: {other}"),
        };
        let case = read_json(&directory.join("case.json"));
        let compression = match case["compression"].as_str() {
            Some("none") => Compression::None,
            Some("zstd") => Compression::Zstd,
            other => panic!("{name}: {other:?}"),
        };
        let (requests, expected) = (list("requests.json"), list("expected.json"));
        assert_eq!(requests.len(), expected.len(), "{name}");
        Self {
            // An absolute path without `..`, as the engines had it.
            root: directory.join("sessions").canonicalize().expect("a root"),
            name,
            compression,
            requests,
            expected,
        }
    }
}

/// The cases of one format below the directory of the vectors, in order.
pub fn cases(golden: &Path, format: &str) -> Vec<Case> {
    let mut directories: Vec<_> = fs::read_dir(golden.join(format))
        .expect("golden vectors")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    directories.sort();
    directories
        .iter()
        .map(|directory| Case::read(format, directory))
        .collect()
}

/// The file with lone surrogate escapes replaced, which no other JSON parser takes.
fn read_json(path: &Path) -> Value {
    let text =
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&without_lone_surrogates(&text))
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// JSON text in which every escape of half a surrogate pair is that of U+FFFD.
pub fn without_lone_surrogates(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let unit = |from: usize| {
            rest.get(from..from + 6)
                .filter(|escape| escape.starts_with("\\u"))
                .and_then(|escape| u16::from_str_radix(&escape[2..], 16).ok())
        };
        let (taken, replace) = match (unit(0), unit(6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => (12, false),
            (Some(0xD800..=0xDFFF), _) => (6, true),
            _ => (2, false),
        };
        out.push_str(if replace { "\\uFFFD" } else { &rest[..taken] });
        rest = &rest[taken..];
    }
    out + rest
}

/// A long string is recorded by its measures.
fn long(text: &str) -> Value {
    let units = text.encode_utf16().count();
    let digest = Sha256::digest(text.as_bytes())
        .iter()
        .fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        });
    json!({ "utf16": units, "bytes": text.len(), "sha256": digest })
}

/// Whether the values are equal as JavaScript values are: numbers by value, members in any order.
pub fn same(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::String(text)) => a.get("$long").is_some_and(|expected| {
            let actual = long(text);
            ["utf16", "bytes", "sha256"]
                .iter()
                .all(|name| expected[*name] == actual[*name])
        }),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        _ => expected == actual,
    }
}
