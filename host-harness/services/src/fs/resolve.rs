use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// How many links may be followed, as in the kernel.
const MAX_LINKS: u32 = 40;

/// Why a path leads to no place.
#[derive(Debug)]
pub(super) enum ResolveError {
    /// A file is used as a directory.
    ThroughFile,
    /// The operating system refused.
    Io(io::Error),
}

impl From<io::Error> for ResolveError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Makes `path`, which must be absolute, free of `.` and `..` by its text alone.
pub(super) fn lexical(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            // At the root there is nothing to remove.
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}

/// The place that `path`, lexically absolute, leads to. What does not exist is kept as a tail; the target of a link
/// counts as the place even when it does not exist, so that a dangling link tells nothing about what it points at.
pub(super) fn canonical(path: &Path) -> Result<PathBuf, ResolveError> {
    follow(path, MAX_LINKS)
}

fn follow(path: &Path, links: u32) -> Result<PathBuf, ResolveError> {
    let mut existing = path.to_owned();
    let mut missing: Vec<OsString> = Vec::new();
    loop {
        match std::fs::canonicalize(&existing) {
            Ok(place) => return append(place, missing),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(ResolveError::ThroughFile);
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            Err(error) => {
                if let Ok(target) = std::fs::read_link(&existing) {
                    let left = links.checked_sub(1).ok_or(error)?;
                    let parent = follow(existing.parent().unwrap_or(Path::new("/")), left)?;
                    let place = follow(&lexical(&parent.join(target)), left)?;
                    return append(place, missing);
                }
                let Some(name) = existing.file_name() else {
                    return Err(error.into());
                };
                missing.push(name.to_owned());
                existing.pop();
            }
        }
    }
}

/// `missing` is in reverse.
fn append(mut place: PathBuf, missing: Vec<OsString>) -> Result<PathBuf, ResolveError> {
    if !missing.is_empty() && std::fs::metadata(&place).is_ok_and(|metadata| !metadata.is_dir()) {
        return Err(ResolveError::ThroughFile);
    }
    place.extend(missing.into_iter().rev());
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_removed_by_the_text_alone() {
        for (path, clean) in [
            ("/a/./b/../c", "/a/c"),
            ("/..", "/"),
            ("/../../a/", "/a"),
            ("/a//b", "/a/b"),
            ("/a/..b/...", "/a/..b/..."),
        ] {
            assert_eq!(lexical(Path::new(path)), Path::new(clean));
        }
    }
}
