//! Reading a component: is it one, is it one of ours, and what does it want.

use crate::bindings::dsh::ctx as imports;
use crate::bindings::exports::dsh::ctx as exports;
use crate::engine::Engine;
use crate::store::PluginState;
use std::collections::BTreeSet;
use std::sync::Arc;
use thiserror::Error;
use wasmtime::component::{Component, HasSelf, Instance, InstancePre, Linker};

/// The version of `dsh:ctx` that this host implements.
pub const CTX_VERSION: &str = "0.1.0";

/// WASI packages whose functions a plugin may import. They give it nothing but clocks, random numbers and a place for its standard error: the
/// Rust standard library of the target imports them whether it uses them or not. Sockets and HTTP are not among them.
const WASI_PACKAGES: &[&str] = &[
    "wasi:cli",
    "wasi:clocks",
    "wasi:filesystem",
    "wasi:io",
    "wasi:random",
];

/// Why a file is no plugin for this host.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The bytes are no WebAssembly.
    #[error(
        "not a WebAssembly component: the file does not begin with the WebAssembly magic number"
    )]
    NotWasm,
    /// A core module, which has no typed interface.
    #[error(
        "a WebAssembly core module, not a component: build it for wasm32-wasip2, or wrap it with `wasm-tools component new`"
    )]
    CoreModule,
    /// The compiler refused it.
    #[error("not a valid WebAssembly component: {0}")]
    Invalid(String),
    /// It asks for another version of the contract.
    #[error("it needs {interface}, and this host implements dsh:ctx@{CTX_VERSION}")]
    UnknownVersion {
        /// The interface with its version, as the component names it.
        interface: String,
    },
    /// It asks for something that no plugin gets.
    #[error("it imports {interface}, which this host does not give to plugins")]
    ForbiddenImport {
        /// The import's name.
        interface: String,
    },
    /// It lacks the interface that every plugin exports.
    #[error("it does not export dsh:ctx/lifecycle@{CTX_VERSION}, which every plugin must")]
    NoLifecycle,
    /// An interface has the right name and the wrong shape.
    #[error("it does not fit dsh:ctx@{CTX_VERSION}: {0}")]
    Mismatch(String),
}

/// A component that has been checked and linked; instances are made from it. Cheap to clone.
#[derive(Clone)]
pub struct LoadedComponent(Arc<Inner>);

struct Inner {
    pre: InstancePre<PluginState>,
    imports: Vec<String>,
    exports: Vec<String>,
    size: usize,
    indices: Indices,
}

struct Indices {
    lifecycle: exports::lifecycle::GuestIndices,
    tools: Option<exports::tool_provider::GuestIndices>,
    agents: Option<exports::agent_events::GuestIndices>,
    files: Option<exports::file_references::GuestIndices>,
    prompt: Option<exports::prompt_sections::GuestIndices>,
}

/// The interfaces of one instance.
pub(crate) struct Exports {
    pub(crate) lifecycle: exports::lifecycle::Guest,
    pub(crate) tools: Option<exports::tool_provider::Guest>,
    pub(crate) agents: Option<exports::agent_events::Guest>,
    pub(crate) files: Option<exports::file_references::Guest>,
    pub(crate) prompt: Option<exports::prompt_sections::Guest>,
}

impl LoadedComponent {
    /// Checks, compiles (or takes from the cache) and links a component.
    ///
    /// # Errors
    /// See [`LoadError`]; nothing of the component has run.
    pub fn new(engine: &Engine, bytes: &[u8]) -> Result<Self, LoadError> {
        check_header(bytes)?;
        let component = Component::new(engine.wasmtime(), bytes)
            .map_err(|error| LoadError::Invalid(format!("{error:#}")))?;
        let kind = component.component_type();
        let names = |items: Vec<&str>| items.into_iter().map(String::from).collect::<Vec<_>>();
        let imports = names(
            kind.imports(engine.wasmtime())
                .map(|(name, _)| name)
                .collect(),
        );
        let exports = names(
            kind.exports(engine.wasmtime())
                .map(|(name, _)| name)
                .collect(),
        );
        for name in imports.iter().chain(&exports) {
            check_version(name)?;
        }
        let mismatch = |error: wasmtime::Error| LoadError::Mismatch(format!("{error:#}"));
        let linker = linker(engine, &imports).map_err(mismatch)??;
        let pre = linker.instantiate_pre(&component).map_err(mismatch)?;
        let indices = Indices::new(&pre, &exports)?;
        Ok(Self(Arc::new(Inner {
            pre,
            imports,
            exports,
            size: bytes.len(),
            indices,
        })))
    }

    /// The interfaces that it imports, with versions: its permission list.
    pub fn imports(&self) -> &[String] {
        &self.0.imports
    }

    /// The interfaces that it exports, with versions.
    pub fn exports(&self) -> &[String] {
        &self.0.exports
    }

    /// Size of the component file in bytes.
    pub fn size(&self) -> usize {
        self.0.size
    }

    /// The world of `dsh:ctx` with exactly these `dsh:ctx` interfaces.
    pub fn world(&self) -> Option<&'static str> {
        let own = |names: &[String]| {
            let short = names.iter().filter_map(|name| {
                Some(name.strip_prefix("dsh:ctx/")?.split('@').next()?.to_owned())
            });
            // Interfaces that hold types only are imported because others use them; they permit nothing.
            short
                .filter(|name| name != "types")
                .collect::<BTreeSet<_>>()
        };
        let (imports, exports) = (own(&self.0.imports), own(&self.0.exports));
        WORLDS
            .iter()
            .find(|world| {
                exports.iter().eq(world.exports.iter())
                    && imports
                        .iter()
                        .all(|name| world.imports.contains(&name.as_str()))
            })
            .map(|world| world.name)
    }

    pub(crate) fn pre(&self) -> &InstancePre<PluginState> {
        &self.0.pre
    }

    pub(crate) fn exports_of(
        &self,
        store: &mut wasmtime::Store<PluginState>,
        instance: &Instance,
    ) -> wasmtime::Result<Exports> {
        let indices = &self.0.indices;
        Ok(Exports {
            lifecycle: indices.lifecycle.load(&mut *store, instance)?,
            tools: indices
                .tools
                .as_ref()
                .map(|found| found.load(&mut *store, instance))
                .transpose()?,
            agents: indices
                .agents
                .as_ref()
                .map(|found| found.load(&mut *store, instance))
                .transpose()?,
            files: indices
                .files
                .as_ref()
                .map(|found| found.load(&mut *store, instance))
                .transpose()?,
            prompt: indices
                .prompt
                .as_ref()
                .map(|found| found.load(&mut *store, instance))
                .transpose()?,
        })
    }

    /// Whether it exports tools.
    pub fn provides_tools(&self) -> bool {
        self.0.indices.tools.is_some()
    }

    /// Whether it wants to hear of agents.
    pub fn follows_agents(&self) -> bool {
        self.0.indices.agents.is_some()
    }

    /// Whether it exports `@path` completion.
    pub fn provides_file_references(&self) -> bool {
        self.0.indices.files.is_some()
    }

    /// Whether it contributes to the system prompt.
    pub fn provides_prompt(&self) -> bool {
        self.0.indices.prompt.is_some()
    }
}

impl std::fmt::Debug for LoadedComponent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoadedComponent")
            .field("imports", &self.0.imports)
            .field("exports", &self.0.exports)
            .finish()
    }
}

/// One world of the contract, exports in alphabetical order.
struct World {
    name: &'static str,
    imports: &'static [&'static str],
    exports: &'static [&'static str],
}

const WORLDS: &[World] = &[
    World {
        name: "file-reference-local",
        imports: &["abort", "logger", "tools", "workspace"],
        exports: &[
            "agent-events",
            "file-references",
            "lifecycle",
            "prompt-sections",
        ],
    },
    World {
        name: "workspace-intelligence",
        imports: &["abort", "call", "fs", "logger", "subprocess", "timers"],
        exports: &["lifecycle", "tool-provider"],
    },
    World {
        name: "context-proxy",
        imports: &[
            "abort",
            "call",
            "logger",
            "session-query",
            "spill",
            "subprocess",
        ],
        exports: &["lifecycle", "tool-provider"],
    },
];

impl Indices {
    fn new(pre: &InstancePre<PluginState>, exported: &[String]) -> Result<Self, LoadError> {
        let has = |name: &str| {
            exported
                .iter()
                .any(|export| *export == format!("dsh:ctx/{name}@{CTX_VERSION}"))
        };
        if !has("lifecycle") {
            return Err(LoadError::NoLifecycle);
        }
        let mismatch = |error: wasmtime::Error| LoadError::Mismatch(format!("{error:#}"));
        Ok(Self {
            lifecycle: exports::lifecycle::GuestIndices::new(pre).map_err(mismatch)?,
            tools: has("tool-provider")
                .then(|| exports::tool_provider::GuestIndices::new(pre))
                .transpose()
                .map_err(mismatch)?,
            agents: has("agent-events")
                .then(|| exports::agent_events::GuestIndices::new(pre))
                .transpose()
                .map_err(mismatch)?,
            files: has("file-references")
                .then(|| exports::file_references::GuestIndices::new(pre))
                .transpose()
                .map_err(mismatch)?,
            prompt: has("prompt-sections")
                .then(|| exports::prompt_sections::GuestIndices::new(pre))
                .transpose()
                .map_err(mismatch)?,
        })
    }
}

fn check_header(bytes: &[u8]) -> Result<(), LoadError> {
    // The four bytes after the magic number tell a core module (version 1, layer 0) from a component (layer 1).
    match (bytes.get(..4), bytes.get(4..8)) {
        (Some(b"\0asm"), Some([1, 0, 0, 0])) => Err(LoadError::CoreModule),
        (Some(b"\0asm"), Some(_)) => Ok(()),
        _ => Err(LoadError::NotWasm),
    }
}

fn check_version(name: &str) -> Result<(), LoadError> {
    let ours = name.starts_with("dsh:ctx/");
    if ours && name.split_once('@').map(|(_, version)| version) != Some(CTX_VERSION) {
        return Err(LoadError::UnknownVersion {
            interface: name.into(),
        });
    }
    Ok(())
}

/// A linker that offers what the component imports and nothing else.
fn linker(
    engine: &Engine,
    wanted: &[String],
) -> wasmtime::Result<Result<Linker<PluginState>, LoadError>> {
    let mut linker = Linker::new(engine.wasmtime());
    if wanted.iter().any(|name| name.starts_with("wasi:")) {
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    }
    for name in wanted {
        if WASI_PACKAGES.contains(&name.split('/').next().unwrap_or_default()) {
            continue;
        }
        let interface = name
            .strip_prefix("dsh:ctx/")
            .and_then(|name| name.split('@').next());
        let known = add_interface(&mut linker, interface.unwrap_or_default())?;
        if !known {
            return Ok(Err(LoadError::ForbiddenImport {
                interface: name.clone(),
            }));
        }
    }
    Ok(Ok(linker))
}

fn add_interface(linker: &mut Linker<PluginState>, interface: &str) -> wasmtime::Result<bool> {
    type Data = HasSelf<PluginState>;
    match interface {
        "abort" => imports::abort::add_to_linker::<_, Data>(linker, |state| state)?,
        "call" => imports::call::add_to_linker::<_, Data>(linker, |state| state)?,
        "fs" => imports::fs::add_to_linker::<_, Data>(linker, |state| state)?,
        "logger" => imports::logger::add_to_linker::<_, Data>(linker, |state| state)?,
        "session-query" => imports::session_query::add_to_linker::<_, Data>(linker, |state| state)?,
        "spill" => imports::spill::add_to_linker::<_, Data>(linker, |state| state)?,
        "subprocess" => imports::subprocess::add_to_linker::<_, Data>(linker, |state| state)?,
        "timers" => imports::timers::add_to_linker::<_, Data>(linker, |state| state)?,
        "tools" => imports::tools::add_to_linker::<_, Data>(linker, |state| state)?,
        // It holds types only, so there is nothing to link.
        "types" => {}
        "workspace" => imports::workspace::add_to_linker::<_, Data>(linker, |state| state)?,
        _ => return Ok(false),
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worlds_are_those_of_the_contract() {
        let mut written = Vec::new();
        for line in include_str!("../../wit/worlds.wit").lines() {
            let line = line.trim();
            if let Some(name) = line
                .strip_prefix("world ")
                .and_then(|rest| rest.strip_suffix(" {"))
            {
                written.push((name, Vec::new(), Vec::new()));
            }
            let Some((_, imports, exports)) = written.last_mut() else {
                continue;
            };
            match line.trim_end_matches(';').split_once(' ') {
                Some(("import", interface)) => imports.push(interface),
                Some(("export", interface)) => exports.push(interface),
                _ => {}
            }
        }
        for (_, imports, exports) in &mut written {
            imports.sort_unstable();
            exports.sort_unstable();
        }
        let known: Vec<_> = WORLDS
            .iter()
            .map(|world| (world.name, world.imports.to_vec(), world.exports.to_vec()))
            .collect();
        assert_eq!(known, written);
    }
}
