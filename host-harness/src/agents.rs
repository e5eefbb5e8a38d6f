//! The agents of one host: their directories, their sessions, and the order of their calls.

use crate::ctx::call::Caller;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::{
    OwnedRwLockReadGuard, OwnedRwLockWriteGuard, OwnedSemaphorePermit, RwLock as OrderLock,
    Semaphore,
};

/// Calls of one agent that may overlap when their tools allow it: DSH's own bound.
const OVERLAP: usize = 10;

/// What the host is told of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentSpec {
    /// Unique identifier.
    pub id: String,
    /// The working directory in the header of its session: an absolute path. Without one, completion falls back to the directory of the
    /// host process, and tools that need a workspace refuse.
    pub cwd: Option<String>,
    /// The identifier of its session; none for an agent without one.
    pub session: Option<String>,
}

impl AgentSpec {
    /// An agent whose session has the same identifier, as in DSH.
    pub fn new(id: &str, cwd: &str) -> Self {
        Self {
            id: id.into(),
            cwd: Some(cwd.into()),
            session: Some(id.into()),
        }
    }
}

/// One agent.
pub(crate) struct Agent {
    pub(crate) spec: AgentSpec,
    pub(crate) order: CallOrder,
    current_step: RwLock<Option<u64>>,
}

impl Agent {
    pub(crate) fn caller(&self) -> Caller {
        let step = *self
            .current_step
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        Caller::new(
            Some(self.spec.id.clone()),
            self.spec.session.clone(),
            self.spec.cwd.clone(),
            step,
        )
    }

    pub(crate) fn set_current_step(&self, step: Option<u64>) {
        *self
            .current_step
            .write()
            .unwrap_or_else(PoisonError::into_inner) = step;
    }
}

/// Lets calls of one agent overlap when they may, and runs the others one after another, in the order in which they came.
pub(crate) struct CallOrder {
    exclusive: Arc<OrderLock<()>>,
    overlap: Arc<Semaphore>,
}

impl Default for CallOrder {
    fn default() -> Self {
        Self {
            exclusive: Arc::default(),
            overlap: Arc::new(Semaphore::new(OVERLAP)),
        }
    }
}

/// A call's turn; it ends when dropped.
pub(crate) enum Turn {
    Overlapping {
        _lock: OwnedRwLockReadGuard<()>,
        _permit: Option<OwnedSemaphorePermit>,
    },
    Alone {
        _lock: OwnedRwLockWriteGuard<()>,
    },
}

impl CallOrder {
    pub(crate) async fn enter(&self, overlapping: bool) -> Turn {
        if overlapping {
            // tokio's lock is fair: a waiting exclusive call is not overtaken.
            let lock = self.exclusive.clone().read_owned().await;
            let permit = self.overlap.clone().acquire_owned().await.ok();
            Turn::Overlapping {
                _lock: lock,
                _permit: permit,
            }
        } else {
            Turn::Alone {
                _lock: self.exclusive.clone().write_owned().await,
            }
        }
    }
}

/// All agents of one host.
#[derive(Default)]
pub(crate) struct Agents(RwLock<BTreeMap<String, Arc<Agent>>>);

impl Agents {
    /// Adds an agent; false when there is one of this identifier.
    pub(crate) fn add(&self, spec: AgentSpec) -> bool {
        let mut agents = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if agents.contains_key(&spec.id) {
            return false;
        }
        let agent = Agent {
            order: CallOrder::default(),
            current_step: RwLock::new(None),
            spec,
        };
        agents.insert(agent.spec.id.clone(), Arc::new(agent));
        true
    }

    /// Removes an agent, if there is one of this identifier.
    pub(crate) fn remove(&self, id: &str) -> Option<Arc<Agent>> {
        self.0
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(id)
    }

    pub(crate) fn get(&self, id: &str) -> Option<Arc<Agent>> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(id)
            .cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Agent>> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .values()
            .cloned()
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::future::poll_immediate;

    #[tokio::test]
    async fn exclusive_calls_wait_for_overlapping_ones_and_are_not_overtaken() {
        let order = CallOrder::default();
        let first = order.enter(true).await;
        let second = order.enter(true).await;
        let mut alone = Box::pin(order.enter(false));
        assert!(poll_immediate(&mut alone).await.is_none());
        let mut late = Box::pin(order.enter(true));
        assert!(
            poll_immediate(&mut late).await.is_none(),
            "it came after the exclusive one"
        );
        drop((first, second));
        let turn = alone.await;
        assert!(poll_immediate(&mut late).await.is_none());
        drop(turn);
        late.await;
    }

    #[tokio::test]
    async fn at_most_ten_calls_overlap() {
        let order = CallOrder::default();
        let mut turns = Vec::new();
        for _ in 0..OVERLAP {
            turns.push(order.enter(true).await);
        }
        let mut eleventh = Box::pin(order.enter(true));
        assert!(poll_immediate(&mut eleventh).await.is_none());
        turns.pop();
        eleventh.await;
    }
}
