//! The state that belongs to one plugin instance, and the store around it.

use crate::ctx::PluginEnv;
use crate::engine::Engine;
use crate::limits::{Limits, MemoryLimiter, Watchdog};
use crate::stderr::Stderr;
use std::sync::Arc;
use wasmtime::Store;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

/// What the host functions of one instance work on. It is dropped with the instance, and everything that the guest held with it.
pub struct PluginState {
    pub(crate) table: ResourceTable,
    pub(crate) env: Arc<PluginEnv>,
    pub(crate) limiter: MemoryLimiter,
    wasi: WasiCtx,
}

impl WasiView for PluginState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

impl PluginState {
    /// Creates the store for one instance. WASI gives it clocks, random numbers and a standard error that ends in the log: no files, no network, no
    /// environment, no arguments.
    pub(crate) fn store(
        engine: &Engine,
        limits: &Limits,
        watchdog: &Watchdog,
        env: Arc<PluginEnv>,
        stderr: Stderr,
    ) -> Store<Self> {
        let wasi = WasiCtx::builder()
            .stderr(stderr)
            .allow_tcp(false)
            .allow_udp(false)
            .build();
        let state = Self {
            table: ResourceTable::new(),
            env,
            limiter: MemoryLimiter::new(limits),
            wasi,
        };
        let mut store = Store::new(engine.wasmtime(), state);
        store.limiter(|state| &mut state.limiter);
        store.set_hostcall_fuel(limits.message);
        watchdog.guard(&mut store, limits.spin);
        store
    }
}
