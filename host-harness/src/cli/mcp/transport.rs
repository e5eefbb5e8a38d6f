//! Standard streams as an MCP transport that lets nothing but the end of its input end it.

use rmcp::RoleServer;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::oneshot;

/// The SDK's line transport. Until the first request, notifications and answers are passed over: the SDK takes them for the end of the
/// session, and a client may send one early.
pub(super) struct Patient<R: AsyncRead, W: AsyncWrite> {
    lines: AsyncRwTransport<RoleServer, R, W>,
    begun: bool,
    ended: Option<oneshot::Sender<()>>,
}

impl<R, W> Patient<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// The transport, and what resolves when its input has ended.
    pub(super) fn new(input: R, output: W) -> (Self, oneshot::Receiver<()>) {
        let (ended, end) = oneshot::channel();
        let transport = Self {
            lines: AsyncRwTransport::new(input, output),
            begun: false,
            ended: Some(ended),
        };
        (transport, end)
    }
}

impl<R, W> Transport<RoleServer> for Patient<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.lines.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let Some(message) = self.lines.receive().await else {
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
