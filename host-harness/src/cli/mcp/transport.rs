//! Standard streams as an MCP transport that lets nothing but the end of its input end it.

use dsh_host::lines::{Line, Lines, MAX_LINE};
use dsh_services::session_query::mend_json;
use rmcp::RoleServer;
use rmcp::model::{ErrorCode, ErrorData, JsonRpcError, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio::sync::{mpsc, oneshot};

/// Bytes of lines that are under way to the SDK.
const UNDER_WAY: usize = 64 << 10;

/// The SDK's line transport. Until the first request, notifications and answers are passed over: the SDK takes them for the end of the
/// session, and a client may send one early. The SDK forgets a request that it cannot parse, and its client would wait for ever: what
/// JavaScript writes and Rust refuses is mended, and what cannot be is refused here.
pub(super) struct Patient<W: AsyncWrite> {
    lines: AsyncRwTransport<RoleServer, DuplexStream, W>,
    refusals: mpsc::Receiver<JsonRpcError>,
    begun: bool,
    ended: Option<oneshot::Sender<()>>,
}

impl<W: AsyncWrite + Send + Unpin + 'static> Patient<W> {
    /// The transport, and what resolves when its input has ended.
    pub(super) fn new<R>(input: R, output: W) -> (Self, oneshot::Receiver<()>)
    where
        R: AsyncRead + Send + Unpin + 'static,
    {
        let (ended, end) = oneshot::channel();
        let (mended, clean) = tokio::io::duplex(UNDER_WAY);
        let (refuse, refusals) = mpsc::channel(1);
        tokio::spawn(mend(input, mended, refuse));
        let transport = Self {
            lines: AsyncRwTransport::new(clean, output).with_max_line_length(MAX_LINE),
            refusals,
            begun: false,
            ended: Some(ended),
        };
        (transport, end)
    }
}

/// Passes lines on until either side ends.
async fn mend<R: AsyncRead + Unpin>(
    input: R,
    mut output: DuplexStream,
    refuse: mpsc::Sender<JsonRpcError>,
) {
    let mut lines = Lines::new(input, MAX_LINE);
    loop {
        let line = match lines.next().await {
            Ok(Some(Line::Whole(line))) => {
                mend_json(&String::from_utf8_lossy(&line)).into_owned() + "\n"
            }
            Ok(Some(Line::TooLong)) => {
                let message = format!("a message has more than {MAX_LINE} bytes");
                let error = ErrorData::new(ErrorCode::INVALID_REQUEST, message, None);
                if refuse.send(JsonRpcError::new(None, error)).await.is_err() {
                    return;
                }
                continue;
            }
            Ok(None) => return,
            Err(error) => {
                tracing::warn!("standard input cannot be read: {error}");
                return;
            }
        };
        let passed = match refusal(&line) {
            Some(refusal) => refuse.send(refusal).await.is_ok(),
            None => output.write_all(line.as_bytes()).await.is_ok(),
        };
        if !passed {
            return;
        }
    }
}

/// What of a message can be told when the rest cannot be read. Skipping a value needs no stack, so that it may nest as deeply as it likes.
#[derive(Deserialize)]
struct Envelope {
    id: RequestId,
    #[serde(rename = "method")]
    _method: IgnoredAny,
}

/// The answer to a request that no parser takes.
fn refusal(line: &str) -> Option<JsonRpcError> {
    // Not the `Tree` of other foreign JSON: the MCP library reads a `Value`, and what it cannot read has to be answered here.
    let error = serde_json::from_str::<serde_json::Value>(line).err()?;
    let envelope: Envelope = serde_json::from_str(line).ok()?;
    let message = format!("the request cannot be read: {error}");
    let error = ErrorData::new(ErrorCode::PARSE_ERROR, message, None);
    Some(JsonRpcError::new(Some(envelope.id), error))
}

impl<W: AsyncWrite + Send + Unpin + 'static> Transport<RoleServer> for Patient<W> {
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.lines.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let message = tokio::select! {
                // Once its sender has gone, there is the end of the lines to wait for.
                Some(refusal) = self.refusals.recv() => {
                    tokio::spawn(self.lines.send(JsonRpcMessage::Error(refusal)));
                    continue;
                }
                message = self.lines.receive() => message,
            };
            let Some(message) = message else {
                if let Some(ended) = self.ended.take() {
                    // Nobody listening means that everything is over already.
                    let _ = ended.send(());
                }
                return None;
            };
            self.begun |= matches!(message, JsonRpcMessage::Request(_));
            if self.begun {
                return Some(message);
            }
            tracing::debug!("a message before the first request is passed over");
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.lines.close().await
    }
}
