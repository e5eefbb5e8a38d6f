use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;

use super::contract::{FileSystem, FsChild, FsInfo, FsTarget};
use super::error::{FsError, FsErrorCode};
use super::read::Place;
use super::resolve::{ResolveError, canonical, lexical};
use super::roots::Roots;

/// Reads files of this machine, under the granted directories only. Clones share their grants.
///
/// Every operation runs on the runtime's pool for blocking work, so it must be awaited inside a tokio runtime.
#[derive(Debug, Clone)]
pub struct LocalFileSystem {
    roots: Arc<Roots>,
    base: PathBuf,
}

impl LocalFileSystem {
    /// Grants nothing yet. Relative paths without a directory of their own count from `base`, which is absolute and need
    /// not be granted.
    ///
    /// # Errors
    /// `base` is relative.
    pub fn new(base: PathBuf) -> Result<Self, FsError> {
        if !base.is_absolute() {
            return Err(FsError::new(
                FsErrorCode::NotFound,
                &base,
                "the base directory must be an absolute path",
            ));
        }
        Ok(Self {
            roots: Arc::default(),
            base,
        })
    }

    /// Grants reading `directory` and everything in it, from now on. The directory that is there now is meant: one that
    /// takes its place later is not granted.
    ///
    /// # Errors
    /// It is no absolute path or cannot be opened.
    pub fn grant(&self, directory: &Path) -> Result<(), FsError> {
        self.roots.grant(directory)
    }

    /// Takes a grant back. Targets under it that were resolved before are refused from now on. Harmless for a directory that was not granted.
    pub fn revoke(&self, directory: &Path) {
        self.roots.revoke(directory);
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, FsError> + Send + 'static,
    ) -> Result<T, FsError> {
        let this = self.clone();
        tokio::task::spawn_blocking(move || work(&this))
            .await
            .unwrap_or_else(|error| {
                Err(FsError::new(
                    FsErrorCode::IoError,
                    Path::new("file system"),
                    format_args!("the operation ended early: {error}"),
                ))
            })
    }

    fn display(&self, path: &str, cwd: Option<&str>) -> Result<PathBuf, FsError> {
        if path.trim().is_empty() {
            return Err(FsError {
                code: FsErrorCode::NotFound,
                message: "the path is blank".into(),
            });
        }
        if path.contains('\0') || cwd.is_some_and(|cwd| cwd.contains('\0')) {
            return Err(FsError {
                code: FsErrorCode::NotFound,
                message: format!("{path:?}: a path must not contain NUL"),
            });
        }
        Ok(lexical(&self.base.join(cwd.unwrap_or_default()).join(path)))
    }

    fn place(&self, display: &Path) -> Result<PathBuf, FsError> {
        let place = canonical(display).map_err(|error| self.refusal(display, error))?;
        match self.roots.locate(&place) {
            Some(_) => Ok(place),
            None => Err(denied(display)),
        }
    }

    /// Outside the grant everything is refused alike, whether it exists or not.
    fn refusal(&self, display: &Path, error: ResolveError) -> FsError {
        match error {
            _ if !self.roots.covers_text(display) => denied(display),
            ResolveError::ThroughFile => FsError::new(
                FsErrorCode::NotFound,
                display,
                "a file is used as a directory",
            ),
            ResolveError::Io(error) => FsError::new(FsErrorCode::of(&error), display, error),
        }
    }

    fn at<T>(
        &self,
        place: &Path,
        shown: &Path,
        read: impl FnOnce(Place<'_>) -> Result<T, FsError>,
    ) -> Result<T, FsError> {
        let (directory, way) = self.roots.locate(place).ok_or_else(|| denied(shown))?;
        read(Place {
            directory: &directory,
            way: &way,
            shown,
        })
    }

    async fn read<T: Send + 'static>(
        &self,
        target: &FsTarget,
        read: impl FnOnce(Place<'_>) -> Result<T, FsError> + Send + 'static,
    ) -> Result<T, FsError> {
        let target = target.clone();
        self.blocking(move |this| this.at(target.canonical(), target.display(), read))
            .await
    }

    fn lstat_blocking(&self, path: &str, cwd: Option<&str>) -> Result<Option<FsInfo>, FsError> {
        let display = self.display(path, cwd)?;
        let (Some(parent), Some(name), false) = (
            display.parent(),
            display.file_name(),
            self.roots.is_root(&display),
        ) else {
            let place = self.place(&display)?;
            return self.at(&place, &display, |place| place.info(true));
        };
        let parent = match canonical(parent) {
            Ok(parent) => parent,
            Err(ResolveError::ThroughFile) if self.roots.covers_text(&display) => return Ok(None),
            Err(error) => return Err(self.refusal(&display, error)),
        };
        self.at(&parent.join(name), &display, |place| place.info(false))
    }
}

fn denied(path: &Path) -> FsError {
    FsError::new(
        FsErrorCode::SandboxDenied,
        path,
        "outside the granted directories",
    )
}

impl FileSystem for LocalFileSystem {
    fn resolve<'a>(
        &'a self,
        path: &'a str,
        cwd: Option<&'a str>,
    ) -> BoxFuture<'a, Result<FsTarget, FsError>> {
        async move {
            let display = self.display(path, cwd)?;
            self.blocking(move |this| {
                let place = this.place(&display)?;
                Ok(FsTarget::new(display, place))
            })
            .await
        }
        .boxed()
    }

    fn stat<'a>(&'a self, target: &'a FsTarget) -> BoxFuture<'a, Result<Option<FsInfo>, FsError>> {
        self.read(target, |place| place.info(true)).boxed()
    }

    fn lstat<'a>(
        &'a self,
        path: &'a str,
        cwd: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<FsInfo>, FsError>> {
        let (path, cwd) = (path.to_owned(), cwd.map(str::to_owned));
        self.blocking(move |this| this.lstat_blocking(&path, cwd.as_deref()))
            .boxed()
    }

    fn read_text<'a>(
        &'a self,
        target: &'a FsTarget,
        max_bytes: u64,
    ) -> BoxFuture<'a, Result<String, FsError>> {
        self.read(target, move |place| place.text(max_bytes))
            .boxed()
    }

    fn read_bytes<'a>(
        &'a self,
        target: &'a FsTarget,
        max_bytes: u64,
    ) -> BoxFuture<'a, Result<Vec<u8>, FsError>> {
        self.read(target, move |place| place.bytes(max_bytes))
            .boxed()
    }

    fn list_dir<'a>(
        &'a self,
        target: &'a FsTarget,
    ) -> BoxFuture<'a, Result<Vec<FsChild>, FsError>> {
        self.read(target, |place| place.children()).boxed()
    }
}
