//! Calls of tools, completions and cards, with their way to cancel.

use super::serve::Served;
use super::wire::member;
use crate::abort::{AbortController, AbortReason, AbortSignal};
use crate::dispatch::CallRequest;
use crate::failure::Failure;
use crate::file_references::Kind;
use crate::tool::ToolResult;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// DSH has its own deadlines and tells of them by cancelling, so the host sets none.
const NO_DEADLINE: u32 = 2_147_483_647;

/// The requests in flight, by number.
#[derive(Default)]
pub(super) struct Running(Mutex<HashMap<u64, AbortController>>);

impl Running {
    /// Enters a request, unless there are too many or one of this number; the signal is what its cancel sets.
    pub(super) fn enter(&self, id: u64, most: usize) -> Option<AbortSignal> {
        let mut running = self.all();
        if running.len() >= most || running.contains_key(&id) {
            return None;
        }
        let controller = AbortController::new();
        let signal = controller.signal();
        running.insert(id, controller);
        Some(signal)
    }

    pub(super) fn leave(&self, id: u64) {
        self.all().remove(&id);
    }

    /// Cancels one request. One that has been answered is no concern of anybody.
    pub(super) fn cancel(&self, params: &Value) {
        let id = params.get("id").and_then(Value::as_u64);
        if let Some(controller) = id.and_then(|id| self.all().remove(&id)) {
            controller.abort(reason(params.get("reason")));
        }
    }

    /// Cancels everything.
    pub(super) fn cancel_all(&self) {
        for (_, controller) in self.all().drain() {
            controller.abort(AbortReason::Disposed);
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<u64, AbortController>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An error object is an error, anything else a value.
fn reason(given: Option<&Value>) -> AbortReason {
    let Some(given) = given.filter(|given| !given.is_null()) else {
        return AbortReason::unspecified();
    };
    let text = |key: &str| given.get(key).and_then(Value::as_str).map(String::from);
    match text("message") {
        Some(message) => AbortReason::CallerError(Failure {
            name: text("name"),
            code: text("code"),
            message,
        }),
        None => AbortReason::CallerValue(given.clone()),
    }
}

/// Makes one tool call.
pub(super) async fn call(
    served: &Served,
    params: &Value,
    signal: AbortSignal,
) -> Result<Value, Failure> {
    let agent: Option<String> = member(params, "agent")?;
    let present: BTreeSet<String> = member(params, "services")?;
    // Optional services are looked up for each call, as `ctx.get` does.
    served.providers.follow(&served.host, present);
    served.events.delivered().await;
    if let Some(agent) = &agent {
        served.host.set_current_step(agent, member(params, "step")?);
    }
    let request = CallRequest {
        call_id: member::<Option<String>>(params, "callId")?.unwrap_or_default(),
        agent,
        signal,
        timeout_ms: Some(NO_DEADLINE),
        ..CallRequest::new(
            &member::<String>(params, "name")?,
            &params.get("arguments").unwrap_or(&Value::Null).to_string(),
        )
    };
    match served.host.call(request).await {
        ToolResult::Success(output) => {
            Ok(json!({ "value": output.value.value(), "content": output.content }))
        }
        ToolResult::Failure(failure) => Err(failure),
        ToolResult::Cancelled(reason) => {
            // The caller holds the reason itself; this only says that the call has settled because of it.
            let failure = reason.into_failure();
            Err(Failure {
                code: Some(crate::failure::codes::ABORTED.into()),
                ..failure
            })
        }
    }
}

/// The card of a call.
pub(super) async fn card(served: &Served, params: &Value) -> Result<Value, Failure> {
    let name: String = member(params, "name")?;
    let arguments = params.get("arguments").unwrap_or(&Value::Null);
    let card = served.host.present_call(&name, arguments).await;
    Ok(card.map_or(
        Value::Null,
        |card| json!({ "title": card.title, "kind": card.kind }),
    ))
}

/// Candidates for an `@path` mention.
pub(super) async fn complete(
    served: &Served,
    params: &Value,
    signal: AbortSignal,
) -> Result<Value, Failure> {
    let agent: String = member(params, "agent")?;
    let query: String = member(params, "query")?;
    served.events.delivered().await;
    let found = served
        .host
        .list_file_references(&agent, &query, &signal)
        .await;
    let found = found.map_err(|error| error.into_failure())?;
    let shown = found.into_iter().map(|candidate| {
        let kind = match candidate.kind {
            Kind::File => "file",
            Kind::Directory => "directory",
        };
        json!({ "path": candidate.path, "kind": kind })
    });
    Ok(shown.collect())
}
