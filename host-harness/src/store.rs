//! The state that belongs to one plugin instance, and the store around it.

use crate::ctx::{Lanes, PluginEnv};
use crate::engine::Engine;
use crate::guards::{MemoryLimiter, Watchdog};
use crate::limits::Limits;
use crate::stderr::Stderr;
use std::sync::Arc;
use wasmtime::Store;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

/// Things of the host that one instance may hold at one time: files, processes, directories, callers, signals. A handle costs the guest four
/// bytes, and the host up to two paths of the greatest length.
pub(crate) const MAX_RESOURCES: usize = 10_000;
/// Room for what goes with a message: names, records, lengths.
const ENVELOPE_BYTES: usize = 64 << 10;

/// What the host functions of one instance work on. It is dropped with the instance, and everything that the guest held with it.
pub struct PluginState {
    pub(crate) table: ResourceTable,
    pub(crate) env: Arc<PluginEnv>,
    pub(crate) limiter: MemoryLimiter,
    pub(crate) lanes: Lanes,
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
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_RESOURCES);
        let state = Self {
            table,
            limiter: MemoryLimiter::new(limits, env.memory.clone()),
            env,
            lanes: Lanes::new(limits),
            wasi,
        };
        let mut store = Store::new(engine.wasmtime(), state);
        store.limiter(|state| &mut state.limiter);
        // Value and text of an answer may each be as large as a message. What is a little too large is refused by the host, call by call; this
        // bound keeps the rest from being copied at all, at the price of a trap.
        store.set_hostcall_fuel(
            limits
                .message
                .saturating_mul(2)
                .saturating_add(ENVELOPE_BYTES),
        );
        watchdog.guard(&mut store, limits.spin);
        store
    }
}
