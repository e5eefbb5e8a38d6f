//! The logs under a root (SPEC-sessions 3). One damaged log can make the whole listing fail: that is the published behaviour,
//! and what a person sees from DSH itself.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::cancel::Cancel;
use super::error::SessionQueryError;
use super::frames::{self, Extent, FrameDecoder};
use super::header::{self, HeaderLine, LogHeader};
use super::layout::{self, Compression, FileName};
use super::revision::{self, Revision};

/// A listed log.
#[derive(Debug, Clone)]
pub struct Found {
    pub path: PathBuf,
    pub name: FileName,
    pub header: LogHeader,
}

/// The logs of one root. Headers are remembered for as long as their files do not change.
#[derive(Debug)]
pub struct Discovery {
    root: PathBuf,
    compression: Option<Compression>,
    headers: Mutex<HashMap<PathBuf, (Revision, HeaderLine)>>,
}

/// Most headers take a few hundred bytes; this bounds what a hostile one can make us read.
const HEADER_MAX_BYTES: u64 = 1 << 20;

impl Discovery {
    /// The logs under `root`. With a compression, a log stored otherwise makes the listing fail; without, both are read.
    pub fn new(root: PathBuf, compression: Option<Compression>) -> Self {
        Self {
            root,
            compression,
            headers: Mutex::default(),
        }
    }

    /// Lists the logs, in no particular order.
    ///
    /// # Errors
    /// [`SessionQueryError::ListingFailed`], [`SessionQueryError::Cancelled`].
    pub fn list(&self, cancel: &Cancel) -> Result<Vec<Found>, SessionQueryError> {
        let known =
            std::mem::take(&mut *self.headers.lock().unwrap_or_else(PoisonError::into_inner));
        let mut kept = HashMap::with_capacity(known.len());
        let result = self.walk(&known, &mut kept, cancel);
        *self.headers.lock().unwrap_or_else(PoisonError::into_inner) = kept;
        result
    }

    fn walk(
        &self,
        known: &HashMap<PathBuf, (Revision, HeaderLine)>,
        kept: &mut HashMap<PathBuf, (Revision, HeaderLine)>,
        cancel: &Cancel,
    ) -> Result<Vec<Found>, SessionQueryError> {
        let mut found = Vec::new();
        let mut ids = HashSet::new();
        for project in directories(&self.root, |_| Ok(()))? {
            for session in directories(&project, flat_file)? {
                cancel.check()?;
                let Some((path, name)) = self.log_in(&session)? else {
                    continue;
                };
                let Some((revision, line)) = header_of(&path, name, known.get(&path))? else {
                    continue;
                };
                kept.insert(path.clone(), (revision, line.clone()));
                let header = match line {
                    HeaderLine::Skipped => continue,
                    HeaderLine::Fatal(why) => return Err(failed(why)),
                    HeaderLine::Listed(header) => *header,
                };
                self.check_identity(&path, name, &header)?;
                if !ids.insert(header.header.id.clone()) {
                    return Err(failed(format!(
                        "duplicate JSONL session id \"{}\" appears in multiple project directories",
                        header.header.id
                    )));
                }
                found.push(Found { path, name, header });
            }
        }
        Ok(found)
    }

    /// The log in a session's directory: that of the highest generation.
    fn log_in(&self, session: &Path) -> Result<Option<(PathBuf, FileName)>, SessionQueryError> {
        let mut best: Option<FileName> = None;
        for entry in entries(session)? {
            let Some(name) = entry.file_name().to_str().and_then(FileName::parse) else {
                continue;
            };
            let path = session.join(entry.file_name());
            if let Some(compression) = self
                .compression
                .filter(|compression| *compression != name.compression)
            {
                return Err(failed(format!(
                    "session artifact \"{}\" uses {}, but this backend is configured for compression \"{}\"; use a separate \
                     root or select the matching compression mode",
                    path.display(),
                    name.compression.suffix(),
                    compression.as_str(),
                )));
            }
            match best {
                Some(other) if other.generation == name.generation => {
                    return Err(failed(format!(
                        "session directory \"{}\" holds generation {} both plain and compressed",
                        session.display(),
                        name.generation,
                    )));
                }
                Some(other) if other.generation > name.generation => {}
                _ => best = Some(name),
            }
        }
        Ok(best.map(|name| (session.join(name.to_string()), name)))
    }

    /// A header must lead back to the place where it was found.
    fn check_identity(
        &self,
        path: &Path,
        name: FileName,
        header: &LogHeader,
    ) -> Result<(), SessionQueryError> {
        let header = &header.header;
        let Some(expected) = layout::log_path(&self.root, header.cwd.as_deref(), &header.id, name)
        else {
            return Err(failed(format!(
                "corrupt session log \"{}\": header id cannot name a storage path",
                path.display()
            )));
        };
        let same_file =
            || matches!((path.canonicalize(), expected.canonicalize()), (Ok(a), Ok(b)) if a == b);
        if path == expected || same_file() {
            return Ok(());
        }
        Err(failed(format!(
            "corrupt session log \"{}\": header id \"{}\" and cwd identify \"{}\"",
            path.display(),
            header.id,
            expected.display(),
        )))
    }
}

fn failed(why: impl std::fmt::Display) -> SessionQueryError {
    SessionQueryError::ListingFailed(why.to_string())
}

fn entries(directory: &Path) -> Result<Vec<fs::DirEntry>, SessionQueryError> {
    match fs::read_dir(directory).and_then(Iterator::collect) {
        Ok(entries) => Ok(entries),
        // Absent from the start, or removed while the listing was on its way.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(failed(format!("{}: {error}", directory.display()))),
    }
}

/// The directories in a directory, links not followed, after every entry has been looked at.
fn directories(
    directory: &Path,
    look: impl Fn(&fs::DirEntry) -> Result<(), SessionQueryError>,
) -> Result<Vec<PathBuf>, SessionQueryError> {
    let mut found = Vec::new();
    for entry in entries(directory)? {
        look(&entry)?;
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// Logs once lay in the project's directory itself.
fn flat_file(entry: &fs::DirEntry) -> Result<(), SessionQueryError> {
    let name = entry.file_name();
    let is_log = name
        .to_str()
        .is_some_and(|name| name.ends_with(".jsonl") || name.ends_with(".jsonl.zstd"));
    if is_log && entry.file_type().is_ok_and(|kind| kind.is_file()) {
        return Err(failed(format!(
            "session artifact \"{}\" uses the unsupported flat-file layout; use a separate root or move it into a \
             project/session directory before loading",
            entry.path().display(),
        )));
    }
    Ok(())
}

fn header_of(
    path: &Path,
    name: FileName,
    known: Option<&(Revision, HeaderLine)>,
) -> Result<Option<(Revision, HeaderLine)>, SessionQueryError> {
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Ok(None),
        _ => Err(failed(format!("{}: {error}", path.display()))),
    };
    let revision = match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Revision::of(&metadata),
        Ok(_) => return Ok(None),
        Err(error) => return unreadable(error),
    };
    if let Some((old, line)) = known
        && *old == revision
    {
        return Ok(Some((revision, line.clone())));
    }
    let start = match revision::open(path).and_then(read_start) {
        Ok(start) => start,
        Err(error) => return unreadable(error),
    };
    let line = match first_line(&start, name.compression) {
        Ok(Some(line)) => header::read(&String::from_utf8_lossy(&line), name.generation),
        Ok(None) => HeaderLine::Skipped,
        // Later generations hide a session whose first frame is damaged.
        Err(_) if name.generation > 0 => HeaderLine::Skipped,
        Err(why) => HeaderLine::Fatal(why),
    };
    Ok(Some((revision, line)))
}

/// The beginning of a file, up to a bound, without reading a large log whole.
fn read_start(file: File) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    let mut file = file.take(HEADER_MAX_BYTES);
    loop {
        let before = start.len();
        let read = (&mut file).take(8 * 1024).read_to_end(&mut start)?;
        // A plain header line has ended, or a frame's first blocks are there: most headers take one round.
        if read == 0
            || memchr::memchr(b'\n', &start[before..]).is_some()
                && !start.starts_with(&[0x28, 0xB5, 0x2F, 0xFD])
        {
            return Ok(start);
        }
        if matches!(frames::measure(&start, 0), Ok(Extent::Complete(_))) {
            return Ok(start);
        }
    }
}

/// The first line without its line feed; none when the file does not hold all of it.
///
/// # Errors
/// A damaged first frame.
pub fn first_line(start: &[u8], compression: Compression) -> Result<Option<Vec<u8>>, String> {
    if compression == Compression::None {
        return Ok(memchr::memchr(b'\n', start).map(|end| start[..end].to_vec()));
    }
    let Extent::Complete(size) = frames::measure(start, 0)? else {
        return Ok(None);
    };
    let mut plain = Vec::new();
    FrameDecoder::new()
        .decode(&start[..size], |piece| {
            plain.extend_from_slice(piece);
            if plain.len() as u64 > HEADER_MAX_BYTES {
                Err(())
            } else {
                Ok(())
            }
        })
        .map_err(|_| "corrupt Zstandard session log: header frame failed validation".to_owned())?;
    match plain.split_last() {
        Some((b'\n', line)) if !line.contains(&b'\n') => Ok(Some(line.to_vec())),
        _ => Err(
            "corrupt Zstandard session log: first frame is not exactly one header line".to_owned(),
        ),
    }
}
