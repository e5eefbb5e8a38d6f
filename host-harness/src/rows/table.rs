//! The table of rows: what stands where, and the change of a row that is under way.

use super::{PluginRow, RowState};
use crate::failure::Failure;
use crate::mountings::Mountings;
use crate::plugin::{Manifest, Plugin};
use crate::registry::Registration;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::OwnedMutexGuard;

/// A row as it is told to others.
pub(crate) struct Mounted {
    pub(crate) id: String,
    pub(crate) manifest: Manifest,
    pub(crate) state: RowState,
    pub(crate) file_references: bool,
    pub(crate) prompt: bool,
}

/// All rows of one host.
#[derive(Default)]
pub(crate) struct Rows {
    rows: RwLock<BTreeMap<String, Arc<Row>>>,
    pub(super) mountings: Mountings,
}

#[derive(Default)]
pub(super) struct Row {
    /// Held through a change.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// Nothing while the row is being changed.
    standing: RwLock<Option<Standing>>,
}

pub(super) struct Standing {
    pub(super) spec: PluginRow,
    pub(super) manifest: Manifest,
    pub(super) state: State,
}

pub(super) enum State {
    Active {
        plugin: Arc<Plugin>,
        tools: Option<Registration>,
        /// Which services it was given.
        on: Vec<u64>,
    },
    Pending(Vec<String>),
    Failed(Failure),
}

/// A change of one row under way. One that is dropped leaves no row.
pub(super) struct Change<'a> {
    rows: &'a Rows,
    id: String,
    row: Arc<Row>,
    _turn: OwnedMutexGuard<()>,
    finished: bool,
}

impl Rows {
    /// Takes an identifier for a new row.
    pub(super) async fn reserve(&self, id: &str) -> Result<Change<'_>, Failure> {
        let row = Arc::new(Row::default());
        let turn = row.turn.clone().lock_owned().await;
        let mut rows = self.rows.write().unwrap_or_else(PoisonError::into_inner);
        if rows.contains_key(id) {
            return Err(Failure::host(
                "ROW_DUPLICATE",
                format!("there is a row \"{id}\" already"),
            ));
        }
        rows.insert(id.into(), row.clone());
        Ok(Change {
            rows: self,
            id: id.into(),
            row,
            _turn: turn,
            finished: false,
        })
    }

    /// Begins a change of a row.
    pub(super) async fn change(&self, id: &str) -> Result<(Change<'_>, Standing), Failure> {
        self.change_if(id, |_| true)
            .await
            .ok_or_else(|| Failure::host("ROW_UNKNOWN", format!("there is no row \"{id}\"")))
    }

    /// The same, if the row is there and `wanted` holds when its turn has come.
    pub(super) async fn change_if(
        &self,
        id: &str,
        wanted: impl FnOnce(&Standing) -> bool,
    ) -> Option<(Change<'_>, Standing)> {
        let row = self.find(id)?;
        let turn = row.turn.clone().lock_owned().await;
        // Nothing stands when the change before this one took the row away.
        let standing = match row.look(wanted)? {
            true => row.set(None)?,
            false => return None,
        };
        let change = Change {
            rows: self,
            id: id.into(),
            row,
            _turn: turn,
            finished: false,
        };
        Some((change, standing))
    }

    pub(super) fn find(&self, id: &str) -> Option<Arc<Row>> {
        let rows = self.rows.read().unwrap_or_else(PoisonError::into_inner);
        rows.get(id).cloned()
    }

    pub(super) fn ids(&self) -> Vec<String> {
        let rows = self.rows.read().unwrap_or_else(PoisonError::into_inner);
        rows.keys().cloned().collect()
    }

    /// The plugins that are applied, in the order of their rows' identifiers.
    pub(crate) fn active(&self) -> Vec<(String, Arc<Plugin>)> {
        let rows = self.rows.read().unwrap_or_else(PoisonError::into_inner);
        let plugin = |row: &Row| {
            row.look(|standing| match &standing.state {
                State::Active { plugin, .. } => Some(plugin.clone()),
                _ => None,
            })
        };
        rows.iter()
            .filter_map(|(id, row)| Some((id.clone(), plugin(row)??)))
            .collect()
    }

    /// The rows, in the order of their identifiers, less those that are being changed.
    pub(crate) fn mounted(&self) -> Vec<Mounted> {
        let rows = self.rows.read().unwrap_or_else(PoisonError::into_inner);
        let mounted = |(id, row): (&String, &Arc<Row>)| {
            row.look(|standing| Mounted {
                id: id.clone(),
                manifest: standing.manifest.clone(),
                state: standing.state.shown(),
                file_references: standing.spec.component.provides_file_references(),
                prompt: standing.spec.component.provides_prompt(),
            })
        };
        rows.iter().filter_map(mounted).collect()
    }
}

impl Row {
    pub(super) fn look<R>(&self, at: impl FnOnce(&Standing) -> R) -> Option<R> {
        let standing = self.standing.read().unwrap_or_else(PoisonError::into_inner);
        standing.as_ref().map(at)
    }

    fn set(&self, standing: Option<Standing>) -> Option<Standing> {
        let mut place = self
            .standing
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut place, standing)
    }
}

impl Change<'_> {
    pub(super) fn finish(mut self, standing: Standing) {
        self.row.set(Some(standing));
        self.finished = true;
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        if !self.finished {
            let mut rows = self
                .rows
                .rows
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            rows.remove(&self.id);
        }
    }
}

impl State {
    pub(super) fn shown(&self) -> RowState {
        match self {
            Self::Active { .. } => RowState::Active,
            Self::Pending(missing) => RowState::Pending(missing.clone()),
            Self::Failed(failure) => RowState::Failed(failure.clone()),
        }
    }

    pub(super) async fn deactivate(self) -> Result<(), Failure> {
        match self {
            Self::Active { plugin, tools, .. } => {
                drop(tools);
                plugin.dispose().await
            }
            Self::Pending(_) | Self::Failed(_) => Ok(()),
        }
    }
}
