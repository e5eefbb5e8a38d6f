//! `ctx.fs` of a running DSH, confined to the directories of the agents.

use super::peer::Peer;
use super::wire::{codes, member};
use crate::failure::Failure;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use dsh_services::fs::{FileSystem, FsChild, FsError, FsErrorCode, FsInfo, FsTarget, NodeKind};
use dsh_services::subprocess::SharedRoots;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::path::PathBuf;

/// The file service on the other side.
pub(super) struct BridgeFileSystem {
    peer: Peer,
    roots: SharedRoots,
}

impl BridgeFileSystem {
    pub(super) fn new(peer: Peer, roots: SharedRoots) -> Self {
        Self { peer, roots }
    }

    async fn resolved(&self, path: &str, cwd: Option<&str>) -> Result<FsTarget, FsError> {
        let answer = self
            .peer
            .ask("fs.resolve", json!({ "path": path, "cwd": cwd }))
            .await
            .map_err(convert)?;
        let target = target(&answer).map_err(convert)?;
        self.check(path, &target).await?;
        Ok(target)
    }

    /// Refuses what leads out of the directories of the agents, wherever DSH itself may read.
    async fn check(&self, path: &str, target: &FsTarget) -> Result<(), FsError> {
        let (roots, place) = (self.roots.now(), target.canonical().to_owned());
        let inside = tokio::task::spawn_blocking(move || {
            roots
                .iter()
                .any(|root| std::fs::canonicalize(root).is_ok_and(|root| place.starts_with(root)))
        });
        match inside.await {
            Ok(true) => Ok(()),
            _ => Err(FsError {
                code: FsErrorCode::SandboxDenied,
                message: format!("{path}: outside of the agents' directories"),
            }),
        }
    }

    async fn ask(&self, method: &str, target: &FsTarget) -> Result<Value, FsError> {
        let answer = self
            .peer
            .ask(method, json!({ "target": reference(target) }));
        answer.await.map_err(convert)
    }

    async fn read(
        &self,
        method: &str,
        target: &FsTarget,
        max: u64,
        mut part: impl FnMut(&str) -> Result<usize, FsError>,
    ) -> Result<(), FsError> {
        let params = json!({ "target": reference(target), "max": max });
        let mut outcome = Ok(());
        let mut size = 0;
        let answer = self.peer.ask_parts(method, params, |value| {
            if outcome.is_ok() {
                let text = value.as_str().unwrap_or_default();
                outcome = part(text).map(|read| size += read as u64);
            }
        });
        answer.await.map_err(convert)?;
        outcome?;
        if size > max {
            return Err(FsError {
                code: FsErrorCode::TooLarge,
                message: format!(
                    "{}: {size} bytes; at most {max} are read",
                    target.display_path()
                ),
            });
        }
        Ok(())
    }
}

impl FileSystem for BridgeFileSystem {
    fn resolve<'a>(
        &'a self,
        path: &'a str,
        cwd: Option<&'a str>,
    ) -> BoxFuture<'a, Result<FsTarget, FsError>> {
        self.resolved(path, cwd).boxed()
    }

    fn stat<'a>(&'a self, target: &'a FsTarget) -> BoxFuture<'a, Result<Option<FsInfo>, FsError>> {
        async move { info(&self.ask("fs.stat", target).await?) }.boxed()
    }

    fn lstat<'a>(
        &'a self,
        path: &'a str,
        cwd: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<FsInfo>, FsError>> {
        async move {
            // What a link leads to need not be granted to look at the link; the place of the link itself must be.
            self.resolved(parent(path), cwd).await?;
            let params = json!({ "path": path, "cwd": cwd });
            info(&self.peer.ask("fs.lstat", params).await.map_err(convert)?)
        }
        .boxed()
    }

    fn read_text<'a>(
        &'a self,
        target: &'a FsTarget,
        max_bytes: u64,
    ) -> BoxFuture<'a, Result<String, FsError>> {
        async move {
            let mut text = String::new();
            let part = |piece: &str| {
                text.push_str(piece);
                Ok(piece.len())
            };
            self.read("fs.readText", target, max_bytes, part).await?;
            match text.strip_prefix('\u{feff}') {
                Some(rest) => Ok(rest.to_owned()),
                None => Ok(text),
            }
        }
        .boxed()
    }

    fn read_bytes<'a>(
        &'a self,
        target: &'a FsTarget,
        max_bytes: u64,
    ) -> BoxFuture<'a, Result<Vec<u8>, FsError>> {
        async move {
            let mut bytes = Vec::new();
            let part = |piece: &str| {
                let piece = decode(piece).map_err(convert)?;
                bytes.extend_from_slice(&piece);
                Ok(piece.len())
            };
            self.read("fs.readBytes", target, max_bytes, part).await?;
            Ok(bytes)
        }
        .boxed()
    }

    fn list_dir<'a>(
        &'a self,
        target: &'a FsTarget,
    ) -> BoxFuture<'a, Result<Vec<FsChild>, FsError>> {
        async move {
            let params = json!({ "target": reference(target) });
            let mut children: Vec<FsChild> = Vec::new();
            let part = |value: Value| {
                let entries = value.as_array().into_iter().flatten();
                children.extend(entries.filter_map(|entry| {
                    Some(FsChild {
                        name: entry.get("name")?.as_str()?.to_owned(),
                        kind: kind(entry.get("type")),
                    })
                }));
            };
            let answer = self.peer.ask_parts("fs.listDir", params, part);
            answer.await.map_err(convert)?;
            children.sort_by(|a, b| a.name.encode_utf16().cmp(b.name.encode_utf16()));
            Ok(children)
        }
        .boxed()
    }
}

/// The directory part of a path as text; a bare name lies in the directory that it counts from.
fn parent(path: &str) -> &str {
    let trimmed = path.trim_end_matches('/');
    match trimmed.rfind('/') {
        Some(0) => "/",
        Some(end) => &trimmed[..end],
        None => ".",
    }
}

fn reference(target: &FsTarget) -> Value {
    json!({ "targetKey": target.key(), "displayPath": target.display_path() })
}

fn target(answer: &Value) -> Result<FsTarget, Failure> {
    let text = |key: &str| member::<String>(answer, key);
    Ok(FsTarget::foreign(
        PathBuf::from(text("displayPath")?),
        PathBuf::from(text("processPath")?),
        text("targetKey")?,
        text("fileUrl")?,
    ))
}

fn info(answer: &Value) -> Result<Option<FsInfo>, FsError> {
    if answer.is_null() {
        return Ok(None);
    }
    Ok(Some(FsInfo {
        version: member(answer, "version").map_err(convert)?,
        kind: kind(answer.get("type")),
        size: answer.get("size").and_then(Value::as_u64),
    }))
}

fn kind(value: Option<&Value>) -> NodeKind {
    match value.and_then(Value::as_str) {
        Some("file") => NodeKind::File,
        Some("directory") => NodeKind::Directory,
        Some("symlink") => NodeKind::Symlink,
        _ => NodeKind::Other,
    }
}

/// Bytes that crossed as text.
pub(super) fn decode(text: &str) -> Result<Vec<u8>, Failure> {
    BASE64_STANDARD
        .decode(text)
        .map_err(|error| Failure::host(codes::PROTOCOL, format!("not base64: {error}")))
}

/// Bytes on their way as text.
pub(super) fn encode(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
}

fn convert(failure: Failure) -> FsError {
    FsError {
        code: FsErrorCode::from_name(failure.code.as_deref().unwrap_or_default()),
        message: failure.message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_link_is_the_directory_that_holds_it() {
        for (path, expected) in [
            ("a", "."),
            ("a/b", "a"),
            ("/a", "/"),
            ("/a/b/", "/a"),
            ("", "."),
        ] {
            assert_eq!(parent(path), expected, "{path}");
        }
    }
}
