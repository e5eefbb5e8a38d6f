//! The three components that the host carries with it, and how a row names a component.

use crate::component::{LoadError, LoadedComponent};
use crate::engine::Engine;
use std::io::Read;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A component as it was built with this host.
#[derive(Clone, Copy, Debug)]
pub struct Bundled {
    /// The plugin's name, as DSH and profiles know it.
    pub name: &'static str,
    /// The component file.
    pub bytes: &'static [u8],
}

/// All of them, ordered by name.
pub const ALL: [Bundled; 3] = [
    Bundled {
        name: "dsh-context-proxy",
        bytes: include_bytes!(env!("DSH_CONTEXT_PROXY_WASM")),
    },
    Bundled {
        name: "dsh-file-reference-local",
        bytes: include_bytes!(env!("DSH_FILE_REFERENCE_LOCAL_WASM")),
    },
    Bundled {
        name: "dsh-workspace-intelligence",
        bytes: include_bytes!(env!("DSH_WORKSPACE_INTELLIGENCE_WASM")),
    },
];

/// The component of this name.
pub fn find(name: &str) -> Option<Bundled> {
    ALL.into_iter().find(|bundled| bundled.name == name)
}

/// Why the name of a row leads to no component.
#[derive(Debug, Error)]
pub enum NameError {
    /// It is neither the name of a bundled component nor a file name.
    #[error(
        "no bundled plugin is called \"{name}\" (there are {}); a file name ends in .wasm",
        ALL.map(|bundled| bundled.name).join(", ")
    )]
    Unknown {
        /// The name.
        name: String,
    },
    /// The file cannot be read.
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// Its path.
        path: PathBuf,
        /// What the operating system says.
        error: std::io::Error,
    },
    /// What was found is no component for this host.
    #[error("{name}: {error}")]
    Unfit {
        /// The name.
        name: String,
        /// What is wrong with it.
        error: LoadError,
    },
}

/// Loads the component that a row names: a bundled one, or a file, whose relative path counts from `base`.
///
/// # Errors
/// See [`NameError`].
pub fn load(engine: &Engine, name: &str, base: &Path) -> Result<LoadedComponent, NameError> {
    let from_file;
    let bytes = match find(name) {
        Some(found) => found.bytes,
        None if looks_like_path(name) => {
            let path = base.join(name);
            from_file = read(&path).map_err(|error| NameError::Unreadable { path, error })?;
            &from_file
        }
        None => return Err(NameError::Unknown { name: name.into() }),
    };
    LoadedComponent::new(engine, bytes).map_err(|error| NameError::Unfit {
        name: name.into(),
        error,
    })
}

/// The most bytes of a component's file. What compilers make of a plugin is a hundredth of it.
const MAX_FILE: u64 = 256 << 20;

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path)?;
    file.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE {
        let message = format!("it has more than {} MiB", MAX_FILE >> 20);
        return Err(std::io::Error::new(
            std::io::ErrorKind::FileTooLarge,
            message,
        ));
    }
    Ok(bytes)
}

fn looks_like_path(name: &str) -> bool {
    name.ends_with(".wasm") || name.contains(['/', '\\'])
}
