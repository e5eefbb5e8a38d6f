//! `context_grep` over a spill file: how ripgrep is called and how its end is judged (SPEC 5.2, 5.6). Nothing here starts a process.

use crate::errors::ToolError;
use crate::services::Exit;
use dsh_guest_support::js_space;

/// The most bytes of a pattern. Linux refuses program arguments of 131,072 bytes.
pub const MAX_PATTERN_BYTES: usize = 65_536;
/// The most bytes of a path. No operating system of ours opens a longer one.
pub const MAX_PATH_BYTES: usize = 4_096;
/// How many bytes of ripgrep's standard error are kept.
pub const STDERR_MAX_BYTES: u64 = 65_536;
/// How many bytes of it an error message shows; the end of a message is what names the fault.
const STDERR_SHOWN_BYTES: usize = 2_000;

/// Which of the two runs is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Whole lines as JSON records.
    Lines,
    /// Line numbers and the matching parts alone, for files whose lines are too long to be read whole.
    OnlyMatching,
}

/// The argument vector. `--no-config` comes first, since a configuration file could name a program to run on each file; pattern and path
/// cannot be taken for options where they stand.
pub fn argv(rg: &str, mode: Mode, pattern: &str, path: &str) -> Vec<String> {
    let form: &[&str] = match mode {
        Mode::Lines => &["--json"],
        Mode::OnlyMatching => &[
            "--only-matching",
            "--line-number",
            "--no-heading",
            "--no-filename",
            "--color=never",
        ],
    };
    let pattern = format!("--regexp={pattern}");
    let head = [rg, "--no-config"].into_iter();
    let tail = ["--text", &pattern, "--", path].into_iter();
    head.chain(form.iter().copied())
        .chain(tail)
        .map(str::to_owned)
        .collect()
}

/// Refuses a pattern that no search can be made for.
pub fn check_pattern(pattern: &str) -> Result<(), ToolError> {
    if pattern.is_empty() {
        return Err(ToolError::EmptyPattern);
    }
    Ok(())
}

/// Refuses a pattern that cannot be passed to a program.
pub fn check_argument(pattern: &str) -> Result<(), ToolError> {
    if pattern.contains('\0') {
        return Err(ToolError::NulInPattern);
    }
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(ToolError::LongPattern);
    }
    Ok(())
}

/// Refuses what cannot be the path of a spill file, before the host is asked.
pub fn check_path(path: &str) -> Result<(), ToolError> {
    let fit = path.starts_with('/') && !path.contains(['\0', '\n']) && path.len() <= MAX_PATH_BYTES;
    if fit {
        Ok(())
    } else {
        Err(ToolError::InvalidPath)
    }
}

/// Why ripgrep gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SearchFailure {
    /// It did not accept the pattern.
    #[error("pattern rejected by ripgrep: {0}")]
    Pattern(String),
    /// It ended with a code that means failure.
    #[error("search failed (exit {code}){}", colon(.stderr))]
    Exit {
        /// The exit code.
        code: i32,
        /// What it wrote to standard error.
        stderr: String,
    },
    /// A signal ended it.
    #[error("search was killed by signal {0}")]
    Signal(String),
    /// It was not found or could not be started; the reason is for the log.
    #[error("search could not start")]
    NotStarted(String),
    /// Its output was not what it should be.
    #[error("search failed ({0})")]
    Output(&'static str),
    /// Something matched, but not even a line number fits into `grepMaxBytes`.
    #[error("search failed (grepMaxBytes {0} is too small for one match)")]
    CapTooSmall(u64),
}

impl SearchFailure {
    /// Code for `error.info.code`.
    pub fn code(&self) -> &'static str {
        match self {
            SearchFailure::Pattern(_) => "CONTEXT_PROXY_INVALID_PATTERN",
            _ => "CONTEXT_PROXY_SEARCH_FAILED",
        }
    }

    /// What the model is not told.
    pub fn detail(&self) -> Option<&str> {
        match self {
            SearchFailure::NotStarted(reason) => Some(reason),
            _ => None,
        }
    }
}

fn colon(stderr: &str) -> String {
    if stderr.is_empty() {
        String::new()
    } else {
        format!(": {stderr}")
    }
}

/// Whether a run that came to its own end found something; `found` says what was read from it.
pub fn judge_exit(exit: &Exit, stderr: &str, found: bool) -> Result<(), SearchFailure> {
    let Some(code) = exit.code else {
        let signal = exit.signal.clone();
        return Err(SearchFailure::Signal(
            signal.unwrap_or_else(|| "unknown".to_owned()),
        ));
    };
    match (code, found) {
        (0, true) | (1, false) => Ok(()),
        // Its output and its exit code must agree, or an answer could look like "not found" where something was lost.
        (0, false) => Err(SearchFailure::Output(
            "ripgrep reported a match and printed none",
        )),
        (1, true) => Err(SearchFailure::Output(
            "ripgrep printed a match and reported none",
        )),
        _ => Err(failed(code, stderr)),
    }
}

/// The three texts with which ripgrep 15 rejects a pattern.
const PATTERN_TEXTS: [&str; 3] = [
    "regex parse error",
    "not allowed in a regex",
    "exceeds size limit",
];

fn failed(code: i32, stderr: &str) -> SearchFailure {
    let all = js_space::trim(stderr);
    let shown = &all[all.ceil_char_boundary(all.len().saturating_sub(STDERR_SHOWN_BYTES))..];
    if PATTERN_TEXTS.iter().any(|text| all.contains(text)) {
        SearchFailure::Pattern(shown.to_owned())
    } else {
        SearchFailure::Exit {
            code,
            stderr: shown.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exit(code: i32) -> Exit {
        Exit {
            code: Some(code),
            signal: None,
        }
    }

    fn judged(code: i32, stderr: &str, found: bool) -> String {
        judge_exit(&exit(code), stderr, found).map_or_else(|e| e.to_string(), |()| "ok".to_owned())
    }

    #[test]
    fn output_and_exit_code_must_agree() {
        assert_eq!(judged(0, "", true), "ok");
        assert_eq!(judged(1, "", false), "ok");
        assert_eq!(
            judged(0, "", false),
            "search failed (ripgrep reported a match and printed none)"
        );
        assert_eq!(
            judged(1, "", true),
            "search failed (ripgrep printed a match and reported none)"
        );
    }

    #[test]
    fn every_rejection_of_a_pattern_is_told_apart_from_other_failures() {
        for stderr in [
            "rg: regex parse error:\n    (?:()\n    ^\nerror: unclosed group\n",
            "rg: the literal \"\\n\" is not allowed in a regex\n",
            "rg: compiled regex exceeds size limit of 104857600\n",
        ] {
            let failure = judge_exit(&exit(2), stderr, false).unwrap_err();
            assert_eq!(failure.code(), "CONTEXT_PROXY_INVALID_PATTERN");
            assert_eq!(
                failure.to_string(),
                format!("pattern rejected by ripgrep: {}", stderr.trim_end())
            );
        }
        let failure = judge_exit(&exit(2), "rg: /x: Permission denied\n", true).unwrap_err();
        assert_eq!(failure.code(), "CONTEXT_PROXY_SEARCH_FAILED");
        assert_eq!(
            failure.to_string(),
            "search failed (exit 2): rg: /x: Permission denied"
        );
        assert_eq!(judged(3, " \n", false), "search failed (exit 3)");
    }

    #[test]
    fn a_long_message_keeps_its_end() {
        let stderr = format!(
            "rg: regex parse error: {}é unclosed group",
            "(".repeat(5_000)
        );
        let text = judged(2, &stderr, false);
        assert!(text.ends_with("unclosed group"));
        assert!(text.len() <= STDERR_SHOWN_BYTES + 40);
    }

    #[test]
    fn a_signal_is_named() {
        let killed = |signal: Option<&str>| {
            let exit = Exit {
                code: None,
                signal: signal.map(str::to_owned),
            };
            judge_exit(&exit, "", true).unwrap_err().to_string()
        };
        assert_eq!(
            killed(Some("SIGKILL")),
            "search was killed by signal SIGKILL"
        );
        assert_eq!(killed(None), "search was killed by signal unknown");
    }
}
