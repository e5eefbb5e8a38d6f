//! Standard input and output of the commands that serve, and the signal that ends them.

use rmcp::transport::io::{StdioReader, StdioWriter, stdio_pipes};

/// Both streams, on the reactor where they are pipes.
pub(super) fn open() -> (StdioReader, StdioWriter) {
    stdio_pipes()
}

/// Resolves when the process is asked to end; never where there is no such signal. The signal is caught from the call on.
pub(super) fn terminated() -> impl Future<Output = ()> + Send {
    #[cfg(unix)]
    let signal = {
        use tokio::signal::unix::{SignalKind, signal};
        signal(SignalKind::terminate()).ok()
    };
    async move {
        #[cfg(unix)]
        {
            if let Some(mut signal) = signal {
                signal.recv().await;
                return;
            }
        }
        std::future::pending().await
    }
}

/// Lets interrupts pass without effect from the call on.
pub(super) fn ignore_interrupts() {
    // Once it was listened for, the signal no longer ends the process, whether or not somebody listens on.
    #[cfg(unix)]
    drop(tokio::signal::unix::signal(
        tokio::signal::unix::SignalKind::interrupt(),
    ));
}
