use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The files that an owner may have searched at the moment. Clones are the same set.
#[derive(Debug, Clone, Default)]
pub struct AuthorizedPaths(Arc<Mutex<HashMap<String, usize>>>);

/// Keeps one path authorised until it is dropped. Hold it as long as the call that it was granted for.
#[derive(Debug)]
#[must_use = "the path is authorised only while this is held"]
pub struct AuthorizedPath {
    set: AuthorizedPaths,
    path: String,
}

impl AuthorizedPaths {
    /// Authorises `path`, absolute and with its links resolved, until what is returned is dropped.
    pub fn authorize(&self, path: impl Into<String>) -> AuthorizedPath {
        let path = path.into();
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(path.clone()).or_default() += 1;
        drop(counts);
        AuthorizedPath {
            set: self.clone(),
            path,
        }
    }

    /// Whether exactly this spelling is authorised now.
    pub fn contains(&self, path: &str) -> bool {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains_key(path)
    }
}

impl Drop for AuthorizedPath {
    fn drop(&mut self) {
        let mut counts = self.set.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.path) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_authorised_until_the_last_holder_lets_go() {
        let paths = AuthorizedPaths::default();
        let first = paths.authorize("/spill/a");
        let second = paths.clone().authorize("/spill/a");
        assert!(paths.contains("/spill/a"));
        assert!(!paths.contains("/spill/../spill/a"));
        drop(first);
        assert!(paths.contains("/spill/a"));
        drop(second);
        assert!(!paths.contains("/spill/a"));
    }
}
