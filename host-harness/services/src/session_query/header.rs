//! The first line of a log (SPEC-sessions 3.2).

use serde_json::{Map, Value};

use super::js::is_safe_integer;
use super::kinds::Format;
use super::repair;
use super::types::Header;
use crate::json;

/// A header that its format lists.
#[derive(Debug, Clone, PartialEq)]
pub struct LogHeader {
    pub header: Header,
    pub format: Format,
    /// Format 4: whether the session began with the events of another.
    pub is_seeded: bool,
    /// What makes the log corrupt although it is listed; format 0 only.
    pub fault: Option<String>,
}

/// What a first line is.
#[derive(Debug, Clone, PartialEq)]
pub enum HeaderLine {
    /// A header.
    Listed(Box<LogHeader>),
    /// Nothing that is listed.
    Skipped,
    /// Something that makes the listing of the whole root fail.
    Fatal(String),
}

/// The version that the reader of a format calls its own.
pub fn version(format: Format) -> u32 {
    match format {
        Format::V0 => 0,
        Format::V4 => 4,
    }
}

/// Reads the first line of a file whose name stands for the generation `generation`.
pub fn read(line: &str, generation: u32) -> HeaderLine {
    let line = repair::lone_surrogates(line);
    let Ok(Value::Object(members)) = json::parse(&line) else {
        return HeaderLine::Skipped;
    };
    if generation == 0 {
        read_v0(&members)
    } else {
        read_later(&members, generation)
    }
}

fn is_retired(members: &Map<String, Value>) -> bool {
    members.contains_key("sandboxMode") || members.contains_key("approvalPolicy")
}

fn retired() -> HeaderLine {
    HeaderLine::Fatal("session header uses retired policy baseline fields".to_owned())
}

/// A whole number from 0, and not the negative zero.
fn count(value: Option<&Value>) -> Option<f64> {
    value
        .and_then(Value::as_f64)
        .filter(|number| is_safe_integer(*number) && *number >= 0.0 && number.is_sign_positive())
}

fn string(members: &Map<String, Value>, name: &str) -> Option<String> {
    members.get(name).and_then(Value::as_str).map(str::to_owned)
}

/// Whether the member is absent or a string.
fn optional_string(members: &Map<String, Value>, name: &str) -> bool {
    members.get(name).is_none_or(Value::is_string)
}

fn build(
    members: &Map<String, Value>,
    names: &[&str],
    format: Format,
    is_seeded: bool,
) -> Option<LogHeader> {
    let created_at = count(members.get("createdAt"))?;
    count(members.get("delegationDepth"))?;
    if members.get("type")? != "session"
        || !members
            .get("origin")
            .is_none_or(|origin| origin == "subagent")
    {
        return None;
    }
    let header = Header {
        id: string(members, "id")?,
        version: members.get("version")?.as_f64()?,
        created_at: created_at as i64,
        cwd: string(members, "cwd"),
        parent_session: string(members, "parentSession"),
        members: names
            .iter()
            .filter_map(|name| {
                members
                    .get(*name)
                    .map(|value| ((*name).to_owned(), value.clone()))
            })
            .collect(),
    };
    optional_string(members, "agentPreset").then_some(LogHeader {
        header,
        format,
        is_seeded,
        fault: None,
    })
}

fn read_v0(members: &Map<String, Value>) -> HeaderLine {
    const NAMES: [&str; 9] = [
        "version",
        "id",
        "createdAt",
        "cwd",
        "parentSession",
        "seedLength",
        "origin",
        "delegationDepth",
        "agentPreset",
    ];
    let Some(mut header) = build(members, &NAMES, Format::V0, false) else {
        return HeaderLine::Skipped;
    };
    if is_retired(members) {
        return retired();
    }
    if !optional_string(members, "cwd") {
        return HeaderLine::Fatal(
            "corrupt session log: header cwd cannot name a storage path".to_owned(),
        );
    }
    header.fault = match &header.header.cwd {
        Some(cwd) if !cwd.starts_with('/') => Some(format!(
            "session header cwd must be an absolute path, got \"{cwd}\""
        )),
        _ if !optional_string(members, "parentSession") => {
            Some("session header parentSession must be a string".to_owned())
        }
        _ => members
            .get("seedLength")
            .filter(|length| {
                length
                    .as_f64()
                    .is_none_or(|length| !is_safe_integer(length) || length < 0.0)
            })
            .map(|_| "session header seedLength must be a non-negative safe integer".to_owned()),
    };
    HeaderLine::Listed(Box::new(header))
}

fn read_later(members: &Map<String, Value>, generation: u32) -> HeaderLine {
    const NAMES: [&str; 9] = [
        "version",
        "id",
        "createdAt",
        "cwd",
        "parentSession",
        "isSeeded",
        "origin",
        "delegationDepth",
        "agentPreset",
    ];
    if is_retired(members) {
        return retired();
    }
    match members.get("version").and_then(Value::as_f64) {
        None => return HeaderLine::Skipped,
        Some(version) if version != f64::from(generation) => {
            return HeaderLine::Fatal(format!(
                "session generation filename identifies v{generation}, but its header identifies v{version}"
            ));
        }
        Some(_) if generation != version(Format::V4) => return HeaderLine::Skipped,
        Some(_) => {}
    }
    let closed = members
        .keys()
        .all(|name| name == "type" || NAMES.contains(&name.as_str()));
    let absolute = members
        .get("cwd")
        .is_none_or(|cwd| cwd.as_str().is_some_and(|cwd| cwd.starts_with('/')));
    let seeded = members.get("isSeeded").and_then(Value::as_bool);
    match seeded.and_then(|seeded| build(members, &NAMES, Format::V4, seeded)) {
        Some(header) if closed && absolute && optional_string(members, "parentSession") => {
            HeaderLine::Listed(Box::new(header))
        }
        _ => HeaderLine::Skipped,
    }
}

/// Why a listed format 0 header cannot be read.
pub fn unsupported(header: &LogHeader) -> Option<String> {
    let (id, found) = (&header.header.id, header.header.version);
    let own = f64::from(version(header.format));
    if found == own {
        return None;
    }
    Some(if found > own {
        format!(
            "session \"{id}\" uses log format v{found}, but this harness reads only v{own}: the log was written by a newer \
             harness — upgrade the harness to open it"
        )
    } else {
        format!(
            "session \"{id}\" uses log format v{found}, older than the supported v{own}, and this build ships no upgrade \
             path for it"
        )
    })
}
