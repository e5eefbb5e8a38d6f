//! Taking a file's bytes apart into whole lines, and dealing these to the threads that decode them.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rayon::prelude::*;

use super::cancel::Cancel;
use super::decode;
use super::discovery::Found;
use super::frames::{self, DecodeError, Extent, FrameDecoder};
use super::header::{self, HeaderLine};
use super::log::Log;
use super::record::LogFault;

/// How much plain text is decoded at a time.
const BATCH: usize = 4 << 20;

/// How much of a plain file is read at a time.
const READ: usize = 1 << 20;

/// The longest line (SPEC-sessions 3.8). The engines that write and read these logs hold a line in one text, which cannot be longer.
const MAX_LINE: usize = 512 << 20;

/// The most plain text of one log, and the most bytes of a compressed one: what is read is kept, so a log that unpacks without end, or a file
/// with a hole in it, must not take all memory.
const MAX_PLAIN: u64 = 2 << 30;
const MAX_COMPRESSED: u64 = 1 << 30;

/// Lines are dealt to the threads in pieces of about this size.
const PIECE: usize = 256 << 10;

/// The beginning of a frame.
#[derive(Debug, Clone, Copy)]
pub struct FrameStart {
    pub file: u64,
    pub plain: u64,
}

/// What stops the feeding of lines.
pub enum Stop {
    Cancelled,
    Fault(LogFault),
}

/// Collects plain text and hands over whole lines.
pub struct Feeder<'f> {
    pub log: &'f mut Log,
    pub pending: Vec<u8>,
    /// Where `pending` begins in the plain text.
    pub start: u64,
    /// How many bytes of `pending` are known to hold no line feed, so that a long line is looked through once.
    pub scanned: usize,
    pub in_header: bool,
    pub found: &'f Found,
    pub cancel: &'f Cancel,
}

impl Feeder<'_> {
    fn feed(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        self.pending.extend_from_slice(bytes);
        self.flush_full()
    }

    /// Decodes what was collected once that is worth it.
    fn flush_full(&mut self) -> Result<(), Stop> {
        if self.pending.len() < BATCH {
            Ok(())
        } else {
            self.flush()
        }
    }

    /// Decodes the whole lines collected so far.
    fn flush(&mut self) -> Result<(), Stop> {
        if self.cancel.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        self.check_size()?;
        if self.in_header {
            self.header()?;
        }
        let unscanned = self.pending.get(self.scanned..).unwrap_or_default();
        let Some(end) = memchr::memrchr(b'\n', unscanned).map(|at| self.scanned + at + 1) else {
            self.scanned = self.pending.len();
            return Ok(());
        };
        let context = self.log.context();
        let start = self.start;
        let pieces = pieces(&self.pending[..end]);
        let decode = |(offset, piece): &(usize, &[u8])| {
            decode::lines(piece, start + *offset as u64, context)
        };
        let batches: Vec<_> = if pieces.len() < 2 {
            pieces.iter().map(decode).collect()
        } else {
            pieces.par_iter().map(decode).collect()
        };
        for batch in batches {
            self.log.push(batch).map_err(Stop::Fault)?;
        }
        self.pending.drain(..end);
        self.scanned = self.pending.len();
        self.start += end as u64;
        Ok(())
    }

    fn check_size(&self) -> Result<(), Stop> {
        let plain = self.start + self.pending.len() as u64;
        let why = if self.pending.len() > MAX_LINE + BATCH {
            format!("a line is longer than {} MiB", MAX_LINE >> 20)
        } else if plain > MAX_PLAIN {
            format!("it has more than {} MiB of text", MAX_PLAIN >> 20)
        } else {
            return Ok(());
        };
        let why = format!("corrupt session log: {why}");
        Err(Stop::Fault(LogFault::Physical(why)))
    }

    /// The header was read when the root was listed; here it is passed over, and must still be the same.
    fn header(&mut self) -> Result<(), Stop> {
        let unscanned = self.pending.get(self.scanned..).unwrap_or_default();
        let Some(end) = memchr::memchr(b'\n', unscanned).map(|at| self.scanned + at) else {
            self.scanned = self.pending.len();
            return Ok(());
        };
        let line = String::from_utf8_lossy(&self.pending[..end]);
        match header::read(&line, self.found.name.generation) {
            HeaderLine::Listed(header) if *header == self.found.header => {}
            _ => {
                let why = "corrupt session log: the header changed while the log was read";
                return Err(Stop::Fault(LogFault::Physical(why.to_owned())));
            }
        }
        self.pending.drain(..=end);
        self.scanned = 0;
        self.start += end as u64 + 1;
        self.in_header = false;
        Ok(())
    }
}

/// Cuts whole lines into pieces of whole lines.
fn pieces(bytes: &[u8]) -> Vec<(usize, &[u8])> {
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let target = (start + PIECE).min(bytes.len());
        let end = memchr::memchr(b'\n', &bytes[target - 1..]).map_or(bytes.len(), |at| target + at);
        pieces.push((start, &bytes[start..end]));
        start = end;
    }
    pieces
}

/// Where the reading may resume, none after a torn tail; or what stopped it.
pub type Fed = Result<Option<u64>, Stop>;

/// Feeds what a plain file holds from one offset to its size.
pub fn plain(file: &File, mut at: u64, size: u64, feeder: &mut Feeder<'_>) -> io::Result<Fed> {
    while at < size {
        // Read to where it is needed: a large log is not copied once more.
        let filled = feeder.pending.len();
        let step = usize::try_from(size - at).unwrap_or(usize::MAX).min(READ);
        feeder.pending.resize(filled + step, 0);
        let read = file.read_at(&mut feeder.pending[filled..], at)?;
        feeder.pending.truncate(filled + read);
        if read == 0 {
            break;
        }
        at += read as u64;
        if let Err(stop) = feeder.flush_full() {
            return Ok(Err(stop));
        }
    }
    // A last line without its line feed is still being written: reading resumes at its beginning.
    Ok(feeder
        .flush()
        .map(|()| Some(at - feeder.pending.len() as u64)))
}

/// Feeds what the frames of a compressed file hold.
pub fn frames(
    file: &File,
    start: u64,
    size: u64,
    feeder: &mut Feeder<'_>,
    starts: &mut Vec<FrameStart>,
) -> io::Result<Fed> {
    if size - start > MAX_COMPRESSED {
        let why = format!(
            "corrupt Zstandard session log: it has more than {} MiB",
            MAX_COMPRESSED >> 20
        );
        return Ok(Err(Stop::Fault(LogFault::Physical(why))));
    }
    let mut bytes = vec![0; usize::try_from(size - start).map_err(io::Error::other)?];
    file.read_exact_at(&mut bytes, start)?;
    Ok(decode_frames(&bytes, start, feeder, starts))
}

fn decode_frames(
    bytes: &[u8],
    start: u64,
    feeder: &mut Feeder<'_>,
    starts: &mut Vec<FrameStart>,
) -> Fed {
    let physical = |why: String| Stop::Fault(LogFault::Physical(why));
    let mut decoder = FrameDecoder::new();
    let mut at = 0;
    let mut torn = false;
    while at < bytes.len() && !torn {
        let file = start + at as u64;
        let frame = &bytes[at..];
        let size = match frames::measure(frame, file).map_err(physical)? {
            Extent::Complete(size) => size,
            Extent::Torn => {
                check_whole(feeder)?;
                torn = true;
                frame.len()
            }
        };
        starts.push(FrameStart {
            file,
            plain: feeder.start + feeder.pending.len() as u64,
        });
        match decoder.decode(&frame[..size], |piece| feeder.feed(piece)) {
            Ok(()) => {}
            // What a torn frame still holds is taken; where it breaks off does not matter.
            Err(DecodeError::Damaged) if torn => {}
            Err(DecodeError::Damaged) => {
                let why = format!(
                    "corrupt Zstandard session log: frame at byte {file} failed validation"
                );
                return Err(physical(why));
            }
            Err(DecodeError::Receiver(stop)) => return Err(stop),
        }
        at += size;
    }
    if torn {
        feeder.flush()?;
        return Ok(None);
    }
    check_whole(feeder)?;
    Ok(Some(start + at as u64))
}

/// Complete frames must hold whole records and nothing else: a writer that is cut off leaves a torn frame.
fn check_whole(feeder: &mut Feeder<'_>) -> Result<(), Stop> {
    feeder.flush()?;
    if feeder.pending.is_empty() && feeder.log.damage().is_none() {
        return Ok(());
    }
    let why = "corrupt Zstandard session log: complete frame contains a torn JSONL record";
    Err(Stop::Fault(LogFault::Physical(why.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_whole_lines_and_cover_everything() {
        for length in [0, 1, 7, 100_000, 300_000] {
            let text = "x".repeat(length) + "\n";
            let text = text.repeat(600_000 / text.len() + 1);
            let pieces = pieces(text.as_bytes());
            let mut at = 0;
            for (start, piece) in &pieces {
                assert_eq!(*start, at);
                assert_eq!(piece.last(), Some(&b'\n'));
                at += piece.len();
            }
            assert_eq!(at, text.len());
        }
        assert!(pieces(b"").is_empty());
    }
}
