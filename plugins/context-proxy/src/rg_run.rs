//! Runs ripgrep over a granted spill file and reads its output as it comes (SPEC 5.4, 5.5, 5.6).

use crate::config::Config;
use crate::errors::{CallError, Failure, ToolError};
use crate::grep::{Lines, Request};
use crate::grep_session::Match;
use crate::grep_spill::{Mode, STDERR_MAX_BYTES, SearchFailure, argv, judge_exit};
use crate::output::Matches;
use crate::rg_json::{Record, RecordError, RecordReader};
use crate::rg_only_matching::PartReader;
use crate::services::{Process, Signal, SpawnSpec, Subprocess};
use futures::future::{Either, select};
use std::future::Future;
use std::ops::ControlFlow;
use std::pin::pin;

/// The longest record that is read whole, however large `grepMaxBytes` is: a component has little memory.
const MAX_RECORD_BYTES: u64 = 16 * 1024 * 1024;

/// Waits for `work`, or for the call's end.
pub async fn race<A: Signal, T>(signal: &A, work: impl Future<Output = T>) -> Result<T, CallError> {
    match select(pin!(work), pin!(signal.wait())).await {
        Either::Left((value, _)) => Ok(value),
        Either::Right(_) => Err(CallError::Aborted),
    }
}

/// One search: what is asked, where, and within what bounds.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    /// The request as the model made it.
    pub request: Request<'a>,
    /// Its path as the model wrote it.
    pub shown_path: &'a str,
    /// The path that the host granted.
    pub granted_path: &'a str,
    /// Where ripgrep works.
    pub cwd: &'a str,
    /// The plugin's configuration.
    pub config: Config,
}

impl Search<'_> {
    /// Searches, and settles only when every process it started is gone.
    pub async fn run<P: Subprocess, A: Signal>(
        &self,
        subprocess: &P,
        signal: &A,
    ) -> Result<Matches<Match>, CallError> {
        let rg = race(signal, subprocess.resolve_rg())
            .await?
            .map_err(not_found)?;
        let mut reading = LineReading::new(self);
        let end = self
            .one_run(&rg, Mode::Lines, subprocess, signal, &mut reading)
            .await?;
        match end {
            End::Complete => return Ok(reading.lines.answer(false)),
            End::Full => return Ok(reading.lines.answer(true)),
            End::Capped if !reading.lines.is_empty() => return Ok(reading.lines.answer(true)),
            End::Capped => {}
        }
        // Not one record fits. An empty answer would read like "not found", so the matching parts alone are asked for. What was read of the
        // record that is too long must not take memory meanwhile.
        drop(reading);
        let mut reading = PartReading::new(self);
        let end = self
            .one_run(&rg, Mode::OnlyMatching, subprocess, signal, &mut reading)
            .await?;
        match end {
            // The first run printed no more than its statistics.
            End::Complete if reading.lines.is_empty() => Ok(reading.lines.answer(false)),
            End::Complete | End::Full => Ok(reading.lines.answer(true)),
            End::Capped => {
                let lines = reading.cut_off();
                if lines.is_empty() {
                    let cap = self.config.grep_max_bytes;
                    return Err(ToolError::Search(SearchFailure::CapTooSmall(cap)).into());
                }
                Ok(lines.answer(true))
            }
        }
    }

    async fn one_run<P: Subprocess, A: Signal>(
        &self,
        rg: &str,
        mode: Mode,
        subprocess: &P,
        signal: &A,
        sink: &mut impl Sink,
    ) -> Result<End, CallError> {
        let spec = SpawnSpec {
            argv: argv(rg, mode, self.request.pattern, self.granted_path),
            cwd: self.cwd.to_owned(),
            stderr_max_bytes: STDERR_MAX_BYTES,
            grace_ms: self.config.rg_grace_ms,
        };
        if signal.aborted() {
            return Err(CallError::Aborted);
        }
        // Not raced: a process that was started must be in our hands to be ended.
        let mut process = subprocess.spawn(spec).await.map_err(not_started)?;
        let outcome = race(
            signal,
            read_all(&mut process, self.config.grep_max_bytes, sink),
        )
        .await;
        let outcome = match outcome {
            Ok(Ok(End::Complete)) => race(signal, process.done()).await.map(|exit| {
                let exit = exit.map_err(|failure| SearchFailure::NotStarted(failure.message))?;
                judge_exit(&exit, &process.stderr_tail(), sink.found())?;
                sink.check_complete().map(|()| End::Complete)
            }),
            other => other,
        };
        // Harmless where it has ended by itself; otherwise nothing may be left of it when the call settles.
        process.terminate();
        process.gone().await;
        outcome?.map_err(|failure| ToolError::Search(failure).into())
    }
}

/// How a run came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// ripgrep had nothing more to say.
    Complete,
    /// The answer is full, and there is more.
    Full,
    /// `grepMaxBytes` was reached, or a record was too long.
    Capped,
}

/// Where output goes.
trait Sink {
    /// Takes the next bytes; breaks with the reason for which no more are wanted.
    fn take(&mut self, chunk: &[u8]) -> Result<ControlFlow<End>, SearchFailure>;
    /// Whether all that matters was printed, so that what follows is not counted.
    fn finished(&self) -> bool;
    /// Whether a match was printed.
    fn found(&self) -> bool;
    /// Refuses output that stops in the middle.
    fn check_complete(&self) -> Result<(), SearchFailure>;
}

/// Reads until the end, the cap, or the sink's word. Output of exactly `cap` bytes is not capped.
async fn read_all<P: Process>(
    process: &mut P,
    cap: u64,
    sink: &mut impl Sink,
) -> Result<End, SearchFailure> {
    let mut left = usize::try_from(cap).unwrap_or(usize::MAX);
    while let Some(chunk) = process.read().await {
        if sink.finished() {
            continue;
        }
        let taken = &chunk[..chunk.len().min(left)];
        left -= taken.len();
        if let ControlFlow::Break(end) = sink.take(taken)? {
            return Ok(end);
        }
        if taken.len() < chunk.len() && !sink.finished() {
            return Ok(End::Capped);
        }
    }
    Ok(End::Complete)
}

/// Whoever reads the log is told what was tried and what to do; the model can do nothing about it.
fn not_found(failure: Failure) -> CallError {
    not_started(Failure {
        message: format!(
            "{}; the configuration key rgPath names another place",
            failure.message
        ),
        ..failure
    })
}

fn not_started(failure: Failure) -> CallError {
    ToolError::Search(SearchFailure::NotStarted(failure.message)).into()
}

const CUT_OFF: SearchFailure = SearchFailure::Output("the output of ripgrep stops in the middle");
const UNREADABLE: SearchFailure = SearchFailure::Output("the output of ripgrep could not be read");

/// The first run: whole lines.
struct LineReading<'a> {
    reader: RecordReader,
    lines: Lines<'a>,
    ended: bool,
}

impl<'a> LineReading<'a> {
    fn new(search: &Search<'a>) -> Self {
        let max_record = search.config.grep_max_bytes.min(MAX_RECORD_BYTES);
        LineReading {
            reader: RecordReader::new(usize::try_from(max_record).unwrap_or(usize::MAX)),
            lines: Lines::new(search.shown_path, search.request.limit),
            ended: false,
        }
    }
}

impl Sink for LineReading<'_> {
    fn take(&mut self, chunk: &[u8]) -> Result<ControlFlow<End>, SearchFailure> {
        self.reader.push(chunk);
        while !self.ended {
            match self.reader.next_record() {
                Ok(None) => break,
                Ok(Some(Record::Match(line))) => {
                    if self.lines.offer(line).is_break() {
                        return Ok(ControlFlow::Break(End::Full));
                    }
                }
                Ok(Some(Record::End)) => self.ended = true,
                Ok(Some(Record::Other)) => {}
                Err(RecordError::TooLong) => return Ok(ControlFlow::Break(End::Capped)),
                Err(RecordError::Unreadable) => return Err(UNREADABLE),
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn finished(&self) -> bool {
        self.ended
    }

    fn found(&self) -> bool {
        !self.lines.is_empty()
    }

    fn check_complete(&self) -> Result<(), SearchFailure> {
        let complete = self.ended || (self.reader.is_drained() && self.lines.is_empty());
        if complete { Ok(()) } else { Err(CUT_OFF) }
    }
}

/// The second run: matching parts.
struct PartReading<'a> {
    reader: PartReader,
    lines: Lines<'a>,
}

impl<'a> PartReading<'a> {
    fn new(search: &Search<'a>) -> Self {
        PartReading {
            reader: PartReader::default(),
            lines: Lines::new(search.shown_path, search.request.limit),
        }
    }

    /// What was gathered, with the match in whose middle the output was left.
    fn cut_off(mut self) -> Lines<'a> {
        if let Some(line) = self.reader.finish() {
            // Where there is no room for it nothing is lost: the answer says that it is truncated anyway.
            let _full = self.lines.offer(line);
        }
        self.lines
    }
}

impl Sink for PartReading<'_> {
    fn take(&mut self, chunk: &[u8]) -> Result<ControlFlow<End>, SearchFailure> {
        let mut found = Vec::new();
        self.reader
            .push(chunk, &mut found)
            .map_err(|_| UNREADABLE)?;
        for line in found {
            if self.lines.offer(line).is_break() {
                return Ok(ControlFlow::Break(End::Full));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn finished(&self) -> bool {
        false
    }

    fn found(&self) -> bool {
        !self.lines.is_empty()
    }

    fn check_complete(&self) -> Result<(), SearchFailure> {
        if self.reader.is_drained() {
            Ok(())
        } else {
            Err(CUT_OFF)
        }
    }
}
