use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::Semaphore;

use super::abort::AbortSignal;
use super::contract::{EnvChange, Process, SpawnSpec, Subprocess};
use super::error::{DisposeError, SubprocessError};
use super::grants::{Directories, Grants};
use super::roster::Roster;

/// One owner's view of a subprocess service: what its grants cover, and nothing else. Disposing of it ends the owner's
/// processes and leaves the service to the others.
pub struct GrantedSubprocess {
    provider: Arc<dyn Subprocess>,
    grants: Grants,
    roster: Roster<dyn Process>,
    vacancies: Arc<Semaphore>,
}

impl GrantedSubprocess {
    /// Puts `grants` in front of `provider`.
    pub fn new(provider: Arc<dyn Subprocess>, grants: Grants) -> Self {
        let vacancies = Arc::new(Semaphore::new(grants.max_live.min(Semaphore::MAX_PERMITS)));
        Self {
            provider,
            grants,
            roster: Roster::new(),
            vacancies,
        }
    }

    /// What the owner may do.
    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    async fn start(&self, mut spec: SpawnSpec) -> Result<Box<dyn Process>, SubprocessError> {
        let entry = self.roster.enter().await?;
        self.grants.check_program(&spec)?;
        spec.cwd = check_directory(&self.grants.directories, spec.cwd).await?;
        let vacancy = Arc::clone(&self.vacancies)
            .try_acquire_owned()
            .map_err(|_| SubprocessError::TooMany {
                limit: self.grants.max_live,
            })?;
        let program = spec.argv.first().cloned().unwrap_or_default();
        let grace = Duration::from_millis(spec.grace_ms.into());
        let process = Arc::from(self.provider.spawn(spec).await?);
        Ok(Box::new(
            self.roster.admit(entry, process, program, grace, vacancy),
        ))
    }
}

impl Subprocess for GrantedSubprocess {
    fn resolve_executable<'a>(
        &'a self,
        command: &'a str,
        env: &'a [EnvChange],
        signal: Option<&'a AbortSignal>,
    ) -> BoxFuture<'a, Result<String, SubprocessError>> {
        async move {
            self.roster.check_open()?;
            if let Some(reason) = signal.and_then(AbortSignal::reason) {
                return Err(SubprocessError::Aborted(reason));
            }
            let path = self.grants.find(command, env)?;
            // It was found when it was granted; this is about whether it is still there.
            self.provider.resolve_executable(&path, env, signal).await
        }
        .boxed()
    }

    fn spawn(&self, spec: SpawnSpec) -> BoxFuture<'_, Result<Box<dyn Process>, SubprocessError>> {
        self.start(spec).boxed()
    }

    fn dispose(&self) -> BoxFuture<'_, Result<(), DisposeError>> {
        self.roster.dispose().boxed()
    }
}

/// The directory to use instead of `asked`: the same place without any link in it, so that a link cannot be turned
/// elsewhere after it was judged. A missing directory inside the grant is for the start itself to report.
async fn check_directory(
    directories: &Directories,
    asked: String,
) -> Result<String, SubprocessError> {
    let Some(roots) = directories.roots() else {
        return Ok(asked);
    };
    let denied = || SubprocessError::Denied {
        asked: format!("cwd `{}`", asked.chars().take(300).collect::<String>()),
        allowed: directories.to_string(),
    };
    let path = PathBuf::from(&asked);
    let place = tokio::task::spawn_blocking(move || {
        let place = canonical(&path).ok()?;
        let inside = roots
            .iter()
            .any(|root| std::fs::canonicalize(root).is_ok_and(|root| place.starts_with(root)));
        inside.then_some(place)
    })
    .await;
    match place {
        Ok(Some(place)) => place.into_os_string().into_string().map_err(|_| denied()),
        _ => Err(denied()),
    }
}

/// The canonical path; a tail that does not exist is kept as it is, unless it climbs.
fn canonical(path: &Path) -> io::Result<PathBuf> {
    let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
    if !path.is_absolute() {
        return Err(invalid());
    }
    match std::fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // A dangling link is there although nothing is behind it.
            if std::fs::symlink_metadata(path).is_ok() {
                return Err(error);
            }
            let (Some(parent), Some(Component::Normal(name))) =
                (path.parent(), path.components().next_back())
            else {
                return Err(invalid());
            };
            Ok(canonical(parent)?.join(name))
        }
        outcome => outcome,
    }
}
