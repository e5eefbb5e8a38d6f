//! A cancellation flag shared between the caller of a query and the thread that runs it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::error::SessionQueryError;

/// A flag that ends a running query at its next check. Clones share the flag; once set it stays set.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A flag that is not set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the flag. Queries that carry it end with [`SessionQueryError::Cancelled`] within milliseconds.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the flag is set.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Fails when the flag is set.
    ///
    /// # Errors
    /// [`SessionQueryError::Cancelled`].
    pub fn check(&self) -> Result<(), SessionQueryError> {
        if self.is_cancelled() {
            Err(SessionQueryError::Cancelled)
        } else {
            Ok(())
        }
    }
}
