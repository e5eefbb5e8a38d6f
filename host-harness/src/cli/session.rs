//! A host with the plugins of a profile, as the commands need it.

use super::{Stop, style};
use crate::cli::Outcome;
use clap::Args;
use dsh_host::grants::{Programs, requests};
use dsh_host::profile::{Profile, ProfileRow, default_profile};
use dsh_host::{
    AgentSpec, Failure, Host, HostOptions, LoadedComponent, LogSink, Manifest, PluginRow, RowState,
    TracingSink, bundled,
};
use dsh_services::fs::LocalFileSystem;
use dsh_services::session_query::{LocalOptions, LocalSessionQuery};
use dsh_services::spill::{SpillGuard, SpillRoots};
use dsh_services::subprocess::{LocalSubprocess, own_executable};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The agent that the command line speaks for.
pub(crate) const AGENT: &str = "dsh-host";

/// Which plugins, on which directory.
#[derive(Args, Clone)]
pub(crate) struct Where {
    /// Working directory of the agent [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Profile with the plugins to mount [default: the bundled ones]
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
    /// Directory of recorded sessions [default: $DSH_HOME/sessions, else ~/.dsh/sessions]
    #[arg(long, value_name = "ROOT")]
    pub(crate) sessions: Option<PathBuf>,
    /// Directory of spill files as DSH's configuration names it; may be repeated [default: only dsh-spill-* in the temporary directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) spill_root: Vec<PathBuf>,
    /// Session that the agent speaks for; without one, tools that read history refuse
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
}

/// A mounted profile.
pub(crate) struct Session {
    pub(crate) host: Host,
    pub(crate) rows: Vec<MountedRow>,
    /// The agent's working directory, absolute.
    pub(crate) cwd: String,
}

/// A row that was read, loaded and mounted, or left out on purpose.
pub(crate) struct MountedRow {
    pub(crate) row: ProfileRow,
    pub(crate) component: LoadedComponent,
    pub(crate) manifest: Manifest,
    /// Programs that it may run, in words.
    pub(crate) grants: Vec<String>,
    pub(crate) state: Option<RowState>,
}

impl Where {
    /// The profile, with its warnings logged.
    pub(crate) fn profile(&self) -> Result<Profile, Stop> {
        let Some(path) = &self.profile else {
            return Ok(default_profile());
        };
        // One byte more than is allowed is enough to refuse it, whatever it is.
        let read = std::fs::File::open(path).and_then(|file| {
            std::io::read_to_string(file.take(dsh_host::profile::MAX_BYTES as u64 + 1))
        });
        let text = read.map_err(|error| unreadable("profile", path, &error))?;
        let profile = Profile::parse(&text)
            .map_err(|error| Stop::usage(format!("{}: {error}", path.display())))?;
        for warning in &profile.warnings {
            tracing::warn!("{}: {warning}", path.display());
        }
        Ok(profile)
    }

    /// The agent's working directory as absolute text. One that was named has to be there; what becomes of it later is for the plugins to
    /// deal with.
    pub(crate) fn directory(&self) -> Result<String, Stop> {
        let path = match &self.cwd {
            Some(path) => std::path::absolute(path),
            None => std::env::current_dir(),
        };
        let path = path.map_err(|error| Stop::usage(format!("--cwd: {error}")))?;
        let text = path.into_os_string().into_string().map_err(|path| {
            Stop::usage(format!(
                "--cwd: {} is not UTF-8, and paths of DSH are text",
                PathBuf::from(path).display()
            ))
        })?;
        if self.cwd.is_some()
            && let Err(error) = std::fs::read_dir(&text)
        {
            return Err(Stop::usage(format!(
                "--cwd: {text} cannot be listed: {error}"
            )));
        }
        Ok(text)
    }
}

impl Session {
    /// Builds a host and mounts the rows for which `wanted` holds, disabled ones excepted.
    pub(crate) async fn open(
        place: &Where,
        profile: Profile,
        wanted: impl Fn(&LoadedComponent) -> bool,
    ) -> Result<Self, Stop> {
        Self::open_with(place, profile, wanted, Arc::new(TracingSink)).await
    }

    /// The same with another taker of what plugins log.
    pub(crate) async fn open_with(
        place: &Where,
        profile: Profile,
        wanted: impl Fn(&LoadedComponent) -> bool,
        log: Arc<dyn LogSink>,
    ) -> Result<Self, Stop> {
        let cwd = place.directory()?;
        let options = HostOptions {
            log,
            ..HostOptions::default()
        };
        let host = Host::new(options).map_err(|error| Stop::usage(format!("{error:#}")))?;
        provide_local_services(&host, &cwd, place)?;
        let agent = AgentSpec {
            id: AGENT.into(),
            cwd: Some(cwd.clone()),
            session: place.session.clone(),
        };
        host.create_agent(agent).await.map_err(Stop::usage)?;
        let mut rows = Vec::new();
        let base = place.profile.as_deref().and_then(Path::parent);
        for row in profile.rows {
            let component = load(&host, &row, base)?;
            if !wanted(&component) {
                continue;
            }
            let grants: Vec<String> = requests(&row.name, &row.config)
                .iter()
                .map(ToString::to_string)
                .collect();
            let (manifest, state) = match row.disabled {
                true => (describe(&host, &row, &component).await?, None),
                false => mount(&host, &row, &component).await?,
            };
            let mounted = MountedRow {
                component,
                row,
                manifest,
                grants,
                state,
            };
            rows.push(mounted);
        }
        Ok(Self { host, rows, cwd })
    }

    /// Unmounts everything.
    pub(crate) async fn close(self) -> Outcome {
        self.host.shutdown().await;
        let subprocess = self.host.services().subprocess();
        self.host.services().set_subprocess(None);
        match subprocess {
            Some(service) => service.dispose().await.map_err(Stop::usage),
            None => Ok(()),
        }
    }
}

async fn describe(
    host: &Host,
    row: &ProfileRow,
    component: &LoadedComponent,
) -> Result<Manifest, Stop> {
    let manifest = host.describe(&row.id, component, &row.limits).await;
    manifest.map_err(|failure| of_row(row, &failure))
}

async fn mount(
    host: &Host,
    row: &ProfileRow,
    component: &LoadedComponent,
) -> Result<(Manifest, Option<RowState>), Stop> {
    let mounting = host.mount(PluginRow {
        id: row.id.clone(),
        component: component.clone(),
        config: row.config.clone(),
        limits: row.limits.clone(),
        programs: Programs::OfConfiguration(row.name.clone()),
    });
    mounting.await.map_err(|failure| of_row(row, &failure))?;
    let (manifest, state) = host.row(&row.id).await.ok_or_else(|| {
        Stop::usage(format!(
            "row \"{}\" was unmounted while it was mounted",
            row.id
        ))
    })?;
    if let RowState::Pending(missing) = &state {
        tracing::warn!("row \"{}\" waits for {}", row.id, missing.join(", "));
    }
    Ok((manifest, Some(state)))
}

fn of_row(row: &ProfileRow, failure: &Failure) -> Stop {
    Stop::usage(format!("row \"{}\": {failure}", row.id))
}

/// Provides what this machine has: files and programs for the plugins that were granted some, and the recorded sessions.
fn provide_local_services(host: &Host, cwd: &str, place: &Where) -> Outcome {
    let services = host.services();
    services.set_local_file_system(LocalFileSystem::new(cwd.into()).map_err(Stop::usage)?);
    // Without a supervisor a killed host would leave its language servers behind, so none is started then.
    let supervisor = own_executable()
        .map_err(|error| Stop::usage(format!("this executable cannot be found again: {error}")))?;
    services.set_subprocess(Some(Arc::new(LocalSubprocess::new(Some(supervisor)))));
    let absolute = |path: PathBuf| {
        std::path::absolute(&path)
            .map_err(|error| Stop::usage(format!("{}: {error}", path.display())))
    };
    let sessions = absolute(place.sessions.clone().unwrap_or_else(default_sessions))?;
    let query = Arc::new(LocalSessionQuery::new(LocalOptions::new(sessions)));
    let spill_roots: Result<Vec<_>, Stop> =
        place.spill_root.iter().cloned().map(absolute).collect();
    let roots = SpillRoots {
        sessions: spill_roots?,
        ..SpillRoots::in_temporary_directory()
    };
    services.set_spill_guard(Some(Arc::new(SpillGuard::new(roots, query.clone()))));
    services.set_session_query(Some(query));
    Ok(())
}

/// Where DSH records sessions unless told otherwise.
pub(crate) fn default_sessions() -> PathBuf {
    // DSH takes a blank variable for one that is not set.
    let home = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.to_string_lossy().trim().is_empty())
            .map(PathBuf::from)
    };
    home("DSH_HOME")
        .or_else(|| home("HOME").map(|home| home.join(".dsh")))
        .unwrap_or_else(|| PathBuf::from(".dsh"))
        .join("sessions")
}

fn load(host: &Host, row: &ProfileRow, base: Option<&Path>) -> Result<LoadedComponent, Stop> {
    // The first compilation takes about a second; later ones come from the cache.
    let progress = style::spinner("compiling");
    let component = bundled::load(host.engine(), &row.name, base.unwrap_or(Path::new("")));
    progress.finish_and_clear();
    component.map_err(|error| Stop::usage(format!("row \"{}\": name: {error}", row.id)))
}

fn unreadable(what: &str, path: &Path, error: &std::io::Error) -> Stop {
    Stop::usage(format!(
        "the {what} {} cannot be read: {error}",
        path.display()
    ))
}
