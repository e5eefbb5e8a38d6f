//! The session query service over the logs of this machine.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{PoisonError, TryLockError};
use std::time::Duration;

use super::cache::Cache;
use super::cancel::Cancel;
use super::collate;
use super::discovery::{Discovery, Found};
use super::error::SessionQueryError;
use super::filter::EventFilter;
use super::kinds::Format;
use super::layout::Compression;
use super::load::{LoadError, Loaded};
use super::log::Log;
use super::query::{self, Plan};
use super::record::LogFault;
use super::revision::Revision;
use super::types::{EventRecord, Page, PageLimits, ReadRequest, SessionRecord, Window};
use super::{SessionQuery, window};

/// How often a log that changes between reading and answering is read again.
const ATTEMPTS: usize = 5;

/// How the logs of this machine are read.
#[derive(Debug, Clone)]
pub struct LocalOptions {
    /// The directory that holds the projects' directories. It need not exist.
    pub root: PathBuf,
    /// The one way in which logs may be stored; none reads both.
    pub compression: Option<Compression>,
    /// The most memory, in bytes, that logs may hold between queries.
    pub cache_bytes: usize,
}

impl LocalOptions {
    /// The default bound of the cache: 256 MiB.
    pub const CACHE_BYTES: usize = 256 << 20;

    /// Both ways of storing, and the default bound.
    #[must_use]
    pub fn new(root: PathBuf) -> Self {
        Self {
            root,
            compression: None,
            cache_bytes: Self::CACHE_BYTES,
        }
    }
}

/// [`SessionQuery`] over persisted logs. It only reads, and takes no lock that a writer would wait for.
#[derive(Debug)]
pub struct LocalSessionQuery {
    discovery: Discovery,
    cache: Cache,
}

impl LocalSessionQuery {
    /// The service over the logs of a root.
    #[must_use]
    pub fn new(options: LocalOptions) -> Self {
        Self {
            discovery: Discovery::new(options.root, options.compression),
            cache: Cache::new(options.cache_bytes),
        }
    }

    /// The memory that logs hold between queries, in bytes.
    #[must_use]
    pub fn cached_bytes(&self) -> usize {
        self.cache.bytes()
    }

    fn find(&self, session_id: &str, cancel: &Cancel) -> Result<Found, SessionQueryError> {
        self.discovery
            .list(cancel)?
            .into_iter()
            .find(|found| found.header.header.id == session_id)
            .ok_or_else(|| SessionQueryError::SessionNotFound {
                id: session_id.to_owned(),
            })
    }

    /// Runs `answer` on the log as the file is now.
    fn with_log<T>(
        &self,
        session_id: &str,
        cancel: &Cancel,
        answer: impl Fn(&Found, &Loaded, &Log) -> Result<T, SessionQueryError>,
    ) -> Result<T, SessionQueryError> {
        cancel.check()?;
        let found = self.find(session_id, cancel)?;
        let answer = |loaded: &Loaded| match &loaded.log {
            Ok(log) => answer(&found, loaded, log),
            Err(fault) => Err(fault_error(&found, fault)),
        };
        let shared = self.cache.log(&found.path);
        let current = fs::metadata(&found.path).map(|metadata| Revision::of(&metadata));
        let current = current.map_err(|error| read_failed(&found, &error.to_string()))?;
        {
            let log = wait(cancel, || shared.try_read())?;
            if let Some(loaded) = log.as_ref().filter(|loaded| loaded.revision == current) {
                return answer(loaded);
            }
        }
        let mut log = wait(cancel, || shared.try_write())?;
        match refresh(&mut log, &found, cancel) {
            Ok(loaded) => {
                self.cache.note(&found.path, loaded.heap_bytes());
                answer(loaded)
            }
            Err(error) => {
                *log = None;
                self.cache.forget(&found.path);
                Err(match error {
                    LoadError::Cancelled => SessionQueryError::Cancelled,
                    LoadError::Io(error) => read_failed(&found, &error.to_string()),
                    LoadError::Restless => {
                        read_failed(&found, "the log changed again and again while it was read")
                    }
                })
            }
        }
    }
}

/// Waits for a lock without missing the cancel flag: another query may be reading a large log.
fn wait<G>(
    cancel: &Cancel,
    mut attempt: impl FnMut() -> Result<G, TryLockError<G>>,
) -> Result<G, SessionQueryError> {
    loop {
        match attempt() {
            Ok(guard) => return Ok(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Ok(PoisonError::into_inner(poisoned)),
            Err(TryLockError::WouldBlock) => {}
        }
        cancel.check()?;
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn refresh<'l>(
    log: &'l mut Option<Loaded>,
    found: &Found,
    cancel: &Cancel,
) -> Result<&'l Loaded, LoadError> {
    let current = Revision::of(&fs::metadata(&found.path)?);
    let fresh = match log {
        // Another query has just read it.
        Some(loaded) if loaded.revision == current => true,
        Some(loaded) => loaded.grow(found, cancel)?,
        None => false,
    };
    if !fresh {
        // The old log goes first: two of them would be twice the memory.
        *log = None;
    }
    match log {
        Some(loaded) => Ok(loaded),
        None => Ok(log.insert(Loaded::read(found, cancel)?)),
    }
}

fn read_failed(found: &Found, detail: &str) -> SessionQueryError {
    SessionQueryError::ReadFailed {
        verb: match found.header.format {
            Format::V0 => "inspect",
            Format::V4 => "read stored",
        },
        id: found.header.header.id.clone(),
        detail: detail.to_owned(),
    }
}

fn fault_error(found: &Found, fault: &LogFault) -> SessionQueryError {
    let id = found.header.header.id.clone();
    let path = found.path.display();
    match (found.header.format, fault) {
        (_, LogFault::Unsupported(text)) => {
            read_failed(found, &format!("{text} (raw log: {path})"))
        }
        (Format::V0, LogFault::Physical(text)) => read_failed(found, text),
        (Format::V0, LogFault::Invalid(text)) => {
            let detail = format!("stored session \"{id}\" failed validation: {text}");
            SessionQueryError::CorruptSession { id, detail }
        }
        (Format::V4, LogFault::Physical(text) | LogFault::Invalid(text)) => {
            let detail =
                format!("session \"{id}\": stored log is corrupt: {text} (raw log: {path})");
            SessionQueryError::CorruptSession { id, detail }
        }
    }
}

fn check_surface(log: &Log) -> Result<(), SessionQueryError> {
    match log.surface_fault() {
        Some(fault) => Err(SessionQueryError::InvalidSurface(fault.to_owned())),
        None => Ok(()),
    }
}

impl SessionQuery for LocalSessionQuery {
    fn list_sessions(&self, cancel: &Cancel) -> Result<Vec<SessionRecord>, SessionQueryError> {
        let found = self.discovery.list(cancel)?;
        let mut records: Vec<_> = found
            .into_iter()
            .map(|found| SessionRecord {
                format_status: (found.header.format == Format::V4).then_some("current"),
                header: found.header.header,
                live: false,
                persisted: true,
            })
            .collect();
        collate::sort(&mut records);
        Ok(records)
    }

    fn list_events(
        &self,
        session_id: &str,
        cancel: &Cancel,
    ) -> Result<Vec<EventRecord>, SessionQueryError> {
        self.with_log(session_id, cancel, |_, _, log| {
            check_surface(log)?;
            Ok((0..log.len())
                .filter_map(|seq| {
                    log.event(seq)
                        .map(|(record, _)| query::event_record(log, seq, &record))
                })
                .collect())
        })
    }

    fn filter_page(
        &self,
        session_id: &str,
        filters: &[EventFilter],
        limits: &PageLimits,
        cancel: &Cancel,
    ) -> Result<Page, SessionQueryError> {
        for filter in filters {
            filter.validate()?;
        }
        self.with_log(session_id, cancel, |_, _, log| {
            check_surface(log)?;
            query::run(log, &Plan::new(filters, log)?, limits, cancel)
        })
    }

    fn read_event(
        &self,
        session_id: &str,
        request: &ReadRequest,
        cancel: &Cancel,
    ) -> Result<Window, SessionQueryError> {
        window::check_request(request)?;
        // The lines are read again from a file that may meanwhile have become another; then the log is read anew.
        for _ in 0..ATTEMPTS {
            let answer = self.with_log(session_id, cancel, |found, loaded, log| {
                let Some((target, range)) = window::range(request, log.len()) else {
                    return Err(SessionQueryError::EventNotFound {
                        id: session_id.to_owned(),
                        seq: request.seq,
                    });
                };
                match window::read(found, loaded, log, target, range) {
                    Ok(window) => Ok(Some(window)),
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
                    Err(error) => Err(read_failed(found, &error.to_string())),
                }
            })?;
            if let Some(window) = answer {
                return Ok(window);
            }
        }
        let found = self.find(session_id, cancel)?;
        Err(read_failed(
            &found,
            "the log changed again and again while it was read",
        ))
    }
}
