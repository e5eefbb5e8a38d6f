//! The agents of the DSH that this host serves, and what is told of them, in its order.

use super::wire::member;
use crate::agents::AgentSpec;
use crate::failure::Failure;
use crate::host::Host;
use serde_json::Value;
use std::collections::BTreeSet;
use tokio::sync::{mpsc, oneshot};

/// Events that wait to be delivered; more than that and the oldest news is worth nothing, so the newest is dropped.
const MAX_EVENTS: usize = 1_000;

enum Item {
    Event { agent: Option<String>, kind: String },
    Passed(oneshot::Sender<()>),
}

/// What was told of sessions, delivered one after another.
pub(super) struct Events(mpsc::Sender<Item>);

impl Events {
    /// Must be called inside a tokio runtime. Delivery ends when this is dropped.
    pub(super) fn new(host: Host) -> Self {
        let (sender, mut items) = mpsc::channel(MAX_EVENTS);
        tokio::spawn(async move {
            while let Some(item) = items.recv().await {
                match item {
                    Item::Event { agent, kind } => {
                        host.session_event(agent.as_deref(), &kind).await;
                    }
                    Item::Passed(passed) => {
                        let _ = passed.send(());
                    }
                }
            }
        });
        Self(sender)
    }

    /// An event was committed to a session.
    pub(super) fn tell(&self, params: &Value) {
        let text = |key: &str| params.get(key).and_then(Value::as_str).map(String::from);
        let Some(kind) = text("type") else { return };
        let item = Item::Event {
            agent: text("agent"),
            kind,
        };
        if self.0.try_send(item).is_err() {
            tracing::debug!("too many events of sessions at once; one is dropped");
        }
    }

    /// Resolves when everything that was told so far has been delivered.
    pub(super) async fn delivered(&self) {
        let (sender, passed) = oneshot::channel();
        if self.0.send(Item::Passed(sender)).await.is_ok() {
            let _ = passed.await;
        }
    }
}

/// An agent exists. A repeated announcement changes nothing.
pub(super) async fn announce(host: &Host, params: &Value) -> Result<Value, Failure> {
    let spec = AgentSpec {
        id: member(params, "id")?,
        cwd: member(params, "cwd")?,
        session: member(params, "session")?,
    };
    match host.create_agent(spec).await {
        Err(failure) if !failure.is("AGENT_DUPLICATE") => Err(failure),
        _ => Ok(Value::Null),
    }
}

/// An agent is gone.
pub(super) async fn forget(host: &Host, params: &Value) -> Result<Value, Failure> {
    host.dispose_agent(&member::<String>(params, "id")?).await;
    Ok(Value::Null)
}

/// The prompt sections for an agent that sees these tools.
pub(super) async fn sections(host: &Host, params: &Value) -> Result<Value, Failure> {
    let agent: String = member(params, "agent")?;
    let visible: BTreeSet<String> = member(params, "visible")?;
    host.registry().see(&agent, visible);
    let sections = host.prompt_sections(&agent).await;
    let shown = sections.into_iter().map(|section| {
        serde_json::json!({ "name": section.name, "order": section.order, "text": section.text })
    });
    Ok(shown.collect())
}
