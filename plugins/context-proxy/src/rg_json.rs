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

/// The longest chunk that is read at once; longer ones may cost one more move.
pub const MAX_CHUNK: usize = 65_536;

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
        self.make_room(chunk.len());
        self.pending.extend_from_slice(chunk);
    }

    /// Doubles the room, but not beyond what can ever be held, and not to just short of that: a component's memory never shrinks, and no buffer
    /// fits where the smaller ones before it were.
    fn make_room(&mut self, more: usize) {
        let needed = self.pending.len() + more;
        if needed > self.pending.capacity() {
            // The chunks to come may be longer than this one.
            let most = self.max_record.saturating_add(more.max(MAX_CHUNK));
            let doubled = self.pending.capacity().saturating_mul(2).max(needed);
            let room = if doubled > most / 2 {
                most.max(needed)
            } else {
                doubled
            };
            self.pending.reserve_exact(room - self.pending.len());
        }
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
    let envelope: Envelope<'_> = serde_json::from_str(std::str::from_utf8(record).ok()?).ok()?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use proptest::prelude::*;
    use serde_json::json;

    fn read(chunks: &[&[u8]], max_record: usize) -> Result<Vec<Record>, RecordError> {
        let mut reader = RecordReader::new(max_record);
        let mut records = Vec::new();
        for chunk in chunks {
            reader.push(chunk);
            while let Some(record) = reader.next_record()? {
                records.push(record);
            }
            // Bounded memory: what is held back is less than one record.
            assert!(reader.pending.len() - reader.start <= max_record);
        }
        Ok(records)
    }

    /// A component's memory never shrinks: where a buffer has been, only a smaller one fits.
    #[test]
    fn the_largest_buffer_is_made_once_however_long_the_chunks_are() {
        let most = 1 << 20;
        for small in [1, 1_000, 4_096, MAX_CHUNK] {
            let mut reader = RecordReader::new(most);
            let mut rooms = std::collections::BTreeSet::new();
            let mut push = |size: usize| {
                reader.push(&vec![b'x'; size]);
                rooms.insert(reader.pending.capacity());
                reader.next_record()
            };
            for _ in 0..most / small {
                assert_eq!(push(small), Ok(None));
            }
            assert_eq!(push(MAX_CHUNK), Err(RecordError::TooLong));
            let large = rooms.iter().filter(|room| **room > most / 2 + MAX_CHUNK);
            assert_eq!(large.count(), 1, "{small}: {rooms:?}");
        }
    }

    fn record(bytes: &[u8], number: u64, hit: Range<usize>) -> String {
        let lines = match std::str::from_utf8(bytes) {
            Ok(text) => json!({ "text": text }),
            Err(_) => json!({"bytes": STANDARD.encode(bytes)}),
        };
        let data = json!({
            "path": {"text": "/a"}, "lines": lines, "line_number": number, "absolute_offset": 0,
            "submatches": [{"match": {"text": ""}, "start": hit.start, "end": hit.end}, {"match": {"text": ""}, "start": 0, "end": 0}]
        });
        format!("{}\n", json!({"type": "match", "data": data}))
    }

    fn only_match(output: &str) -> LineMatch {
        match read(&[output.as_bytes()], 1 << 20).unwrap().as_slice() {
            [Record::Match(found)] => found.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn records_of_other_kinds_are_passed_over() {
        let output = concat!(
            r#"{"type":"begin","data":{"path":{"text":"/a"}}}"#,
            "\n",
            r#"{"type":"context","data":{"lines":{"text":"hit"}}}"#,
            "\n",
            r#"{"type":"end","data":{"path":{"text":"/a"},"binary_offset":null}}"#,
            "\n",
            r#"{"data":{"elapsed_total":{}},"type":"summary"}"#,
            "\n",
            r#"{"data":null,"type":"of a later version"}"#,
            "\n",
        );
        let kinds = read(&[output.as_bytes()], 1 << 20).unwrap();
        let (other, end) = (Record::Other, Record::End);
        assert_eq!(
            kinds,
            [other.clone(), other.clone(), end, other.clone(), other]
        );
    }

    #[test]
    fn one_line_end_is_removed() {
        for (line, text) in [
            ("hit\n", "hit"),
            ("hit\r\n", "hit"),
            ("hit\r\r\n", "hit\r"),
            ("hit", "hit"),
            ("\n", ""),
        ] {
            assert_eq!(only_match(&record(line.as_bytes(), 1, 0..0)).text, text);
        }
    }

    #[test]
    fn the_excerpt_of_a_line_in_bytes_is_centred_on_the_hit() {
        // Each bad byte becomes three: the hit moves from 3,000 to 9,000.
        let mut line = vec![0xff; 3_000];
        line.extend(b"hit");
        line.extend(vec![0xff; 3_000]);
        let found = only_match(&record(&line, 7, 3_000..3_003));
        assert!(found.truncated && found.text.len() <= MAX_TEXT_BYTES);
        let at = found.text.find("hit").unwrap();
        assert!((995..=1_000).contains(&at), "{at}");
    }

    #[test]
    fn all_buffers_for_the_longest_record_together_are_twice_as_large_as_it_is() {
        const MAX: usize = 1 << 20;
        for chunk in (1_000..70_000).step_by(997) {
            let mut reader = RecordReader::new(MAX);
            let mut buffers = vec![0];
            while reader.next_record().is_ok() {
                reader.push(&vec![b'x'; chunk]);
                if *buffers.last().unwrap() != reader.pending.capacity() {
                    buffers.push(reader.pending.capacity());
                }
            }
            let all: usize = buffers.iter().sum();
            assert!(all <= 2 * (MAX + chunk.max(MAX_CHUNK)), "{buffers:?}");
        }
    }

    #[test]
    fn a_record_beyond_the_bound_is_refused_whether_or_not_it_is_complete() {
        let output = record(&[b'x'; 500], 1, 0..1);
        let length = output.len() - 1;
        assert!(read(&[output.as_bytes()], length).is_ok());
        assert_eq!(
            read(&[output.as_bytes()], length - 1),
            Err(RecordError::TooLong)
        );
        let unfinished = &output.as_bytes()[..length];
        assert_eq!(read(&[unfinished], length - 1), Err(RecordError::TooLong));
        assert_eq!(read(&[unfinished], length), Ok(vec![]));
    }

    proptest! {
        #[test]
        fn chunks_make_no_difference(
            lines in proptest::collection::vec((proptest::collection::vec(any::<u8>().prop_filter("one line", |b| *b != b'\n'), 0..40), 0usize..60, 0usize..60), 0..6),
            cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let output: String = lines.iter().zip(1..).map(|((bytes, start, width), number)| record(bytes, number, *start..start + width)).collect();
            let bytes = output.as_bytes();
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            at.extend([0, bytes.len()]);
            at.sort_unstable();
            let chunks: Vec<&[u8]> = at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            let found = read(&chunks, 1 << 20).unwrap();
            let expected: Vec<Record> = lines.iter().zip(1..).map(|((bytes, ..), line)| {
                let text = String::from_utf8_lossy(bytes);
                Record::Match(LineMatch { line, text: without_line_end(&text).to_owned(), truncated: false })
            }).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn a_long_line_is_cut_to_the_bound_around_the_hit(before in "[é😀x]{0,900}", after in "[é😀x]{0,900}") {
            let line = format!("{before}HIT{after}\n");
            let found = only_match(&record(line.as_bytes(), 1, before.len()..before.len() + 3));
            prop_assert!(found.text.contains("HIT") && found.text.len() <= MAX_TEXT_BYTES);
            prop_assert_eq!(found.truncated, line.len() - 1 > MAX_TEXT_BYTES);
        }

        #[test]
        fn any_bytes_are_judged_without_a_panic(chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..6)) {
            let chunks: Vec<&[u8]> = chunks.iter().map(Vec::as_slice).collect();
            let judged = read(&chunks, 1 << 20);
            prop_assert!(!matches!(judged, Err(RecordError::TooLong)));
        }
    }
}
