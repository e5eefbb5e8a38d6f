//! The compiler and its cache.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use wasmtime::WasmFeatures;

/// How often running guests are interrupted to see whether they may go on.
pub const TICK: Duration = Duration::from_millis(10);

/// Stack of a guest. A recursion without end stops there with a trap.
const GUEST_STACK: usize = 1 << 20;
/// Stack on which guest and host functions run; the rest above `GUEST_STACK` is the host's.
const FIBER_STACK: usize = GUEST_STACK + (1 << 20);

/// Proposals that no plugin needs: the compilers of wasm32-wasip2 emit none of them. What the validator refuses cannot go wrong later; wasmtime
/// 48.0.8 without its garbage collector accepts function subtypes and aborts the process when it has to compare two (GHSA-rc4p-x33f-vpr2).
const UNNEEDED: WasmFeatures = WasmFeatures::GC
    .union(WasmFeatures::GC_TYPES)
    .union(WasmFeatures::FUNCTION_REFERENCES)
    .union(WasmFeatures::EXCEPTIONS)
    .union(WasmFeatures::LEGACY_EXCEPTIONS)
    .union(WasmFeatures::STACK_SWITCHING)
    .union(WasmFeatures::TAIL_CALL)
    .union(WasmFeatures::THREADS)
    .union(WasmFeatures::MEMORY64)
    .union(WasmFeatures::MULTI_MEMORY)
    .union(WasmFeatures::RELAXED_SIMD);

/// A configured wasmtime engine with its interruption ticker. Cheap to clone; the ticker ends with the last clone.
#[derive(Clone)]
pub struct Engine(Arc<wasmtime::Engine>);

/// Where compiled code is kept between runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CodeCache {
    /// In the user's cache directory: `$DSH_HOST_CACHE_DIR`, else `dsh-host` under `$XDG_CACHE_HOME` or `~/.cache` (the platform's own places elsewhere).
    #[default]
    User,
    /// In this directory.
    Directory(PathBuf),
    /// Nowhere.
    None,
}

impl Engine {
    /// Builds an engine. A cache directory that cannot be used is no error: the code is then compiled anew, which takes about a second.
    ///
    /// # Errors
    /// The processor or the operating system is not supported by wasmtime.
    pub fn new(cache: &CodeCache) -> wasmtime::Result<Self> {
        let mut config = wasmtime::Config::new();
        config.epoch_interruption(true);
        config.wasm_component_model_async(true);
        config.wasm_features(UNNEEDED, false);
        config.max_wasm_stack(GUEST_STACK);
        config.async_stack_size(FIBER_STACK);
        if let Some(directory) = cache.directory() {
            match open_cache(&directory) {
                Ok(cache) => {
                    config.cache(Some(cache));
                }
                Err(error) => {
                    tracing::debug!("no code cache in {}: {error:#}", directory.display())
                }
            }
        }
        let engine = wasmtime::Engine::new(&config)?;
        // The thread holds no strong reference, so that it ends soon after the last user of the engine.
        let weak = engine.weak();
        std::thread::Builder::new()
            .name("dsh-epoch".into())
            .spawn(move || {
                while let Some(engine) = weak.upgrade() {
                    engine.increment_epoch();
                    drop(engine);
                    std::thread::sleep(TICK);
                }
            })?;
        Ok(Self(Arc::new(engine)))
    }

    /// The engine itself.
    pub fn wasmtime(&self) -> &wasmtime::Engine {
        &self.0
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Engine")
    }
}

impl CodeCache {
    fn directory(&self) -> Option<PathBuf> {
        match self {
            Self::None => None,
            Self::Directory(directory) => Some(directory.clone()),
            Self::User => user_cache_directory(),
        }
    }
}

fn user_cache_directory() -> Option<PathBuf> {
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    if let Some(directory) = absolute("DSH_HOST_CACHE_DIR") {
        return Some(directory);
    }
    let base = if cfg!(windows) {
        absolute("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        absolute("HOME").map(|home| home.join("Library/Caches"))
    } else {
        absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))
    };
    base.map(|base| base.join("dsh-host"))
}

/// Opens the cache. Compiled code is executed as it is found, so the directory must belong to this user alone.
fn open_cache(directory: &Path) -> wasmtime::Result<wasmtime::Cache> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
        builder.mode(0o700).create(directory)?;
        let metadata = std::fs::metadata(directory)?;
        if metadata.permissions().mode() & 0o022 != 0 {
            wasmtime::bail!("others may write to it");
        }
        let owner = rustix::process::geteuid().as_raw();
        if metadata.uid() != owner {
            wasmtime::bail!("it belongs to another user");
        }
    }
    #[cfg(not(unix))]
    builder.create(directory)?;
    let mut config = wasmtime::CacheConfig::new();
    config.with_directory(directory);
    wasmtime::Cache::new(config)
}
