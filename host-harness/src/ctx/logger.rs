//! `dsh:ctx/logger`: records of a plugin, cut and limited.

use crate::bindings::dsh::ctx::logger as wit;
use crate::store::PluginState;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use wasmtime::Result;

/// Longest message, in characters: DSH's own bound for a line of its log.
pub const MAX_MESSAGE_CHARS: usize = 10_240;
/// Records that one instance may write within [`RATE_PERIOD`].
pub const RATE_RECORDS: u32 = 200;
/// The period for [`RATE_RECORDS`].
pub const RATE_PERIOD: Duration = Duration::from_secs(1);

/// Severity of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Something failed and somebody should look at it.
    Error,
    /// Unexpected, but handled.
    Warn,
    /// Of interest in normal operation.
    Info,
    /// Of interest to developers only.
    Debug,
}

/// Takes the records of plugins.
pub trait LogSink: Send + Sync {
    /// Called for each record, with the plugin's row identifier. It must not block.
    fn record(&self, plugin: &str, level: Level, message: &str);
}

/// The sink that hands records to `tracing`, under the target `plugin`.
#[derive(Clone, Copy, Debug, Default)]
pub struct TracingSink;

impl LogSink for TracingSink {
    fn record(&self, plugin: &str, level: Level, message: &str) {
        match level {
            Level::Error => tracing::error!(target: "plugin", "{plugin}: {message}"),
            Level::Warn => tracing::warn!(target: "plugin", "{plugin}: {message}"),
            Level::Info => tracing::info!(target: "plugin", "{plugin}: {message}"),
            Level::Debug => tracing::debug!(target: "plugin", "{plugin}: {message}"),
        }
    }
}

/// The logger of one plugin.
pub(crate) struct Logger {
    plugin: String,
    sink: Arc<dyn LogSink>,
    rate: Mutex<Rate>,
}

struct Rate {
    since: Instant,
    records: u32,
    dropped: u64,
}

impl Logger {
    pub(crate) fn new(plugin: &str, sink: Arc<dyn LogSink>) -> Self {
        let rate = Rate {
            since: Instant::now(),
            records: 0,
            dropped: 0,
        };
        Self {
            plugin: plugin.into(),
            sink,
            rate: Mutex::new(rate),
        }
    }

    pub(crate) fn log(&self, level: Level, message: &str) {
        let dropped = {
            let mut rate = self.rate.lock().unwrap_or_else(PoisonError::into_inner);
            if rate.since.elapsed() >= RATE_PERIOD {
                *rate = Rate {
                    since: Instant::now(),
                    records: 0,
                    dropped: rate.dropped,
                };
            }
            if rate.records >= RATE_RECORDS {
                rate.dropped += 1;
                return;
            }
            rate.records += 1;
            std::mem::take(&mut rate.dropped)
        };
        if dropped > 0 {
            let note =
                format!("{dropped} log records were dropped: more than {RATE_RECORDS} in a second");
            self.sink.record(&self.plugin, Level::Warn, &note);
        }
        match message.char_indices().nth(MAX_MESSAGE_CHARS) {
            Some((end, _)) => self.sink.record(&self.plugin, level, &message[..end]),
            None => self.sink.record(&self.plugin, level, message),
        }
    }
}

impl wit::Host for PluginState {
    fn log(&mut self, level: wit::Level, message: String) -> Result<()> {
        let level = match level {
            wit::Level::Error => Level::Error,
            wit::Level::Warn => Level::Warn,
            wit::Level::Info => Level::Info,
            wit::Level::Debug => Level::Debug,
        };
        self.env.logger.log(level, &message);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Kept(Mutex<Vec<(Level, usize)>>);

    impl LogSink for Kept {
        fn record(&self, _: &str, level: Level, message: &str) {
            self.0
                .lock()
                .unwrap()
                .push((level, message.chars().count()));
        }
    }

    #[test]
    fn long_messages_are_cut_and_a_flood_is_dropped_and_counted() {
        let sink = Arc::new(Kept::default());
        let logger = Logger::new("p", sink.clone());
        logger.log(Level::Info, &"é".repeat(MAX_MESSAGE_CHARS + 1));
        for _ in 0..RATE_RECORDS * 2 {
            logger.log(Level::Debug, "x");
        }
        let records = sink.0.lock().unwrap().clone();
        assert_eq!(records[0], (Level::Info, MAX_MESSAGE_CHARS));
        assert_eq!(records.len(), RATE_RECORDS as usize);
        let mut rate = logger.rate.lock().unwrap();
        assert_eq!(rate.dropped, u64::from(RATE_RECORDS) + 1);
        rate.since -= RATE_PERIOD;
        drop(rate);
        logger.log(Level::Info, "again");
        let records = sink.0.lock().unwrap();
        assert_eq!(
            records[records.len() - 2].0,
            Level::Warn,
            "the next record is preceded by the count"
        );
    }
}
