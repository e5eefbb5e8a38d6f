//! `context_grep`: what is asked, before it is known what can be searched (SPEC 5.1).

use crate::arguments::Arguments;
use crate::errors::ToolError;
use crate::grep_session::Match;
use crate::grep_spill::{check_argument, check_path, check_pattern};
use crate::output::{self, Budget, Matches};
use crate::rg_json::LineMatch;
use std::ops::ControlFlow;

/// Where answers from spill files say that they come from.
const SOURCE: Option<&str> = Some("spill");

/// What the model asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// A regular expression for a spill file, a literal text for the session.
    pub pattern: &'a str,
    /// The spill file.
    pub path: Option<&'a str>,
    /// The most matches.
    pub limit: u32,
}

/// Reads the arguments.
pub fn request(arguments: &Arguments) -> Result<Request<'_>, ToolError> {
    // The schema requires `pattern`, so it is there.
    let pattern = arguments.text("pattern").unwrap_or_default();
    check_pattern(pattern)?;
    let path = arguments.text("path");
    if let Some(path) = path {
        check_argument(pattern)?;
        check_path(path)?;
    }
    Ok(Request {
        pattern,
        path,
        limit: arguments.limit()?,
    })
}

/// Gathers lines of a spill file until the answer is full.
#[derive(Debug)]
pub struct Lines<'a> {
    path: &'a str,
    limit: usize,
    budget: Budget,
    matches: Vec<Match>,
}

impl<'a> Lines<'a> {
    /// Gathers for this request; `path` is the path as the model wrote it, so that it can use a citation's path again.
    pub fn new(path: &'a str, limit: u32) -> Self {
        Lines {
            path,
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            budget: Budget::for_matches(SOURCE, None),
            matches: Vec::new(),
        }
    }

    /// Takes one more line; breaks when there was no room for it, and only then: an answer is called truncated because of a match that
    /// it does not hold.
    pub fn offer(&mut self, line: LineMatch) -> ControlFlow<()> {
        let found = Match {
            citation: output::line_citation(self.path, line.line),
            text: line.text,
            truncated: line.truncated,
        };
        if self.matches.len() == self.limit || !self.budget.take(&found) {
            return ControlFlow::Break(());
        }
        self.matches.push(found);
        ControlFlow::Continue(())
    }

    /// Whether nothing was taken so far.
    pub fn is_empty(&self) -> bool {
        self.matches.is_empty()
    }

    /// The answer.
    pub fn answer(self, truncated: bool) -> Matches<Match> {
        Matches {
            source: SOURCE,
            matches: self.matches,
            truncated,
            next_seq: None,
            note: None,
        }
    }
}
