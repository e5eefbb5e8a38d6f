use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::error::{FsError, FsErrorCode};
use super::resolve::lexical;

/// A granted directory, open.
#[derive(Debug)]
struct Root {
    /// The path by which it was granted, without dots.
    spelled: PathBuf,
    canonical: PathBuf,
    directory: Arc<Dir>,
}

/// The granted directories.
#[derive(Debug, Default)]
pub(super) struct Roots(RwLock<Vec<Root>>);

impl Roots {
    /// Opens `path` and grants what is in it. Granting twice changes nothing.
    pub(super) fn grant(&self, path: &Path) -> Result<(), FsError> {
        let failed = |error: io::Error| {
            FsError::new(
                FsErrorCode::of(&error),
                path,
                format_args!("the directory cannot be granted: {error}"),
            )
        };
        if !path.is_absolute() {
            return Err(FsError::new(
                FsErrorCode::NotFound,
                path,
                "a granted directory must be an absolute path",
            ));
        }
        let directory = Dir::open_ambient_dir(path, ambient_authority()).map_err(failed)?;
        let root = Root {
            spelled: lexical(path),
            canonical: std::fs::canonicalize(path).map_err(failed)?,
            directory: Arc::new(directory),
        };
        let mut roots = self.0.write().unwrap_or_else(PoisonError::into_inner);
        roots.retain(|present| present.spelled != root.spelled);
        roots.push(root);
        Ok(())
    }

    /// Takes the grant of `path` back, by the path by which it was given.
    pub(super) fn revoke(&self, path: &Path) {
        let spelled = lexical(path);
        let mut roots = self.0.write().unwrap_or_else(PoisonError::into_inner);
        roots.retain(|present| present.spelled != spelled);
    }

    /// The granted directory that holds `place`, which must be canonical, and the way from there. The innermost wins.
    pub(super) fn locate(&self, place: &Path) -> Option<(Arc<Dir>, PathBuf)> {
        let roots = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let root = roots
            .iter()
            .filter(|root| place.starts_with(&root.canonical))
            .max_by_key(|root| root.canonical.as_os_str().len())?;
        let rest = place.strip_prefix(&root.canonical).ok()?;
        let rest = match rest.as_os_str().is_empty() {
            true => Path::new("."),
            false => rest,
        };
        Some((Arc::clone(&root.directory), rest.to_owned()))
    }

    /// Whether the text of a path, lexically absolute, lies under a granted directory, as granted or canonical.
    pub(super) fn covers_text(&self, path: &Path) -> bool {
        let roots = self.0.read().unwrap_or_else(PoisonError::into_inner);
        roots
            .iter()
            .any(|root| path.starts_with(&root.spelled) || path.starts_with(&root.canonical))
    }

    /// Whether the path is that of a granted directory itself.
    pub(super) fn is_root(&self, path: &Path) -> bool {
        let roots = self.0.read().unwrap_or_else(PoisonError::into_inner);
        roots
            .iter()
            .any(|root| path == root.spelled || path == root.canonical)
    }
}
