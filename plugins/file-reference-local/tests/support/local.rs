//! A host that lists real directories, one after the other, by absolute path.

use std::fs;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use dsh_file_reference_local::workspace::{Batch, Kind, ListError, Listing, Outcome, Workspace};
use dsh_guest_support::utf16;

#[derive(Clone)]
pub struct Local {
    /// Where the files are.
    pub root: PathBuf,
    /// What the root is said to be called.
    pub name: String,
    pub exclude: Vec<String>,
}

impl Local {
    pub fn new(root: &Path, exclude: &[String]) -> Self {
        let name = root.to_str().unwrap().to_owned();
        Self {
            root: root.to_owned(),
            name,
            exclude: exclude.to_vec(),
        }
    }

    fn read(&self, path: &str, limit: u64) -> Result<Listing, ListError> {
        let mut place = self.root.clone();
        for segment in path.split_terminator('/') {
            if matches!(segment, "" | "." | "..") || segment.contains('\0') {
                return Err(ListError::InvalidPath);
            }
            place.push(segment);
            if !fs::symlink_metadata(&place).map_err(list_error)?.is_dir() {
                return Err(ListError::NotDirectory);
            }
        }
        let mut entries = Vec::new();
        for entry in fs::read_dir(&place).map_err(list_error)? {
            let entry = entry.map_err(list_error)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            match entry.file_type().map_err(list_error)? {
                kind if kind.is_dir() && !self.exclude.contains(&name) => {
                    entries.push((name, Kind::Directory));
                }
                kind if kind.is_file() => entries.push((name, Kind::File)),
                _ => {}
            }
        }
        entries.sort_by(|a, b| utf16::cmp(&a.0, &b.0));
        let mut listing = Listing::default();
        let kept = entries
            .len()
            .min(usize::try_from(limit).unwrap_or(usize::MAX));
        listing.omitted = (entries.len() - kept) as u64;
        for (name, kind) in entries.drain(..kept) {
            listing.names += &name;
            listing.names.push('/');
            listing.kinds.push(kind);
        }
        Ok(listing)
    }
}

fn list_error(error: Error) -> ListError {
    match error.kind() {
        ErrorKind::NotFound => ListError::NotFound,
        ErrorKind::NotADirectory => ListError::NotDirectory,
        ErrorKind::PermissionDenied => ListError::Denied,
        ErrorKind::InvalidFilename => ListError::InvalidPath,
        _ => ListError::Io,
    }
}

impl Workspace for Local {
    fn path(&self) -> String {
        self.name.clone()
    }

    async fn list(&self, batch: Batch) -> Vec<Outcome> {
        let mut held = 0;
        let mut outcomes = Vec::new();
        for path in &batch.paths {
            outcomes.push(if held >= batch.limit {
                Outcome::Skipped
            } else {
                match self.read(path, batch.limit) {
                    Ok(listing) => {
                        held += listing.kinds.len() as u64;
                        Outcome::Listed(listing)
                    }
                    Err(error) => Outcome::Failed(error),
                }
            });
        }
        outcomes
    }
}
