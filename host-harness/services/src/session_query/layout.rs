//! Where a session's log lies under its root (SPEC-sessions 3.1).

use std::path::{Path, PathBuf};

/// How a log is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Plain lines, `.jsonl`.
    None,
    /// Zstandard frames, `.jsonl.zstd`.
    Zstd,
}

impl Compression {
    /// The end of a log's file name.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        match self {
            Self::None => ".jsonl",
            Self::Zstd => ".jsonl.zstd",
        }
    }

    /// The name in configurations.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Zstd => "zstd",
        }
    }
}

/// A log's file name: its format generation and how it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileName {
    pub generation: u32,
    pub compression: Compression,
}

impl FileName {
    /// Reads `session.jsonl`, `session.v4.jsonl.zstd` and their like.
    pub fn parse(name: &str) -> Option<Self> {
        let rest = name.strip_prefix("session")?;
        let (rest, compression) = match rest.strip_suffix(Compression::Zstd.suffix()) {
            Some(rest) => (rest, Compression::Zstd),
            None => (
                rest.strip_suffix(Compression::None.suffix())?,
                Compression::None,
            ),
        };
        let generation = match rest.strip_prefix(".v") {
            None if rest.is_empty() => 0,
            None => return None,
            Some(digits)
                if digits.starts_with('0') || !digits.bytes().all(|b| b.is_ascii_digit()) =>
            {
                return None;
            }
            Some(digits) => digits.parse().ok()?,
        };
        Some(Self {
            generation,
            compression,
        })
    }
}

impl std::fmt::Display for FileName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("session")?;
        if self.generation > 0 {
            write!(f, ".v{}", self.generation)?;
        }
        f.write_str(self.compression.suffix())
    }
}

fn escape(unit: u16, out: &mut String) {
    match char::from_u32(u32::from(unit)) {
        Some(c) if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') => out.push(c),
        _ => out.push_str(&format!("~{unit:04X}")),
    }
}

/// The directory of a session inside its project's; none for an empty id.
pub fn session_segment(id: &str) -> Option<String> {
    match id {
        "" => None,
        "." => Some("~002E".to_owned()),
        ".." => Some("~002E~002E".to_owned()),
        _ => {
            let mut out = String::with_capacity(id.len());
            id.encode_utf16().for_each(|unit| escape(unit, &mut out));
            Some(out)
        }
    }
}

/// The directory of a project; none for an empty working directory.
pub fn project_segment(cwd: Option<&str>) -> Option<String> {
    let Some(cwd) = cwd else {
        return Some("_no-cwd".to_owned());
    };
    if cwd.is_empty() {
        return None;
    }
    let mut key = String::with_capacity(cwd.len());
    let mut in_run = false;
    for unit in cwd.encode_utf16() {
        if matches!(char::from_u32(u32::from(unit)), Some('/' | '\\' | ':')) {
            if !in_run {
                key.push('-');
            }
            in_run = true;
        } else {
            escape(unit, &mut key);
            in_run = false;
        }
    }
    let key = key.trim_start_matches('-');
    // Everything in a key is ASCII, so the cut is on a character boundary.
    let key = if key.is_empty() {
        "root"
    } else {
        &key[..key.len().min(251)]
    };
    Some(format!("--{key}--"))
}

/// Where the log of a session must lie; none when its header can name no path.
pub fn log_path(root: &Path, cwd: Option<&str>, id: &str, name: FileName) -> Option<PathBuf> {
    Some(
        root.join(project_segment(cwd)?)
            .join(session_segment(id)?)
            .join(name.to_string()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_escaped_without_loss() {
        for (id, segment) in [
            ("session-1", "session-1"),
            (".", "~002E"),
            ("..", "~002E~002E"),
            ("../x", "..~002Fx"),
            ("a/b", "a~002Fb"),
            ("~", "~007E"),
            ("é 😀", "~00E9~0020~D83D~DE00"),
        ] {
            assert_eq!(session_segment(id).as_deref(), Some(segment));
        }
        assert_eq!(session_segment(""), None);
    }

    #[test]
    fn projects_are_readable_and_bounded() {
        let long = format!("/{}", "x".repeat(300));
        let cut = format!("--{}--", "x".repeat(251));
        for (cwd, segment) in [
            ("/work/app", "--work-app--"),
            ("//work///app:x", "--work-app-x--"),
            ("C:\\work", "--C-work--"),
            ("/", "--root--"),
            ("/a~b", "--a~007Eb--"),
            (&long, &cut),
        ] {
            assert_eq!(project_segment(Some(cwd)).as_deref(), Some(segment));
        }
        assert_eq!(project_segment(None).as_deref(), Some("_no-cwd"));
        assert_eq!(project_segment(Some("")), None);
    }

    #[test]
    fn file_names_name_a_generation() {
        for (name, generation, compression) in [
            ("session.jsonl", 0, Compression::None),
            ("session.jsonl.zstd", 0, Compression::Zstd),
            ("session.v4.jsonl", 4, Compression::None),
            ("session.v12.jsonl.zstd", 12, Compression::Zstd),
        ] {
            let parsed = FileName {
                generation,
                compression,
            };
            assert_eq!(FileName::parse(name), Some(parsed));
            assert_eq!(parsed.to_string(), name);
        }
        for name in [
            "session.lock",
            "session.v0.jsonl",
            "session.v04.jsonl",
            "session.v.jsonl",
            "session.v99999999999.jsonl",
            "sessions.jsonl",
            "session.v4.jsonl.gz",
            "x.jsonl",
        ] {
            assert_eq!(FileName::parse(name), None, "{name}");
        }
    }
}
