//! One configured server: a process for each workspace, started when it is first needed (SPEC 16.1, 17).

use super::all::join_all;
use super::instance::{Found, Instance, Server, Trouble};
use super::ports::{Host, Level};
use super::queue::Queue;
use super::stop::{Stop, StopReason};
use super::workspace::Workspace;
use crate::failure::ProviderFailure;
use crate::outcome::Answer;
use crate::retry::MAX_CONNECTIONS;
use std::cell::RefCell;
use std::rc::Rc;

/// See the module.
pub struct Provider<H: Host> {
    host: Rc<H>,
    server: Rc<Server>,
    /// By the key of the workspace.
    slots: RefCell<Vec<(String, Rc<Slot<H>>)>>,
}

/// The place of at most one process.
struct Slot<H: Host> {
    queue: Queue,
    instance: RefCell<Option<Rc<Instance<H>>>>,
}

impl<H: Host> Provider<H> {
    /// A provider without any process yet.
    pub fn new(host: Rc<H>, server: Server) -> Self {
        Self {
            host,
            server: Rc::new(server),
            slots: RefCell::default(),
        }
    }

    /// The id of the server.
    pub fn id(&self) -> &str {
        &self.server.config.id
    }

    /// Asks the server of this workspace; `None` when the call was stopped. Returns only after its own cleaning up.
    pub async fn ask(&self, workspace: &Workspace<H>, query: &str, stop: &Stop) -> Option<Answer> {
        let slot = self.slot(&workspace.key);
        let ticket = slot.queue.enter();
        stop.race(ticket.turn()).await.ok()?;
        let mut started = false;
        let mut connections_left = MAX_CONNECTIONS;
        loop {
            connections_left -= 1;
            match self
                .ask_once(&slot, workspace, query, stop, &mut started)
                .await
            {
                Ok(Found { symbols, indexing }) => {
                    let started = started && self.server.config.warmup_ms > 0;
                    return Some(Answer::Symbols {
                        symbols,
                        started,
                        indexing,
                    });
                }
                Err(Trouble::Stopped) => return None,
                Err(Trouble::Unsupported) => return Some(Answer::Unsupported),
                Err(Trouble::Lost(loss)) if connections_left > 0 => {
                    self.host.log(
                        Level::Debug,
                        &format!("{}: {loss}; starting it again", self.id()),
                    );
                }
                Err(Trouble::Lost(loss)) => return Some(self.failed(loss.into())),
                Err(Trouble::Failed(failure)) => return Some(self.failed(failure)),
            }
        }
    }

    async fn ask_once(
        &self,
        slot: &Slot<H>,
        workspace: &Workspace<H>,
        query: &str,
        stop: &Stop,
        started: &mut bool,
    ) -> Result<Found, Trouble> {
        // One that died while nobody asked is no failure of this call.
        slot.evict_spent().await;
        if stop.reason().is_some() {
            return Err(Trouble::Stopped);
        }
        let current = slot.instance.borrow().clone();
        let instance = match current {
            Some(instance) => instance,
            None => {
                // Not raced against the stop: a process that is just being started must be held by somebody.
                let instance = Instance::start(&self.host, &self.server, workspace).await?;
                *slot.instance.borrow_mut() = Some(instance.clone());
                *started = true;
                instance
            }
        };
        let outcome = instance.search(workspace, query, stop).await;
        if stop.reason() == Some(StopReason::Disposed) {
            instance.end().await.ok();
        }
        slot.evict_spent().await;
        outcome
    }

    fn failed(&self, failure: ProviderFailure) -> Answer {
        self.host
            .log(Level::Warn, &format!("{}: {failure}", self.id()));
        Answer::Failed(failure)
    }

    fn slot(&self, key: &str) -> Rc<Slot<H>> {
        let mut slots = self.slots.borrow_mut();
        if let Some((_, slot)) = slots.iter().find(|(known, _)| known == key) {
            return slot.clone();
        }
        let slot = Rc::new(Slot {
            queue: Queue::default(),
            instance: RefCell::new(None),
        });
        slots.push((key.to_owned(), slot.clone()));
        slot
    }

    /// Ends every process, all at the same time, and waits. Errors say what is left.
    pub async fn end_all(&self) -> Vec<String> {
        let instances: Vec<_> = self
            .slots
            .borrow()
            .iter()
            .filter_map(|(_, slot)| slot.instance.borrow().clone())
            .collect();
        let outcomes = join_all(instances.iter().map(Instance::end).collect()).await;
        outcomes.into_iter().filter_map(Result::err).collect()
    }
}

impl<H: Host> Slot<H> {
    /// Empties the slot when its process can no longer be asked, once that has ended.
    async fn evict_spent(&self) {
        let spent = self
            .instance
            .borrow()
            .clone()
            .filter(|instance| instance.is_spent());
        if let Some(spent) = spent {
            spent.end().await.ok();
            let is_same = self
                .instance
                .borrow()
                .as_ref()
                .is_some_and(|current| Rc::ptr_eq(current, &spent));
            if is_same {
                *self.instance.borrow_mut() = None;
            }
        }
    }
}
