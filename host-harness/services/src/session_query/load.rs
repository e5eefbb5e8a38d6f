//! Reading a log from its file, and reading on where a log has grown (SPEC-sessions 3).
//!
//! The writer is never waited for and never blocked: the file is read as far as it reached when it was opened, and looked at
//! again afterwards. A log only ever grows, or is cut back to its last whole record when a session is resumed.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;

use rayon::prelude::*;

use super::cancel::Cancel;
use super::decode;
use super::discovery::Found;
use super::frames::{self, DecodeError, Extent, FrameDecoder};
use super::header::{self, HeaderLine};
use super::layout::Compression;
use super::log::{Log, LogFault};
use super::revision::Revision;

/// How much plain text is decoded at a time.
const BATCH: usize = 4 << 20;

/// Lines are dealt to the threads in pieces of about this size.
const PIECE: usize = 256 << 10;

/// How much of the text before a resume point is compared, to notice a file that was rewritten rather than continued.
const TAIL: u64 = 1024;

/// How often a file that changes under the reader is read again.
const ATTEMPTS: usize = 10;

/// A log and the state of the file that it was read from.
#[derive(Debug)]
pub struct Loaded {
    pub revision: Revision,
    /// The log, or why it cannot be served; a broken log is not read again until it changes.
    pub log: Result<Log, LogFault>,
    /// Where the frames of a compressed log begin, in the file and in the plain text.
    pub frames: Vec<FrameStart>,
    resume: Option<Resume>,
}

/// The beginning of a frame.
#[derive(Debug, Clone, Copy)]
pub struct FrameStart {
    pub file: u64,
    pub plain: u64,
}

#[derive(Debug)]
struct Resume {
    file: u64,
    plain: u64,
    tail: Vec<u8>,
}

/// Why nothing could be read.
#[derive(Debug)]
pub enum LoadError {
    Cancelled,
    Io(io::Error),
    /// The file changed again and again while it was read.
    Restless,
}

impl From<io::Error> for LoadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// What stops the feeding of lines.
enum Stop {
    Cancelled,
    Fault(LogFault),
}

impl Loaded {
    /// Reads a log from its beginning.
    ///
    /// # Errors
    /// A [`LoadError`].
    pub fn read(found: &Found, cancel: &Cancel) -> Result<Self, LoadError> {
        for _ in 0..ATTEMPTS {
            let file = File::open(&found.path)?;
            let revision = Revision::of(&file.metadata()?);
            let mut loaded = Self {
                revision,
                log: Ok(Log::new(found.header.clone())),
                frames: Vec::new(),
                resume: None,
            };
            loaded.read_from(&file, found, 0, 0, cancel)?;
            if loaded.is_settled(&file, found)? {
                if let Ok(log) = &mut loaded.log {
                    log.shrink();
                }
                return Ok(loaded);
            }
        }
        Err(LoadError::Restless)
    }

    /// Brings the log up to date with its file; false when that takes a new reading from the beginning.
    ///
    /// # Errors
    /// A [`LoadError`]. The log is then in no state to be used.
    pub fn grow(&mut self, found: &Found, cancel: &Cancel) -> Result<bool, LoadError> {
        let Some(resume) = self.resume.take() else {
            return Ok(false);
        };
        if self.log.is_err() {
            return Ok(false);
        }
        let file = File::open(&found.path)?;
        let revision = Revision::of(&file.metadata()?);
        if !self.revision.may_have_grown_to(&revision)
            || read_tail(&file, resume.file)? != resume.tail
        {
            return Ok(false);
        }
        self.revision = revision;
        self.read_from(&file, found, resume.file, resume.plain, cancel)?;
        self.is_settled(&file, found)
    }

    /// The memory it holds, in bytes.
    pub fn heap_bytes(&self) -> usize {
        let log = self.log.as_ref().map_or(0, Log::heap_bytes);
        log + self.frames.capacity() * size_of::<FrameStart>() + 4096
    }

    /// Whether the file is still the one that was read. It may have more at its end by now.
    fn is_settled(&self, file: &File, found: &Found) -> Result<bool, LoadError> {
        let now = match fs::metadata(&found.path) {
            Ok(metadata) => Revision::of(&metadata),
            // Removed: what was read was the log until a moment ago.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            Err(error) => return Err(error.into()),
        };
        if now == self.revision {
            return Ok(true);
        }
        let unchanged = || match &self.resume {
            Some(resume) => read_tail(file, resume.file).is_ok_and(|tail| tail == resume.tail),
            // Without a resume point there was a torn tail or a fault, and the writer may just have mended it.
            None => false,
        };
        Ok(self.revision.may_have_grown_to(&now) && unchanged())
    }

    fn read_from(
        &mut self,
        file: &File,
        found: &Found,
        at: u64,
        plain: u64,
        cancel: &Cancel,
    ) -> Result<(), LoadError> {
        let Ok(log) = &mut self.log else {
            return Ok(());
        };
        if let Some(why) = header::unsupported(&found.header) {
            self.log = Err(LogFault::Unsupported(why));
            return Ok(());
        }
        let mut feeder = Feeder {
            log,
            pending: Vec::new(),
            start: plain,
            in_header: at == 0,
            found,
            cancel,
        };
        let result = match found.name.compression {
            Compression::None => feed_plain(file, at, self.revision.size, &mut feeder)?,
            Compression::Zstd => {
                feed_frames(file, at, self.revision.size, &mut feeder, &mut self.frames)?
            }
        };
        let next_plain = feeder.start;
        let whole = match result {
            Ok(Some(end)) => Some(end),
            Ok(None) => None,
            Err(Stop::Cancelled) => return Err(LoadError::Cancelled),
            Err(Stop::Fault(fault)) => {
                self.log = Err(fault);
                return Ok(());
            }
        };
        if let Err(fault) = log.settle() {
            self.log = Err(fault);
            return Ok(());
        }
        if let Some(end) = whole.filter(|_| log.may_grow()) {
            self.resume = Some(Resume {
                file: end,
                plain: next_plain,
                tail: read_tail(file, end)?,
            });
        }
        Ok(())
    }
}

fn read_tail(file: &File, end: u64) -> io::Result<Vec<u8>> {
    let start = end.saturating_sub(TAIL);
    let mut tail = vec![0; (end - start) as usize];
    file.read_exact_at(&mut tail, start)?;
    Ok(tail)
}

/// Collects plain text and hands over whole lines.
struct Feeder<'f> {
    log: &'f mut Log,
    pending: Vec<u8>,
    /// Where `pending` begins in the plain text.
    start: u64,
    in_header: bool,
    found: &'f Found,
    cancel: &'f Cancel,
}

impl Feeder<'_> {
    fn feed(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        self.pending.extend_from_slice(bytes);
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
        if self.in_header {
            self.header()?;
        }
        let Some(end) = memchr::memrchr(b'\n', &self.pending).map(|at| at + 1) else {
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
        self.start += end as u64;
        Ok(())
    }

    /// The header was read when the root was listed; here it is passed over, and must still be the same.
    fn header(&mut self) -> Result<(), Stop> {
        let Some(end) = memchr::memchr(b'\n', &self.pending) else {
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
type Fed = Result<Option<u64>, Stop>;

fn feed_plain(file: &File, mut at: u64, size: u64, feeder: &mut Feeder<'_>) -> io::Result<Fed> {
    let mut buffer = vec![0; 1 << 20];
    while at < size {
        let step = usize::try_from(size - at)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let read = file.read_at(&mut buffer[..step], at)?;
        if read == 0 {
            break;
        }
        at += read as u64;
        if let Err(stop) = feeder.feed(&buffer[..read]) {
            return Ok(Err(stop));
        }
    }
    // A last line without its line feed is still being written: reading resumes at its beginning.
    Ok(feeder
        .flush()
        .map(|()| Some(at - feeder.pending.len() as u64)))
}

fn feed_frames(
    file: &File,
    start: u64,
    size: u64,
    feeder: &mut Feeder<'_>,
    starts: &mut Vec<FrameStart>,
) -> io::Result<Fed> {
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

/// The plain text from one offset to another, read anew from the file.
///
/// # Errors
/// A file that is not what it was any more.
pub fn read_plain(found: &Found, loaded: &Loaded, start: u64, end: u64) -> io::Result<Vec<u8>> {
    let file = File::open(&found.path)?;
    let changed = || {
        io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "the log changed while it was read",
        )
    };
    let wanted = usize::try_from(end - start).map_err(io::Error::other)?;
    if found.name.compression == Compression::None {
        let mut bytes = vec![0; wanted];
        file.read_exact_at(&mut bytes, start)?;
        return Ok(bytes);
    }
    let first = loaded
        .frames
        .partition_point(|frame| frame.plain <= start)
        .saturating_sub(1);
    let mut plain = Vec::with_capacity(wanted);
    let mut decoder = FrameDecoder::new();
    for (index, frame) in loaded.frames.iter().enumerate().skip(first) {
        if frame.plain >= end {
            break;
        }
        let frame_end = loaded
            .frames
            .get(index + 1)
            .map_or(loaded.revision.size, |next| next.file);
        let mut bytes = vec![0; usize::try_from(frame_end - frame.file).map_err(io::Error::other)?];
        file.read_exact_at(&mut bytes, frame.file)?;
        let mut at = frame.plain;
        let decoded = decoder.decode(&bytes, |piece| {
            let piece_end = at + piece.len() as u64;
            let from = start.clamp(at, piece_end) - at;
            let to = end.clamp(at, piece_end) - at;
            plain.extend_from_slice(&piece[from as usize..to as usize]);
            at = piece_end;
            if piece_end >= end { Err(()) } else { Ok(()) }
        });
        match decoded {
            Err(DecodeError::Damaged) if index + 1 < loaded.frames.len() => return Err(changed()),
            // Enough was read, or the last frame is a torn one.
            Ok(()) | Err(_) => {}
        }
    }
    if plain.len() == wanted {
        Ok(plain)
    } else {
        Err(changed())
    }
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
