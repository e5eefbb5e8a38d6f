//! The search of one agent: answers queries, and keeps one index that all of them share until it is invalidated
//! (SPEC 3 and 4).

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;

use futures::channel::oneshot;
use futures::future::{Either, select};
use thiserror::Error;

use crate::builder::{Builder, Built, LimitedBy};
use crate::config::Config;
use crate::index::Index;
use crate::listing::{Query, resolve};
use crate::rank::rank;
use crate::suggest::suggest;
use crate::top::Candidate;
use crate::workspace::{Batch, Outcome, Workspace};

/// Most entries that the listing of one directory takes in. It has no bound of its own in the configuration, but what
/// crosses into the plugin must have one.
pub const LISTING_LIMIT: u64 = 1 << 20;

/// What a caller aborted with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AbortReason {
    /// An error object, a deadline, or the end of the plugin.
    Error,
    /// Any other value.
    Value,
}

/// The caller's way to withdraw a query.
pub trait Signal {
    /// The reason, once there is one.
    fn aborted(&self) -> Option<AbortReason>;
    /// Resolves with the reason.
    fn wait(&self) -> impl Future<Output = AbortReason>;
}

/// Runs a future beside the call that made it, even after that call has ended.
pub type Spawn = fn(Pin<Box<dyn Future<Output = ()>>>);

/// Why a query has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SearchError {
    /// The caller aborted; what it aborted with is the error.
    #[error("aborted by the caller")]
    Aborted,
    /// The caller aborted with something that is no error while it waited for the index.
    #[error("file search aborted")]
    AbortedByValue,
    /// The index was invalidated, or the search disposed of, before it was built.
    #[error("file search index invalidated")]
    Invalidated,
}

/// Everything that can be said about a query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// What matches, best first.
    pub candidates: Vec<Candidate>,
    /// Near misses, when nothing matches and they were asked for.
    pub suggestions: Vec<Candidate>,
    /// Entries that were searched, hidden ones included.
    pub indexed: u64,
    /// Why there were no more.
    pub limited_by: LimitedBy,
}

/// One agent's search.
pub struct Search<W> {
    config: Rc<Config>,
    workspace: W,
    root: String,
    spawn: Spawn,
    state: RefCell<State>,
    /// Builds begun so far.
    builds: Cell<u64>,
}

enum State {
    /// No index, and none on the way.
    Empty,
    /// A build is under way. The number tells it from builds whose result nobody wants any more.
    /// Dropping the waiters tells them that theirs is one of these.
    Building {
        build: u64,
        waiters: Vec<oneshot::Sender<Rc<Built>>>,
    },
    /// An index, to be used until it is invalidated.
    Ready(Rc<Built>),
    /// No more answers.
    Disposed,
}

/// What a query for the shared index finds.
enum Joined {
    Ready(Rc<Built>),
    Waiting(oneshot::Receiver<Rc<Built>>),
    Disposed,
}

impl<W: Workspace + 'static> Search<W> {
    /// A search in a workspace. Nothing is read before the first query.
    pub fn new(config: Rc<Config>, workspace: W, spawn: Spawn) -> Self {
        let root = workspace.path();
        Self {
            config,
            workspace,
            root,
            spawn,
            state: RefCell::new(State::Empty),
            builds: Cell::new(0),
        }
    }

    /// Answers a query: the text after `@` or `@"`. Near misses are looked for only when asked for.
    ///
    /// # Errors
    /// When the caller aborts, or the index that the query waits for is invalidated.
    pub async fn answer(
        self: &Rc<Self>,
        query: &str,
        suggestions: bool,
        signal: &impl Signal,
    ) -> Result<Answer, SearchError> {
        if signal.aborted().is_some() {
            return Err(SearchError::Aborted);
        }
        if matches!(*self.state.borrow(), State::Disposed) {
            return Ok(Answer::default());
        }
        let query = query.replace('\\', "/");
        let query = Query::parse(&query);
        let listed;
        let shared;
        let built = match query {
            Query::Listing { directory, .. } => {
                match resolve(&self.root, directory, &self.config) {
                    None => return Ok(Answer::default()),
                    Some(path) => {
                        listed = self.list(directory, path, signal).await?;
                        &listed
                    }
                }
            }
            Query::Fuzzy(_) => {
                shared = self.index(signal).await?;
                &*shared
            }
        };
        let limit = self.config.max_results;
        let candidates = rank(&built.index, query.pattern(), limit);
        let suggestions = if suggestions && candidates.is_empty() {
            suggest(&built.index, query.pattern(), limit)
        } else {
            Vec::new()
        };
        let indexed = built.index.len() as u64;
        Ok(Answer {
            candidates,
            suggestions,
            indexed,
            limited_by: built.limited_by,
        })
    }

    /// Forgets the index. Who waits for one to be built is turned away.
    pub fn invalidate(&self) {
        let mut state = self.state.borrow_mut();
        if !matches!(*state, State::Disposed) {
            *state = State::Empty;
        }
    }

    /// Forgets the index for good.
    pub fn dispose(&self) {
        *self.state.borrow_mut() = State::Disposed;
    }

    /// Reads one directory and presents it as an index of its own.
    async fn list(
        &self,
        typed: &str,
        path: String,
        signal: &impl Signal,
    ) -> Result<Built, SearchError> {
        let batch = Batch {
            paths: vec![path.clone()],
            limit: LISTING_LIMIT,
        };
        let outcomes = match select(pin!(self.workspace.list(batch)), pin!(signal.wait())).await {
            Either::Left((outcomes, _)) if signal.aborted().is_none() => outcomes,
            _ => return Err(SearchError::Aborted),
        };
        Ok(match outcomes.first() {
            Some(Outcome::Listed(listing)) => {
                let cut = listing.omitted > 0;
                let limited_by = if cut {
                    LimitedBy::MaxEntries
                } else {
                    LimitedBy::None
                };
                Built {
                    index: Index::of_listing(typed, listing),
                    limited_by,
                }
            }
            Some(Outcome::Failed(error)) if !error.leaves_unread(&path) => Built {
                index: Index::new(typed),
                limited_by: LimitedBy::None,
            },
            _ => Built {
                index: Index::new(typed),
                limited_by: LimitedBy::Unreadable(1),
            },
        })
    }

    /// The shared index; builds it, or waits for the build that is under way.
    async fn index(self: &Rc<Self>, signal: &impl Signal) -> Result<Rc<Built>, SearchError> {
        let receiver = match self.join() {
            Joined::Ready(built) => return Ok(built),
            Joined::Waiting(receiver) => receiver,
            Joined::Disposed => return Err(SearchError::Invalidated),
        };
        let reason = match select(receiver, pin!(signal.wait())).await {
            Either::Left((result, _)) => match signal.aborted() {
                None => return result.map_err(|_| SearchError::Invalidated),
                Some(reason) => reason,
            },
            Either::Right((reason, _)) => reason,
        };
        Err(match reason {
            AbortReason::Error => SearchError::Aborted,
            AbortReason::Value => SearchError::AbortedByValue,
        })
    }

    fn join(self: &Rc<Self>) -> Joined {
        let (sender, receiver) = oneshot::channel();
        match &mut *self.state.borrow_mut() {
            State::Ready(built) => return Joined::Ready(built.clone()),
            State::Disposed => return Joined::Disposed,
            State::Building { waiters, .. } => {
                waiters.push(sender);
                return Joined::Waiting(receiver);
            }
            empty @ State::Empty => {
                self.builds.set(self.builds.get() + 1);
                *empty = State::Building {
                    build: self.builds.get(),
                    waiters: vec![sender],
                };
            }
        }
        (self.spawn)(Box::pin(self.clone().build(self.builds.get())));
        Joined::Waiting(receiver)
    }

    /// Builds the index for whoever waits. It is a task of its own, so that a caller who leaves does not take it along.
    async fn build(self: Rc<Self>, build: u64) {
        let mut builder = Builder::new(self.config.max_entries);
        while let Some(batch) = builder.request() {
            let outcomes = self.workspace.list(batch.clone()).await;
            if !self.is_building(build) {
                return;
            }
            builder.feed(&batch, &outcomes);
        }
        if !self.is_building(build) {
            return;
        }
        let built = Rc::new(builder.finish());
        let state = self.state.replace(State::Ready(built.clone()));
        if let State::Building { waiters, .. } = state {
            for waiter in waiters {
                // Fails when the waiter has left, which is its own affair.
                let _ = waiter.send(built.clone());
            }
        }
    }

    fn is_building(&self, wanted: u64) -> bool {
        matches!(*self.state.borrow(), State::Building { build, .. } if build == wanted)
    }
}
