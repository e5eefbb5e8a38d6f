use std::path::Path;

use thiserror::Error;

/// The kinds of failure that reading can meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FsErrorCode {
    /// Nothing there, a blank path, or a file used as a directory.
    NotFound,
    /// A directory was needed.
    NotDirectory,
    /// A NUL in the first 8,192 bytes, or bytes that are not UTF-8.
    NotText,
    /// A directory, FIFO, socket or device.
    NotRegularFile,
    /// More bytes or entries than the bound.
    TooLarge,
    /// The operating system refused.
    PermissionDenied,
    /// Outside what may be read.
    SandboxDenied,
    /// The service is being unloaded.
    Aborted,
    /// Any other failure of the operating system.
    IoError,
}

impl FsErrorCode {
    /// The code as DSH spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "FS_NOT_FOUND",
            Self::NotDirectory => "FS_NOT_DIRECTORY",
            Self::NotText => "FS_NOT_TEXT",
            Self::NotRegularFile => "FS_NOT_REGULAR_FILE",
            Self::TooLarge => "FS_TOO_LARGE",
            Self::PermissionDenied => "FS_PERMISSION_DENIED",
            Self::SandboxDenied => "FS_SANDBOX_DENIED",
            Self::Aborted => "FS_ABORTED",
            Self::IoError => "FS_IO_ERROR",
        }
    }
}

impl FsErrorCode {
    /// The kind of failure that DSH spells so; what is not about reading is [`FsErrorCode::IoError`].
    pub fn from_name(name: &str) -> Self {
        [
            Self::NotFound,
            Self::NotDirectory,
            Self::NotText,
            Self::NotRegularFile,
            Self::TooLarge,
            Self::PermissionDenied,
            Self::SandboxDenied,
            Self::Aborted,
        ]
        .into_iter()
        .find(|code| code.as_str() == name)
        .unwrap_or(Self::IoError)
    }
}

/// A failed file operation.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct FsError {
    /// What kind of failure.
    pub code: FsErrorCode,
    /// Text for the user; names the path.
    pub message: String,
}

impl FsError {
    pub(super) fn new(code: FsErrorCode, path: &Path, what: impl std::fmt::Display) -> Self {
        Self {
            code,
            message: format!("{}: {what}", path.display()),
        }
    }
}
