//! `dsh:ctx/fs`: the read half of the file service.

use crate::bindings::dsh::ctx::fs as wit;
use crate::store::PluginState;
use dsh_services::fs::{FileSystem, FsChild, FsError, FsErrorCode, FsInfo, FsTarget, NodeKind};
use std::sync::Arc;
use wasmtime::Result;
use wasmtime::component::{Accessor, HasSelf, Resource};

/// A resolved path.
pub type Target = FsTarget;

type Access = Accessor<PluginState, HasSelf<PluginState>>;

impl wit::HostTarget for PluginState {
    fn key(&mut self, target: Resource<Target>) -> Result<String> {
        Ok(self.table.get(&target)?.key())
    }

    fn display_path(&mut self, target: Resource<Target>) -> Result<String> {
        Ok(self.table.get(&target)?.display_path())
    }

    fn process_path(&mut self, target: Resource<Target>) -> Result<String> {
        Ok(self.table.get(&target)?.process_path())
    }

    fn file_url(&mut self, target: Resource<Target>) -> Result<String> {
        Ok(self.table.get(&target)?.file_url())
    }

    fn drop(&mut self, target: Resource<Target>) -> Result<()> {
        self.table.delete(target)?;
        Ok(())
    }
}

impl wit::Host for PluginState {
    fn contains(&mut self, parent: Resource<Target>, child: Resource<Target>) -> Result<bool> {
        Ok(self.table.get(&parent)?.contains(self.table.get(&child)?))
    }
}

impl wit::HostWithStore<PluginState> for HasSelf<PluginState> {
    async fn resolve(
        accessor: &Access,
        path: String,
        cwd: Option<String>,
    ) -> Result<Result<Resource<Target>, wit::FsError>> {
        let bytes = path.len() + cwd.as_ref().map_or(0, String::len);
        let resolved = ask(accessor, bytes, async move |fs| {
            fs.resolve(&path, cwd.as_deref()).await
        });
        let keep = |target| accessor.with(|mut access| access.get().table.push(target));
        Ok(match resolved.await? {
            Ok(target) => Ok(keep(target)?),
            Err(error) => Err(error),
        })
    }

    async fn stat(
        accessor: &Access,
        target: Resource<Target>,
    ) -> Result<Result<Option<wit::Info>, wit::FsError>> {
        let target = get(accessor, &target)?;
        let info = ask(accessor, 0, async move |fs| fs.stat(&target).await);
        Ok(info.await?.map(|info| info.map(convert_info)))
    }

    async fn lstat(
        accessor: &Access,
        path: String,
        cwd: Option<String>,
    ) -> Result<Result<Option<wit::Info>, wit::FsError>> {
        let bytes = path.len() + cwd.as_ref().map_or(0, String::len);
        let info = ask(accessor, bytes, async move |fs| {
            fs.lstat(&path, cwd.as_deref()).await
        });
        Ok(info.await?.map(|info| info.map(convert_info)))
    }

    async fn read_text(
        accessor: &Access,
        target: Resource<Target>,
        max_bytes: u64,
    ) -> Result<Result<String, wit::FsError>> {
        let (target, most) = (get(accessor, &target)?, bound(accessor, max_bytes));
        ask(accessor, 0, async move |fs| {
            fs.read_text(&target, most).await
        })
        .await
    }

    async fn read_bytes(
        accessor: &Access,
        target: Resource<Target>,
        max_bytes: u64,
    ) -> Result<Result<Vec<u8>, wit::FsError>> {
        let (target, most) = (get(accessor, &target)?, bound(accessor, max_bytes));
        ask(accessor, 0, async move |fs| {
            fs.read_bytes(&target, most).await
        })
        .await
    }

    async fn list_dir(
        accessor: &Access,
        target: Resource<Target>,
    ) -> Result<Result<Vec<wit::Child>, wit::FsError>> {
        let target = get(accessor, &target)?;
        let children = ask(accessor, 0, async move |fs| fs.list_dir(&target).await);
        let convert = |children: Vec<FsChild>| children.into_iter().map(convert_child).collect();
        Ok(children.await?.map(convert))
    }
}

fn get(accessor: &Access, target: &Resource<Target>) -> Result<Target> {
    Ok(accessor.with(|mut access| access.get().table.get(target).cloned())?)
}

/// Asks the service something, with a request of this size, in one of the instance's lanes.
async fn ask<R, F>(
    accessor: &Access,
    bytes: usize,
    work: impl FnOnce(Arc<dyn FileSystem>) -> F,
) -> Result<Result<R, wit::FsError>>
where
    F: Future<Output = Result<R, FsError>>,
{
    let (service, lanes) = accessor.with(|mut access| {
        let state = access.get();
        (state.env.file_system(), state.lanes.clone())
    });
    let Some(service) = service else {
        return Ok(Err(wit::FsError {
            code: wit::FsErrorCode::IoError,
            message: "the host has no file service".into(),
        }));
    };
    let _lane = lanes.enter(bytes).await?;
    Ok(work(service).await.map_err(convert_error))
}

/// No file larger than what may cross the boundary is read, whatever the guest asks for.
fn bound(accessor: &Access, asked: u64) -> u64 {
    let most = accessor.with(|mut access| access.get().env.limits.message);
    asked.min(u64::try_from(most).unwrap_or(u64::MAX))
}

fn convert_error(error: FsError) -> wit::FsError {
    let code = match error.code {
        FsErrorCode::NotFound => wit::FsErrorCode::NotFound,
        FsErrorCode::NotDirectory => wit::FsErrorCode::NotDirectory,
        FsErrorCode::NotText => wit::FsErrorCode::NotText,
        FsErrorCode::NotRegularFile => wit::FsErrorCode::NotRegularFile,
        FsErrorCode::TooLarge => wit::FsErrorCode::TooLarge,
        FsErrorCode::PermissionDenied => wit::FsErrorCode::PermissionDenied,
        FsErrorCode::SandboxDenied => wit::FsErrorCode::SandboxDenied,
        FsErrorCode::Aborted => wit::FsErrorCode::Aborted,
        FsErrorCode::IoError => wit::FsErrorCode::IoError,
    };
    wit::FsError {
        code,
        message: error.message,
    }
}

fn convert_info(info: FsInfo) -> wit::Info {
    wit::Info {
        version: info.version,
        kind: convert_kind(info.kind),
        size: info.size,
    }
}

fn convert_child(child: FsChild) -> wit::Child {
    wit::Child {
        name: child.name,
        kind: convert_kind(child.kind),
    }
}

fn convert_kind(kind: NodeKind) -> wit::NodeKind {
    match kind {
        NodeKind::File => wit::NodeKind::File,
        NodeKind::Directory => wit::NodeKind::Directory,
        NodeKind::Symlink => wit::NodeKind::Symlink,
        NodeKind::Other => wit::NodeKind::Other,
    }
}
