//! An executor for the core, and signals that a test sets.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Poll, Waker};

use dsh_file_reference_local::search::{AbortReason, Signal};
use futures::executor::{LocalPool, LocalSpawner};
use futures::task::LocalSpawnExt;

thread_local! {
    static SPAWNER: RefCell<Option<LocalSpawner>> = const { RefCell::new(None) };
}

/// The executor of this thread, on which [`spawn`] puts its tasks.
pub fn pool() -> LocalPool {
    let pool = LocalPool::new();
    SPAWNER.set(Some(pool.spawner()));
    pool
}

pub fn spawn(task: Pin<Box<dyn Future<Output = ()>>>) {
    SPAWNER.with_borrow(|spawner| spawner.as_ref().unwrap().spawn_local(task).unwrap());
}

/// A switch with a value; what waits for it is woken when it is set.
#[derive(Clone)]
pub struct Switch<T>(Rc<RefCell<(Option<T>, Vec<Waker>)>>);

impl<T: Clone> Switch<T> {
    pub fn new() -> Self {
        Self(Rc::new(RefCell::new((None, Vec::new()))))
    }

    pub fn set(&self, value: T) {
        let mut inner = self.0.borrow_mut();
        inner.0 = Some(value);
        inner.1.drain(..).for_each(Waker::wake);
    }

    pub fn get(&self) -> Option<T> {
        self.0.borrow().0.clone()
    }

    pub fn wait(&self) -> impl Future<Output = T> {
        let switch = self.clone();
        poll_fn(move |context| match switch.get() {
            Some(value) => Poll::Ready(value),
            None => {
                switch.0.borrow_mut().1.push(context.waker().clone());
                Poll::Pending
            }
        })
    }
}

impl Signal for Switch<AbortReason> {
    fn aborted(&self) -> Option<AbortReason> {
        self.get()
    }

    async fn wait(&self) -> AbortReason {
        Self::wait(self).await
    }
}
