//! From the caller's working directory to a workspace (SPEC 3.4).

use super::ports::{Host, NodeKind};
use crate::outcome::CallError;

/// A directory that servers are started in.
pub struct Workspace<H: Host> {
    /// The resolved directory.
    pub target: H::Target,
    /// The same for two spellings of one directory, links included.
    pub key: String,
    /// Its canonical path.
    pub path: String,
    /// Its canonical path as a `file:` URL.
    pub uri: String,
}

impl<H: Host> Workspace<H> {
    /// Resolves the working directory of a session.
    pub async fn resolve(host: &H, cwd: &str) -> Result<Self, CallError> {
        let invalid = |reason: String| CallError::WorkspaceInvalid {
            path: cwd.to_owned(),
            reason,
        };
        let target = host.resolve(cwd, None).await.map_err(invalid)?;
        match host.kind(&target).await.map_err(invalid)? {
            Some(NodeKind::Directory) => {}
            Some(_) => return Err(invalid("is not a directory".to_owned())),
            None => return Err(invalid("does not exist".to_owned())),
        }
        Ok(Self {
            key: host.key(&target),
            path: host.process_path(&target),
            uri: host.file_url(&target),
            target,
        })
    }
}
