//! Reads what `rg --json` prints, in chunks of any size (SPEC 5.4). No I/O.

use crate::output::MAX_TEXT_BYTES;
use crate::text_cut::excerpt;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use memchr::memchr;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::ops::Range;

/// One matching line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineMatch {
    /// The line's number, from 1.
    pub line: u64,
    /// The line without its end, or an excerpt around the first hit.
    pub text: String,
    /// Whether `text` is an excerpt.
    pub truncated: bool,
}

/// One record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// A matching line.
    Match(LineMatch),
    /// The end of the file: no match follows.
    End,
    /// Anything else.
    Other,
}

/// Why a record cannot be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordError {
    /// It breaks the format.
    Unreadable,
    /// It is longer than the bound.
    TooLong,
}

/// Splits a byte stream into records. It holds at most one record and one chunk.
#[derive(Debug)]
pub struct RecordReader {
    pending: Vec<u8>,
    /// Where the next record begins in `pending`.
    start: usize,
    /// Up to here `pending` is known to hold no line end of the next record, so that small chunks are not searched over and over.
    searched: usize,
    max_record: usize,
}

impl RecordReader {
    /// A reader for records of at most `max_record` bytes.
    pub fn new(max_record: usize) -> Self {
        RecordReader {
            pending: Vec::new(),
            start: 0,
            searched: 0,
            max_record,
        }
    }

    /// Takes in the next bytes. Take out the records that they complete before the next call.
    pub fn push(&mut self, chunk: &[u8]) {
        self.pending.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        self.pending.extend_from_slice(chunk);
    }

    /// The next complete record; none when more bytes are needed. After an error the reader is of no more use.
    pub fn next_record(&mut self) -> Result<Option<Record>, RecordError> {
        let unsearched = &self.pending[self.searched..];
        let Some(length) = memchr(b'\n', unsearched) else {
            self.searched = self.pending.len();
            return if self.searched - self.start > self.max_record {
                Err(RecordError::TooLong)
            } else {
                Ok(None)
            };
        };
        let end = self.searched + length;
        let record = &self.pending[self.start..end];
        self.start = end + 1;
        self.searched = self.start;
        if record.len() > self.max_record {
            return Err(RecordError::TooLong);
        }
        parse(record).map(Some).ok_or(RecordError::Unreadable)
    }

    /// Whether all bytes so far belong to records that were taken out.
    pub fn is_drained(&self) -> bool {
        self.start == self.pending.len()
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    data: &'a RawValue,
}

#[derive(Deserialize)]
struct MatchData {
    lines: Text,
    line_number: u64,
    submatches: Vec<Submatch>,
}

/// ripgrep's way to write bytes: as text where they are UTF-8, else as Base64.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Text {
    Text(String),
    Bytes(String),
}

#[derive(Deserialize)]
struct Submatch {
    start: usize,
    end: usize,
}

fn parse(record: &[u8]) -> Option<Record> {
    let envelope: Envelope<'_> = serde_json::from_slice(record).ok()?;
    match envelope.kind.as_ref() {
        "match" => {
            let data: MatchData = serde_json::from_str(envelope.data.get()).ok()?;
            line_match(data).map(Record::Match)
        }
        "end" => Some(Record::End),
        _ => Some(Record::Other),
    }
}

fn line_match(data: MatchData) -> Option<LineMatch> {
    let hit = data
        .submatches
        .first()
        .map_or(0..0, |hit| hit.start..hit.end);
    let (line, hit) = match data.lines {
        Text::Text(line) => (line, hit),
        Text::Bytes(encoded) => lossy(&STANDARD.decode(encoded).ok()?, hit),
    };
    let text = without_line_end(&line);
    let shown = excerpt(text, hit, MAX_TEXT_BYTES);
    Some(LineMatch {
        line: data.line_number,
        truncated: shown.len() < text.len(),
        text: shown.to_owned(),
    })
}

/// Decodes bytes that are not all UTF-8, and moves the hit to where it then is: a bad byte becomes the three bytes of U+FFFD.
pub(crate) fn lossy(bytes: &[u8], hit: Range<usize>) -> (String, Range<usize>) {
    let decoded_length = |end: usize| String::from_utf8_lossy(&bytes[..end.min(bytes.len())]).len();
    let hit = decoded_length(hit.start)..decoded_length(hit.end);
    (String::from_utf8_lossy(bytes).into_owned(), hit)
}

/// The line without one `\n` and one `\r` before it.
pub(crate) fn without_line_end(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}
