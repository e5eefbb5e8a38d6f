//! What the commands over recorded sessions share: where the logs are, and how answers and failures are printed.

use super::session::default_sessions;
use super::{Outcome, Stop, style};
use clap::Args;
use dsh_services::session_query::{
    Compression, LocalOptions, LocalSessionQuery, SessionQueryError,
};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;

/// Where the logs are, and the form of the answer.
#[derive(Args, Clone)]
pub(crate) struct Logs {
    /// Directory of recorded sessions [default: $DSH_HOME/sessions, else ~/.dsh/sessions]
    #[arg(long, value_name = "ROOT")]
    sessions: Option<PathBuf>,
    /// How logs are stored; the other way is then an error [default: both are read]
    #[arg(long, value_name = "HOW")]
    compression: Option<Stored>,
    /// Print the value of ctx.sessionQuery as JSON, or {"error":{"code":…,"message":…}}
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Stored {
    /// `.jsonl.zstd`
    Zstd,
    /// `.jsonl`
    None,
}

impl Logs {
    /// Whether the answer is for a program.
    pub(crate) fn json(&self) -> bool {
        self.json
    }

    /// The directory of the sessions.
    pub(crate) fn root(&self) -> Result<PathBuf, Stop> {
        let root = match &self.sessions {
            Some(root) if !root.exists() => {
                let message = format!("--sessions: there is no {}", root.display());
                return Err(Stop::usage(message));
            }
            Some(root) => root.clone(),
            None => default_sessions(),
        };
        std::path::absolute(root).map_err(|error| Stop::usage(format!("--sessions: {error}")))
    }

    /// The service over these logs.
    pub(crate) fn service(&self) -> Result<LocalSessionQuery, Stop> {
        let compression = self.compression.map(|stored| match stored {
            Stored::Zstd => Compression::Zstd,
            Stored::None => Compression::None,
        });
        Ok(LocalSessionQuery::new(LocalOptions {
            compression,
            ..LocalOptions::new(self.root()?)
        }))
    }

    /// Prints what the service answered: as JSON, or as `readable` puts it.
    pub(crate) fn print<T>(
        &self,
        answer: Result<T, SessionQueryError>,
        value: impl FnOnce(&T) -> Value,
        readable: impl FnOnce(&mut dyn Write, &T) -> std::io::Result<()>,
    ) -> Outcome {
        if self.json {
            return print_json(answer.as_ref().map(value));
        }
        let answer = answer.map_err(|error| Stop::Failed(described(&error)))?;
        let mut out = std::io::BufWriter::new(anstream::stdout().lock());
        readable(&mut out, &answer)?;
        Ok(out.flush()?)
    }
}

/// Not through `anstream`, which would take what looks like an escape sequence out of a text.
fn print_json(answer: Result<Value, &SessionQueryError>) -> Outcome {
    let failed = answer.is_err();
    let value = answer.unwrap_or_else(
        |error| json!({ "error": { "code": error.code(), "message": error.to_string() } }),
    );
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    writeln!(out, "{value}")?;
    out.flush()?;
    if failed { Err(Stop::ToolError) } else { Ok(()) }
}

fn described(error: &SessionQueryError) -> String {
    let message = printable(&error.to_string());
    match error.code() {
        Some(code) => format!("{message} ({code})"),
        None => message,
    }
}

/// A number as it was given. Text that is no number is not a number for the service either, which then says what it wants.
pub(crate) fn number(text: &str) -> f64 {
    text.trim().parse().unwrap_or(f64::NAN)
}

/// A text from a log, fit for a terminal: what could move the cursor, change colours or turn lines around is shown by its number.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        let turns = matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
        if turns || (c.is_control() && !matches!(c, '\n' | '\t')) {
            // A String takes everything.
            let _ = write!(shown, "{}", c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// A text under a heading of its own, indented. Nothing is printed for an empty one.
pub(crate) fn indented(out: &mut dyn Write, text: &str) -> std::io::Result<()> {
    // Only a line feed ends a line: with a carriage return before it, the text would not be what stands in the log.
    for line in printable(text).split('\n').filter(|_| !text.is_empty()) {
        writeln!(out, "    {line}")?;
    }
    Ok(())
}

/// The line above an event: how it is cited, its type, its time.
pub(crate) fn heading(
    out: &mut dyn Write,
    seq: u64,
    event_type: &str,
    time: i64,
    more: &str,
) -> std::io::Result<()> {
    let kind = printable(event_type);
    writeln!(
        out,
        "{}session:{seq}{}  {kind}  {}{}{more}{}",
        style::NAME,
        style::RESET,
        style::FAINT,
        when(time),
        style::RESET
    )
}

/// A time in milliseconds since the epoch, in UTC; one beyond the calendar as the number that it is.
pub(crate) fn when(time: i64) -> String {
    match chrono::DateTime::from_timestamp_millis(time) {
        Some(time) => time.format("%Y-%m-%d %H:%M:%S%.3fZ").to_string(),
        None => format!("{time} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        // As `date -u -d @…` prints them.
        for (time, shown) in [
            (0, "1970-01-01 00:00:00.000Z"),
            (-1, "1969-12-31 23:59:59.999Z"),
            (951_782_399_999, "2000-02-28 23:59:59.999Z"),
            (951_782_400_000, "2000-02-29 00:00:00.000Z"),
            (1_767_225_601_212, "2026-01-01 00:00:01.212Z"),
            (4_107_542_400_000, "2100-03-01 00:00:00.000Z"),
            (9_007_199_254_740_991, "9007199254740991 ms"),
        ] {
            assert_eq!(when(time), shown);
        }
    }

    #[test]
    fn what_is_no_number_is_not_one() {
        for (text, value) in [("8", 8.0), ("-1", -1.0), (" 1.5 ", 1.5), ("1e3", 1e3)] {
            assert_eq!(number(text), value);
        }
        assert!(number("Infinity").is_infinite());
        for text in ["NaN", "", "eight", "1,5", "0x"] {
            assert!(number(text).is_nan(), "{text}");
        }
    }

    #[test]
    fn nothing_that_a_terminal_obeys_is_printed() {
        let hostile = "a\u{1b}[2J\u{7}\r\u{9b}31m\u{202e}b\tc\nd";
        let shown = printable(hostile);
        assert_eq!(shown, "a\\u{1b}[2J\\u{7}\\u{d}\\u{9b}31m\\u{202e}b\tc\nd");
    }
}
