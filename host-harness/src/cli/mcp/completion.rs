//! `@path` completion as MCP has it: one resource template whose argument is completed, and whose resources are the files meant.

use crate::cli::session::AGENT;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use dsh_host::{AbortSignal, Host, Kind};
use dsh_services::fs::{FsErrorCode, FsTarget, NodeKind};
use rmcp::ErrorData;
use rmcp::model::{
    CompleteRequestParams, CompletionInfo, ReadResourceResult, Reference, ResourceContents,
    ResourceTemplate,
};

/// The template.
const TEMPLATE: &str = "workspace:///{+path}";
const PREFIX: &str = "workspace:///";

/// Largest file that is read, in bytes.
const MAX_FILE: u64 = 1 << 20;

pub(super) fn template() -> ResourceTemplate {
    ResourceTemplate::new(TEMPLATE, "file-reference")
        .with_title("@path")
        .with_description(
            "A file or directory of the workspace, by the path that follows an @ in a prompt. The argument `path` is completed fuzzily.",
        )
}

/// Candidates for what was typed after the `@`; directories end in `/`.
pub(super) async fn complete(
    host: &Host,
    request: &CompleteRequestParams,
    signal: &AbortSignal,
) -> Result<CompletionInfo, ErrorData> {
    let wrong = |message: String| ErrorData::invalid_params(message, None);
    match &request.r#ref {
        Reference::Resource(reference) if reference.uri == TEMPLATE => {}
        other => {
            return Err(wrong(format!(
                "only arguments of {TEMPLATE} are completed, not of {other:?}"
            )));
        }
    }
    if request.argument.name != "path" {
        return Err(wrong(format!(
            "{TEMPLATE} has the argument path, and none called {:?}",
            request.argument.name
        )));
    }
    let found = host
        .list_file_references(AGENT, &request.argument.value, signal)
        .await;
    let found =
        found.map_err(|error| ErrorData::internal_error(error.into_failure().message, None))?;
    let total = found.len();
    let mut values: Vec<String> = found
        .into_iter()
        .map(|candidate| match candidate.kind {
            Kind::File => candidate.path,
            Kind::Directory => format!("{}/", candidate.path),
        })
        .collect();
    values.truncate(CompletionInfo::MAX_VALUES);
    let more = values.len() < total;
    CompletionInfo::with_pagination(values, u32::try_from(total).ok(), more)
        .map_err(|error| ErrorData::internal_error(error, None))
}

/// The file or directory that a resource of the template means, within the workspace.
pub(super) async fn read(
    host: &Host,
    cwd: &str,
    uri: &str,
) -> Result<ReadResourceResult, ErrorData> {
    let missing = |reason: String| ErrorData::resource_not_found(reason, None);
    let path = uri
        .strip_prefix(PREFIX)
        .and_then(percent_decode)
        .ok_or_else(|| missing(format!("{uri}: not a resource of {TEMPLATE}")))?;
    let Some(fs) = host.services().file_system() else {
        return Err(missing(format!("{uri}: there is no file service")));
    };
    let path = if path.is_empty() { "." } else { path.as_str() };
    let target = fs.resolve(path, Some(cwd)).await;
    let target = target.map_err(|error| missing(error.to_string()))?;
    let info = fs.stat(&target).await;
    let contents = match info.map_err(|error| missing(error.to_string()))? {
        None => return Err(missing(format!("{path}: no such file"))),
        Some(info) if info.kind == NodeKind::Directory => directory(&*fs, &target, uri).await,
        Some(_) => file(&*fs, &target, uri).await,
    };
    contents.map(|contents| ReadResourceResult::new(vec![contents]))
}

async fn directory(
    fs: &dyn dsh_services::fs::FileSystem,
    target: &FsTarget,
    uri: &str,
) -> Result<ResourceContents, ErrorData> {
    let children = fs.list_dir(target).await.map_err(unreadable)?;
    let lines = children.into_iter().map(|child| match child.kind {
        NodeKind::Directory => format!("{}/\n", child.name),
        _ => format!("{}\n", child.name),
    });
    Ok(ResourceContents::text(lines.collect::<String>(), uri))
}

async fn file(
    fs: &dyn dsh_services::fs::FileSystem,
    target: &FsTarget,
    uri: &str,
) -> Result<ResourceContents, ErrorData> {
    match fs.read_text(target, MAX_FILE).await {
        Ok(text) => Ok(ResourceContents::text(text, uri)),
        Err(error) if error.code == FsErrorCode::NotText => {
            let bytes = fs.read_bytes(target, MAX_FILE).await.map_err(unreadable)?;
            Ok(ResourceContents::blob(BASE64_STANDARD.encode(bytes), uri))
        }
        Err(error) => Err(unreadable(error)),
    }
}

fn unreadable(error: dsh_services::fs::FsError) -> ErrorData {
    ErrorData::invalid_params(error.to_string(), None)
}

/// The text behind percent escapes; none for an escape that is none, or for bytes that are no UTF-8.
fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let value = digit()? * 16 + digit()?;
        bytes.push(u8::try_from(value).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded_or_refused() {
        for (text, expected) in [
            ("a/b", Some("a/b")),
            ("a%20b%C3%A9", Some("a bé")),
            ("%", None),
            ("%4", None),
            ("%zz", None),
            ("%ff", None),
        ] {
            assert_eq!(percent_decode(text).as_deref(), expected, "{text}");
        }
    }
}
