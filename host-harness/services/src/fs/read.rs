use std::io::{self, Read};
use std::path::Path;

use cap_fs_ext::OpenOptionsSyncExt;
use cap_std::fs::{Dir, File, FileType, Metadata, OpenOptions};

use super::contract::{FsChild, FsInfo, NodeKind};
use super::error::{FsError, FsErrorCode};

/// The most that one read returns, whatever the caller's bound, in bytes.
pub const MAX_READ_BYTES: u64 = 64 * 1024 * 1024;

/// The most children that are listed of one directory.
pub const MAX_CHILDREN: usize = 200_000;

/// How much of a file is searched for a NUL, in bytes.
const NUL_SAMPLE: usize = 8192;

/// A place to read: the way to it from a granted directory, and its name for people.
pub(super) struct Place<'a> {
    pub(super) directory: &'a Dir,
    pub(super) way: &'a Path,
    pub(super) shown: &'a Path,
}

impl Place<'_> {
    /// Metadata, through links if `follow`; none when there is nothing.
    pub(super) fn info(&self, follow: bool) -> Result<Option<FsInfo>, FsError> {
        let metadata = match follow {
            true => self.directory.metadata(self.way),
            false => self.directory.symlink_metadata(self.way),
        };
        match metadata {
            // A granted directory stays open, and can so be looked at after it was removed.
            Ok(metadata) if is_removed(&metadata) => Ok(None),
            Ok(metadata) => Ok(Some(FsInfo {
                version: version(&metadata),
                kind: kind(metadata.file_type()),
                size: metadata.is_file().then(|| metadata.len()),
            })),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(self.failure(&error)),
        }
    }

    pub(super) fn bytes(&self, max_bytes: u64) -> Result<Vec<u8>, FsError> {
        let limit = max_bytes.min(MAX_READ_BYTES);
        let too_large = || {
            self.error(
                FsErrorCode::TooLarge,
                format_args!("larger than {limit} bytes"),
            )
        };
        let (file, size) = self.open_regular()?;
        if size > limit {
            return Err(too_large());
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
        // The file may have grown since; one byte more than allowed is enough to know.
        file.take(limit + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| self.failure(&error))?;
        match bytes.len() as u64 > limit {
            true => Err(too_large()),
            false => Ok(bytes),
        }
    }

    pub(super) fn text(&self, max_bytes: u64) -> Result<String, FsError> {
        let bytes = self.bytes(max_bytes)?;
        if bytes.iter().take(NUL_SAMPLE).any(|byte| *byte == 0) {
            return Err(self.error(FsErrorCode::NotText, "not a text file"));
        }
        let mut text = String::from_utf8(bytes)
            .map_err(|_| self.error(FsErrorCode::NotText, "not UTF-8 text"))?;
        if text.starts_with('\u{feff}') {
            text.drain(..'\u{feff}'.len_utf8());
        }
        Ok(text)
    }

    pub(super) fn children(&self) -> Result<Vec<FsChild>, FsError> {
        let metadata = self
            .directory
            .metadata(self.way)
            .map_err(|error| self.failure(&error))?;
        if !metadata.is_dir() {
            return Err(self.error(FsErrorCode::NotDirectory, "not a directory"));
        }
        let mut children = Vec::new();
        let entries = self
            .directory
            .read_dir(self.way)
            .map_err(|error| self.failure(&error))?;
        for entry in entries {
            let entry = entry.map_err(|error| self.failure(&error))?;
            if children.len() == MAX_CHILDREN {
                let what = format_args!("more than {MAX_CHILDREN} entries");
                return Err(self.error(FsErrorCode::TooLarge, what));
            }
            children.push(FsChild {
                name: entry.file_name().to_string_lossy().into_owned(),
                kind: entry.file_type().map_or(NodeKind::Other, kind),
            });
        }
        children.sort_by(|a, b| a.name.encode_utf16().cmp(b.name.encode_utf16()));
        Ok(children)
    }

    /// Opening a device can have effects and opening a FIFO can block, so what is plainly neither file is not opened at
    /// all; what took its place in between is opened without blocking and then refused.
    fn open_regular(&self) -> Result<(File, u64), FsError> {
        let regular = |metadata: &Metadata| match metadata.is_file() {
            true => Ok(metadata.len()),
            false => Err(self.error(FsErrorCode::NotRegularFile, "not a regular file")),
        };
        regular(
            &self
                .directory
                .metadata(self.way)
                .map_err(|error| self.failure(&error))?,
        )?;
        let mut options = OpenOptions::new();
        options.read(true).nonblock(true);
        let file = self
            .directory
            .open_with(self.way, &options)
            .map_err(|error| self.failure(&error))?;
        let size = regular(&file.metadata().map_err(|error| self.failure(&error))?)?;
        Ok((file, size))
    }

    fn error(&self, code: FsErrorCode, what: impl std::fmt::Display) -> FsError {
        FsError::new(code, self.shown, what)
    }

    fn failure(&self, error: &io::Error) -> FsError {
        let code = FsErrorCode::of(error);
        match code {
            FsErrorCode::NotFound => self.error(code, "no such file or directory"),
            FsErrorCode::PermissionDenied => self.error(code, "permission denied"),
            FsErrorCode::SandboxDenied => self.error(code, "outside the granted directories"),
            _ => self.error(code, error),
        }
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

impl FsErrorCode {
    /// The code for a failure of the operating system, or of a walk that would have left its granted directory. The
    /// latter is a refusal that did not come from the system, so it carries no error number.
    pub(super) fn of(error: &io::Error) -> Self {
        match error.kind() {
            _ if is_absent(error) => Self::NotFound,
            io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
                Self::SandboxDenied
            }
            io::ErrorKind::PermissionDenied => Self::PermissionDenied,
            _ => Self::IoError,
        }
    }
}

fn kind(file_type: FileType) -> NodeKind {
    if file_type.is_file() {
        NodeKind::File
    } else if file_type.is_dir() {
        NodeKind::Directory
    } else if file_type.is_symlink() {
        NodeKind::Symlink
    } else {
        NodeKind::Other
    }
}

#[cfg(unix)]
fn is_removed(metadata: &Metadata) -> bool {
    cap_std::fs::MetadataExt::nlink(metadata) == 0
}

#[cfg(not(unix))]
fn is_removed(_: &Metadata) -> bool {
    false
}

#[cfg(unix)]
fn version(metadata: &Metadata) -> String {
    use cap_std::fs::MetadataExt;
    let nanoseconds =
        |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    format!(
        "{}:{}:{}:{}:{}",
        metadata.dev(),
        metadata.ino(),
        metadata.size(),
        nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
        nanoseconds(metadata.ctime(), metadata.ctime_nsec())
    )
}

#[cfg(not(unix))]
fn version(metadata: &Metadata) -> String {
    format!("{}:{:?}", metadata.len(), metadata.modified().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_have_the_codes_that_callers_switch_on() {
        let system = |errno: rustix::io::Errno| io::Error::from(errno);
        for (error, code) in [
            (system(rustix::io::Errno::NOENT), FsErrorCode::NotFound),
            (system(rustix::io::Errno::NOTDIR), FsErrorCode::NotFound),
            (
                system(rustix::io::Errno::ACCESS),
                FsErrorCode::PermissionDenied,
            ),
            (
                system(rustix::io::Errno::PERM),
                FsErrorCode::PermissionDenied,
            ),
            (system(rustix::io::Errno::LOOP), FsErrorCode::IoError),
            (system(rustix::io::Errno::IO), FsErrorCode::IoError),
            (
                io::ErrorKind::PermissionDenied.into(),
                FsErrorCode::SandboxDenied,
            ),
        ] {
            assert_eq!(FsErrorCode::of(&error), code, "{error}");
        }
    }
}
