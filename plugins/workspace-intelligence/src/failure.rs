//! Why one server did not answer a call (SPEC 14).

use crate::framing::FrameError;
use crate::handshake::HandshakeError;
use crate::jsonrpc::RpcError;
use crate::normalise::MalformedAnswer;

/// Why the connection to a process is gone. The first reason stands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Loss {
    /// The process could not be started.
    #[error("could not be started: {0}")]
    NotStarted(String),
    /// The process ended.
    #[error("{how}{}", quoted_tail(.stderr))]
    Exited {
        /// Such as `exited with code 1`.
        how: String,
        /// The kept tail of its standard error.
        stderr: String,
    },
    /// The process lives, but will write no more.
    #[error("closed its standard output")]
    OutputClosed,
    /// The process lives, but reads no more.
    #[error("does not read its standard input: {0}")]
    InputFailed(String),
    /// What it writes is not LSP.
    #[error("broke the protocol: {0}")]
    Framing(#[from] FrameError),
}

fn quoted_tail(stderr: &str) -> String {
    match stderr.trim() {
        "" => String::new(),
        tail => format!("; standard error: {tail}"),
    }
}

/// Why one server failed in one call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderFailure {
    /// The connection was lost twice.
    #[error("language server {0}")]
    Lost(#[from] Loss),
    /// The process was started, but cannot be used.
    #[error("{0}")]
    Handshake(#[from] HandshakeError),
    /// `workspace/symbol` was answered by an error.
    #[error("workspace/symbol failed: {0}")]
    ErrorReply(RpcError),
    /// `workspace/symbol` was answered by something that is no list of symbols.
    #[error("malformed answer: {0}")]
    Malformed(#[from] MalformedAnswer),
}

impl ProviderFailure {
    /// One line for the model: of standard error only the last line that says something.
    pub fn brief(&self) -> String {
        let text = match self {
            ProviderFailure::Lost(Loss::Exited { how, stderr }) => {
                let last = stderr.lines().map(str::trim).rfind(|line| !line.is_empty());
                format!(
                    "language server {how}{}",
                    last.map_or(String::new(), |line| format!(": {line}"))
                )
            }
            other => other.to_string(),
        };
        one_line(&text)
    }
}

/// The words of a text, with one space between.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
