//! The three components that the host carries with it.

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
