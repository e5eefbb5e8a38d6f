//! Reading a log from its file, and reading on where a log has grown (SPEC-sessions 3).
//!
//! The writer is never waited for and never blocked: the file is read as far as it reached when it was opened, and looked at
//! again afterwards. A log only ever grows, or is cut back to its last whole record when a session is resumed.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;

use super::cancel::Cancel;
use super::discovery::Found;
use super::feed::{self, Feeder, FrameStart, Stop};
use super::header;
use super::layout::Compression;
use super::log::Log;
use super::record::LogFault;
use super::revision::{self, Revision};

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

impl Loaded {
    /// Reads a log from its beginning.
    ///
    /// # Errors
    /// A [`LoadError`].
    pub fn read(found: &Found, cancel: &Cancel) -> Result<Self, LoadError> {
        for _ in 0..ATTEMPTS {
            let file = revision::open(&found.path)?;
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
        let file = revision::open(&found.path)?;
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
            scanned: 0,
            in_header: at == 0,
            found,
            cancel,
        };
        let result = match found.name.compression {
            Compression::None => feed::plain(file, at, self.revision.size, &mut feeder)?,
            Compression::Zstd => {
                feed::frames(file, at, self.revision.size, &mut feeder, &mut self.frames)?
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

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::Path;

    use super::*;
    use crate::session_query::layout::FileName;

    fn found(path: &Path, header: &str) -> Found {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .and_then(FileName::parse)
            .expect("a log's name");
        let header::HeaderLine::Listed(header) = header::read(header, name.generation) else {
            unreachable!()
        };
        Found {
            path: path.to_owned(),
            name,
            header: *header,
        }
    }

    fn encode(text: &str, compression: Compression) -> Vec<u8> {
        match compression {
            Compression::None => text.as_bytes().to_vec(),
            Compression::Zstd => zstd::encode_all(text.as_bytes(), 1).expect("memory"),
        }
    }

    fn append(path: &Path, bytes: &[u8]) {
        let mut file = File::options()
            .append(true)
            .create(true)
            .open(path)
            .expect("the log");
        file.write_all(bytes).expect("the log");
    }

    #[test]
    fn a_log_that_only_grew_is_read_on_and_no_other_is() {
        let header = r#"{"type":"session","version":0,"id":"s","createdAt":1,"delegationDepth":0}"#;
        let row = |seq: u64| {
            format!("{{\"type\":\"step/end\",\"seq\":{seq},\"time\":1,\"data\":{{}}}}\n")
        };
        let cancel = Cancel::new();
        for compression in [Compression::None, Compression::Zstd] {
            let directory = tempfile::tempdir().expect("a directory");
            let path = directory.path().join(
                FileName {
                    generation: 0,
                    compression,
                }
                .to_string(),
            );
            append(&path, &encode(&format!("{header}\n"), compression));
            append(&path, &encode(&row(0), compression));
            let found = found(&path, header);
            let len = |loaded: &Loaded| loaded.log.as_ref().map(Log::len).map_err(Clone::clone);
            let mut loaded = Loaded::read(&found, &cancel).expect("a log");
            assert_eq!(len(&loaded), Ok(1));
            for seq in 1..4 {
                append(&path, &encode(&row(seq), compression));
                assert!(loaded.grow(&found, &cancel).expect("a log"));
                assert_eq!(len(&loaded), Ok(seq as usize + 1));
            }
            // A torn row is no reason to begin anew in a plain log; a torn frame may have been taken in part.
            let whole = encode(&row(4), compression);
            append(&path, &whole[..whole.len() - 4]);
            assert!(loaded.grow(&found, &cancel).expect("a log"));
            append(&path, &whole[whole.len() - 4..]);
            let read_on = loaded.grow(&found, &cancel).expect("a log");
            assert_eq!(read_on, compression == Compression::None);
            if read_on {
                assert_eq!(len(&loaded), Ok(5));
            }
            let mut loaded = Loaded::read(&found, &cancel).expect("a log");
            assert_eq!(len(&loaded), Ok(5));
            // Other bytes in the place of those that were read, and more of them.
            let mut rewritten = encode(&format!("{header}\n"), compression);
            rewritten.extend(encode(
                &(0..9)
                    .map(row)
                    .collect::<String>()
                    .replace("step/end", "step/start"),
                compression,
            ));
            rewritten.extend(vec![b'\n'; 4096]);
            fs::write(&path, rewritten).expect("the log");
            assert!(!loaded.grow(&found, &cancel).expect("a log"));
        }
    }
}
