//! What a client is told while a call takes long.

use dsh_host::{Level, LogSink, TracingSink};
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::Peer;
use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often a client hears of a call that goes on.
const PERIOD: Duration = Duration::from_secs(1);

/// Longest note, in characters.
const NOTE: usize = 200;

/// What plugins logged last, for people who wait.
#[derive(Default)]
pub(super) struct Notes(Mutex<Option<String>>);

impl LogSink for Notes {
    fn record(&self, plugin: &str, level: Level, message: &str) {
        TracingSink.record(plugin, level, message);
        let line = message.lines().next().unwrap_or_default();
        let note = format!("{plugin}: {}", line.chars().take(NOTE).collect::<String>());
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(note);
    }
}

impl Notes {
    fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Tells the client that the call goes on: at once, and then every second, with the seconds that have passed and the latest note. The first
/// use of a language server takes as long as its start.
pub(super) async fn tell(
    peer: &Peer<RoleServer>,
    token: Option<ProgressToken>,
    title: String,
    notes: &Notes,
) -> Infallible {
    let Some(token) = token else {
        return std::future::pending().await;
    };
    let start = Instant::now();
    let mut beat = tokio::time::interval(PERIOD);
    let mut shown = title;
    loop {
        beat.tick().await;
        if let Some(note) = notes.take() {
            shown = note;
        }
        let progress = ProgressNotificationParam::new(token.clone(), start.elapsed().as_secs_f64())
            .with_message(shown.clone());
        if peer.notify_progress(progress).await.is_err() {
            return std::future::pending().await;
        }
    }
}
