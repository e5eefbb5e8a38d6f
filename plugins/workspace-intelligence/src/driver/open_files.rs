//! The documents that a server is told about after the handshake (SPEC 12.4): some servers know nothing of a project until a file of it is open.

use super::ports::{Child, Host, Level, NodeKind};
use super::workspace::Workspace;
use crate::glob::Pattern;
use crate::languages::language_id;
use std::collections::VecDeque;

/// Most directory entries that are looked at for one process.
const MAX_ENTRIES: usize = 5_000;
/// Larger files are not opened.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Directories that hold no sources of the project itself.
const SKIPPED: [&str; 13] = [
    ".cache",
    ".git",
    ".hg",
    ".jj",
    ".svn",
    ".tox",
    ".venv",
    "__pycache__",
    "bower_components",
    "node_modules",
    "target",
    "vendor",
    "venv",
];

/// A document to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its canonical `file:` URL.
    pub uri: String,
    /// What LSP calls its language.
    pub language_id: &'static str,
    /// Its content.
    pub text: String,
}

/// The first match of each pattern, in the order of the patterns. A pattern without a match, or whose match cannot be read, is no error.
pub async fn collect<H: Host>(
    host: &H,
    workspace: &Workspace<H>,
    patterns: &[(String, Pattern)],
) -> Vec<Document> {
    let mut documents = Vec::new();
    for ((text, _), path) in patterns
        .iter()
        .zip(first_matches(host, workspace, patterns).await)
    {
        let Some(path) = path else {
            host.log(
                Level::Debug,
                &format!("openFiles: nothing matches {text:?} in {}", workspace.path),
            );
            continue;
        };
        match open(host, workspace, &path).await {
            Ok(document) if !documents.contains(&document) => documents.push(document),
            Ok(_) => {}
            Err(reason) => host.log(
                Level::Warn,
                &format!("openFiles: {path:?} is not opened: {reason}"),
            ),
        }
    }
    documents
}

async fn first_matches<H: Host>(
    host: &H,
    workspace: &Workspace<H>,
    patterns: &[(String, Pattern)],
) -> Vec<Option<String>> {
    let mut found = Vec::with_capacity(patterns.len());
    for (_, pattern) in patterns {
        found.push(match pattern.literals() {
            Some(paths) => first_file(host, workspace, paths).await,
            None => None,
        });
    }
    let is_open = |found: &[Option<String>]| {
        let mut pairs = patterns.iter().zip(found);
        pairs.any(|((_, pattern), found)| found.is_none() && pattern.literals().is_none())
    };
    let mut directories = VecDeque::from([String::new()]);
    let mut seen = 0;
    while let Some(directory) = directories.pop_front() {
        if !is_open(&found) {
            break;
        }
        for Child { name, kind } in list(host, workspace, &directory).await {
            seen += 1;
            if seen > MAX_ENTRIES {
                return found;
            }
            let path = if directory.is_empty() {
                name.clone()
            } else {
                format!("{directory}/{name}")
            };
            match kind {
                NodeKind::Directory if !SKIPPED.contains(&name.as_str()) => {
                    directories.push_back(path)
                }
                NodeKind::File => {
                    for ((_, pattern), found) in patterns.iter().zip(&mut found) {
                        if found.is_none() && pattern.matches(&path) {
                            *found = Some(path.clone());
                        }
                    }
                }
                _ => {}
            }
        }
    }
    found
}

async fn first_file<H: Host>(
    host: &H,
    workspace: &Workspace<H>,
    paths: Vec<String>,
) -> Option<String> {
    for path in paths {
        if let Ok(target) = host.resolve(&path, Some(&workspace.path)).await
            && let Ok(Some(NodeKind::File)) = host.kind(&target).await
        {
            return Some(path);
        }
    }
    None
}

/// What cannot be listed is skipped: a match may lie elsewhere.
async fn list<H: Host>(host: &H, workspace: &Workspace<H>, directory: &str) -> Vec<Child> {
    if directory.is_empty() {
        return host.list(&workspace.target).await.unwrap_or_default();
    }
    match host.resolve(directory, Some(&workspace.path)).await {
        Ok(target) => host.list(&target).await.unwrap_or_default(),
        Err(_) => Vec::new(),
    }
}

async fn open<H: Host>(host: &H, workspace: &Workspace<H>, path: &str) -> Result<Document, String> {
    let target = host.resolve(path, Some(&workspace.path)).await?;
    if !host.contains(&workspace.target, &target) {
        return Err("it leads out of the workspace".to_owned());
    }
    let text = host.read_text(&target, MAX_FILE_BYTES).await?;
    Ok(Document {
        uri: host.file_url(&target),
        language_id: language_id(path),
        text,
    })
}
