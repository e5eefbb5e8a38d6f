//! `dsh:ctx/workspace`: names under an agent's directory.

use crate::bindings::dsh::ctx::workspace as wit;
use crate::store::PluginState;
use dsh_services::workspace::{self as local, EntryKind, ListError, ListOptions, Outcome};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wasmtime::component::{Accessor, HasSelf, Resource};
use wasmtime::{Result, bail};

/// Paths in one batch.
const MAX_PATHS: usize = 65_536;

/// The directory of one agent.
pub type Directory = Arc<dyn local::Directory>;

impl wit::Host for PluginState {}

impl wit::HostDirectory for PluginState {
    fn path(&mut self, directory: Resource<Directory>) -> Result<String> {
        Ok(self.table.get(&directory)?.path().to_owned())
    }

    fn drop(&mut self, directory: Resource<Directory>) -> Result<()> {
        self.table.delete(directory)?;
        Ok(())
    }
}

impl wit::HostDirectoryWithStore<PluginState> for HasSelf<PluginState> {
    async fn list(
        accessor: &Accessor<PluginState, Self>,
        directory: Resource<Directory>,
        paths: Vec<String>,
        options: wit::Options,
    ) -> Result<Vec<wit::Outcome>> {
        if paths.len() > MAX_PATHS {
            bail!(
                "a batch of {} directories: at most {MAX_PATHS} are allowed",
                paths.len()
            );
        }
        let (directory, lanes) = accessor.with(|mut access| {
            let state = access.get();
            wasmtime::error::Ok((state.table.get(&directory)?.clone(), state.lanes.clone()))
        })?;
        let request = paths
            .iter()
            .chain(&options.exclude_directories)
            .map(|name| size_of::<String>() + name.len());
        let lane = lanes.enter(request.sum()).await?;
        let options = ListOptions {
            exclude_directories: options.exclude_directories,
            limit: options.limit,
            mark_ignored: options.mark_ignored,
            hide_ignored: options.hide_ignored,
        };
        // Dropped with this future when the instance ends, which makes the reading stop.
        let stop = StopOnDrop::default();
        let flag = stop.0.clone();
        let outcomes = tokio::task::spawn_blocking(move || {
            let _lane = lane;
            directory
                .list(&paths, &options, &flag)
                .into_iter()
                .map(convert)
                .collect()
        });
        Ok(outcomes.await?)
    }
}

#[derive(Default)]
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn convert(outcome: Outcome) -> wit::Outcome {
    match outcome {
        Outcome::Listed(listing) => wit::Outcome::Listed(wit::Listing {
            names: listing.names,
            kinds: listing.kinds.into_iter().map(convert_kind).collect(),
            ignored: listing.ignored,
            omitted: listing.omitted,
        }),
        Outcome::Failed(error) => wit::Outcome::Failed(match error {
            ListError::NotFound => wit::ListError::NotFound,
            ListError::NotDirectory => wit::ListError::NotDirectory,
            ListError::Denied => wit::ListError::Denied,
            ListError::InvalidPath => wit::ListError::InvalidPath,
            ListError::Io => wit::ListError::Io,
        }),
        Outcome::Skipped => wit::Outcome::Skipped,
    }
}

fn convert_kind(kind: EntryKind) -> wit::EntryKind {
    match kind {
        EntryKind::File => wit::EntryKind::File,
        EntryKind::Directory => wit::EntryKind::Directory,
    }
}
