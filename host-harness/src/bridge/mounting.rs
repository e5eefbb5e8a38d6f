//! The rows of one connection: mounting them, following the services of DSH, and saying what there is.

use super::wire::{codes, member};
use crate::bundled;
use crate::failure::Failure;
use crate::grants::Programs;
use crate::host::Host;
use crate::profile::{Profile, ProfileRow};
use crate::rows::{PluginRow, RowState};
use crate::services::names;
use dsh_services::fs::FileSystem;
use dsh_services::session_query::SessionQuery;
use dsh_services::spill::{SpillGuard, SpillRoots};
use dsh_services::subprocess::Subprocess;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The services of DSH as providers of this host, present or not.
pub(super) struct Providers {
    pub(super) fs: Arc<dyn FileSystem>,
    pub(super) subprocess: Arc<dyn Subprocess>,
    pub(super) session_query: Arc<dyn SessionQuery>,
    pub(super) present: Mutex<BTreeSet<String>>,
}

impl Providers {
    /// Takes over which services DSH has now. One that was there before and still is stays the same, since rows are applied anew when a
    /// service of theirs is replaced.
    pub(super) fn follow(&self, host: &Host, present: BTreeSet<String>) {
        let services = host.services();
        let mut known = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = |name: &str| known.contains(name) != present.contains(name);
        let has = |name: &str| present.contains(name);
        if changed(names::FS) {
            services.set_file_system(has(names::FS).then(|| self.fs.clone()));
        }
        if changed(names::SUBPROCESS) {
            services.set_subprocess(has(names::SUBPROCESS).then(|| self.subprocess.clone()));
        }
        if changed(names::SESSION_QUERY) {
            services
                .set_session_query(has(names::SESSION_QUERY).then(|| self.session_query.clone()));
        }
        *known = present;
    }

    /// Takes over where the DSH process has its temporary files, and with them its spill files.
    pub(super) fn find_spill(&self, host: &Host, temporary: PathBuf) {
        let guard = SpillGuard::new(SpillRoots::under(temporary), self.session_query.clone());
        host.services().set_spill_guard(Some(Arc::new(guard)));
    }
}

/// Mounts all rows or, when one cannot be, none.
pub(super) async fn mount(host: &Host, params: &Value) -> Result<Value, Failure> {
    let rows = params.get("rows").unwrap_or(&Value::Null);
    // JSON is YAML, so the rows are judged by the rules of profile files.
    let profile = Profile::parse(&rows.to_string())
        .map_err(|error| Failure::host("BRIDGE_CONFIG", error.to_string()))?;
    let base: Option<String> = member(params, "base")?;
    let base = PathBuf::from(base.unwrap_or_default());
    let mut mounted = Vec::new();
    for row in profile.rows.into_iter().filter(|row| !row.disabled) {
        let id = row.id.clone();
        match mount_row(host, row, &base).await {
            Ok(()) => mounted.push(id),
            Err(failure) => {
                for id in mounted {
                    // Why the mounting failed says more than what its undoing reports.
                    let _ = host.unmount(&id).await;
                }
                return Err(Failure {
                    message: format!("row \"{id}\": {}", failure.message),
                    ..failure
                });
            }
        }
    }
    let mut state = describe(host);
    state["warnings"] = profile.warnings.into();
    Ok(state)
}

async fn mount_row(host: &Host, row: ProfileRow, base: &Path) -> Result<(), Failure> {
    let component = bundled::load(host.engine(), &row.name, base)
        .map_err(|error| Failure::host("BRIDGE_CONFIG", format!("name: {error}")))?;
    let row = PluginRow {
        programs: Programs::OfConfiguration(row.name.clone()),
        id: row.id,
        component,
        config: row.config,
        limits: row.limits,
    };
    host.mount(row).await.map(drop)
}

/// The rows and tools there are.
pub(super) fn describe(host: &Host) -> Value {
    let mut rows = Vec::new();
    for row in host.rows().mounted() {
        let manifest = row.manifest;
        let (state, waiting, error) = match row.state {
            RowState::Active => ("active", Vec::new(), None),
            RowState::Pending(missing) => ("pending", missing, None),
            RowState::Failed(failure) => ("failed", Vec::new(), Some(failure.message)),
        };
        rows.push(json!({
            "id": row.id,
            "name": manifest.name,
            "version": manifest.version,
            "required": manifest.required,
            "optional": manifest.optional,
            "state": state,
            "waiting": waiting,
            "error": error,
            "fileReferences": row.file_references,
            "prompt": row.prompt,
        }));
    }
    let tools = host.tools(None).into_iter().map(|tool| {
        json!({
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
            "outputSchema": tool.output_schema,
            "timeoutMs": tool.timeout_ms,
            "concurrencySafe": tool.concurrency_safe,
        })
    });
    json!({ "rows": rows, "tools": tools.collect::<Vec<_>>() })
}

/// Judges which version of the protocol the other side wants.
pub(super) fn hello(params: &Value) -> Result<Value, Failure> {
    let wanted: u64 = member(params, "protocol")?;
    if wanted != super::PROTOCOL {
        let message = format!(
            "this dsh-host {} speaks protocol {} of the bridge, and the plugin asks for {wanted}",
            env!("CARGO_PKG_VERSION"),
            super::PROTOCOL
        );
        return Err(Failure::host(codes::PROTOCOL, message));
    }
    Ok(json!({
        "protocol": super::PROTOCOL,
        "version": env!("CARGO_PKG_VERSION"),
        "plugins": bundled::ALL.map(|bundled| bundled.name),
    }))
}
