//! `dsh-host mcp`.

mod completion;
mod progress;
mod server;
mod transport;

use super::session::{Session, Where};
use super::{Outcome, standard_streams};
use clap::Args;
use dsh_host::{AbortController, AbortReason};
use rmcp::ServiceExt;
use rmcp::service::{QuitReason, ServerInitializeError};
use server::Server;
use std::sync::Arc;
use std::time::Duration;
use transport::Patient;

/// How long calls in flight may still answer when the client has closed its end; clients wait about two seconds before they kill.
const PARTING: Duration = Duration::from_millis(1_500);

/// Serves the tools to an MCP client on standard input and output.
#[derive(Args)]
#[command(after_help = "Example, an entry for a client that reads mcpServers:
  { \"mcpServers\": { \"dsh\": { \"command\": \"dsh-host\", \"args\": [\"mcp\", \"--cwd\", \"/home/me/project\"] } } }

@path completion is the argument `path` of the resource template workspace:///{+path}. It ends with its standard input, or with SIGTERM.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: Where,
}

pub(crate) async fn run(arguments: Arguments) -> Outcome {
    let notes = Arc::new(progress::Notes::default());
    let profile = arguments.place.profile()?;
    let session = Session::open_with(&arguments.place, profile, |_| true, notes.clone()).await?;
    let outcome = serve(&session, notes).await;
    session.close().await?;
    outcome
}

async fn serve(session: &Session, notes: Arc<progress::Notes>) -> Outcome {
    let terminated = standard_streams::terminated();
    let closing = Arc::new(AbortController::new());
    let (input, output) = standard_streams::open();
    let (transport, ended) = Patient::new(input, output);
    let server = Server::new(
        session.host.clone(),
        session.cwd.clone(),
        notes,
        closing.clone(),
    );
    // A client that went away gets its last answers; then what still runs is cancelled, so that nothing is waited for in vain.
    tokio::spawn({
        let closing = closing.clone();
        async move {
            if ended.await.is_ok() {
                tokio::time::sleep(PARTING).await;
                closing.abort(AbortReason::Disposed);
            }
        }
    });
    let serving = async {
        let running = match server.serve(transport).await {
            Ok(running) => running,
            // The client left before it had begun.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(super::Stop::usage(format!("no MCP session: {error}"))),
        };
        match running.waiting().await {
            Ok(QuitReason::JoinError(error)) | Err(error) => Err(super::Stop::usage(error)),
            Ok(_) => Ok(()),
        }
    };
    tokio::select! {
        outcome = serving => outcome,
        () = terminated => {
            closing.abort(AbortReason::Disposed);
            Ok(())
        }
    }
}
