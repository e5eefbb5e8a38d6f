//! Mounts under way, so that an unmounting can end them: a plugin may wait long for what it looks up when it is mounted.

use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

type Mounts = Vec<(String, Arc<watch::Sender<bool>>)>;

/// All mounts of one host that are under way.
#[derive(Default)]
pub(crate) struct Mountings(Mutex<Mounts>);

/// One mount under way, until it is dropped.
pub(crate) struct Mounting<'a> {
    all: &'a Mountings,
    stop: Arc<watch::Sender<bool>>,
}

impl Mountings {
    /// A mount of this row begins.
    pub(crate) fn begin(&self, row: &str) -> Mounting<'_> {
        let stop = Arc::new(watch::Sender::new(false));
        self.change(|mounts| mounts.push((row.to_owned(), stop.clone())));
        Mounting { all: self, stop }
    }

    /// Ends the mounts of this row, or all. Whether there were any.
    pub(crate) fn stop(&self, row: Option<&str>) -> bool {
        self.change(|mounts| {
            let concerned = mounts
                .iter()
                .filter(|(id, _)| row.is_none_or(|row| row == id));
            concerned.fold(false, |_, (_, stop)| {
                stop.send_replace(true);
                true
            })
        })
    }

    fn change<R>(&self, work: impl FnOnce(&mut Mounts) -> R) -> R {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Mounting<'_> {
    /// Resolves when the mount is to be given up.
    pub(crate) async fn stopped(&self) {
        let mut stop = self.stop.subscribe();
        if stop.wait_for(|stop| *stop).await.is_err() {
            // Never: the sender is this very value's.
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Mounting<'_> {
    fn drop(&mut self) {
        self.all
            .change(|mounts| mounts.retain(|(_, stop)| !Arc::ptr_eq(stop, &self.stop)));
    }
}
