//! The host that is soaked.

use dsh_host::RowState;
use dsh_services::session_query::{LocalOptions, LocalSessionQuery};
use dsh_tests::hostile::{COMPONENT, limits, soon};
use dsh_tests::hosts::{COMPLETION, HISTORY, SYMBOLS, mount};
use dsh_tests::symbols::{Desk, answering, names};
use serde_json::{Value, json};
use std::fs;
use std::sync::Arc;

/// The agents; each has a directory and a recorded session of its own.
pub const AGENTS: [&str; 4] = ["one", "two", "three", "four"];
/// The plugin that misbehaves; its tool is `act`.
pub const HOSTILE: &str = "hostile";
/// Events in each session.
pub const EVENTS: u64 = 300;
/// Servers by what becomes of them.
const SERVERS: [&str; 2] = ["steady", "brittle"];

/// A host with everything in it.
pub struct Scene {
    /// Host, agents and servers.
    pub desk: Desk,
}

impl Scene {
    /// Mounts everything.
    pub async fn new() -> Self {
        let desk = Desk::new().await;
        let sessions = desk.path().join("sessions");
        for agent in AGENTS {
            let workspace = desk.path().join(agent);
            fs::create_dir_all(workspace.join("src/deep")).unwrap();
            for number in 0..50 {
                fs::write(workspace.join(format!("src/deep/gear{number}.rs")), "").unwrap();
            }
            record_session(&sessions, agent);
            desk.agent(agent, agent).await;
        }
        let query = LocalSessionQuery::new(LocalOptions::new(sessions));
        desk.host
            .services()
            .set_session_query(Some(Arc::new(query)));
        let scene = Self { desk };
        for (name, config) in [
            (COMPLETION, json!({})),
            (HISTORY, json!({})),
            (SYMBOLS, scene.symbols()),
        ] {
            let state = soon(mount(&scene.desk.host, name, config)).await;
            assert_eq!(state, Ok(RowState::Active), "{name}");
        }
        scene.mount_hostile().await;
        scene
    }

    /// The configuration of the plugin for symbols: one server that works, and one that dies of every third query.
    pub fn symbols(&self) -> Value {
        let dying = json!({"workspace/symbol": [{"kill": 9}]});
        let brittle = json!([answering(&["Brittle"]), dying, answering(&["Brittle"])]);
        let steady = json!([answering(&["Steady"])]);
        json!({"servers": {
            SERVERS[0]: self.desk.server(SERVERS[0], steady),
            SERVERS[1]: self.desk.server(SERVERS[1], brittle),
        }})
    }

    async fn mount_hostile(&self) {
        let component = dsh_host::LoadedComponent::new(self.desk.host.engine(), COMPONENT).unwrap();
        let row = dsh_host::PluginRow {
            limits: limits(),
            ..dsh_host::PluginRow::new(HOSTILE, component)
        };
        assert_eq!(soon(self.desk.host.mount(row)).await, Ok(RowState::Active));
    }

    /// The newest process of the brittle server.
    pub fn newest_server(&self) -> Option<i32> {
        self.desk.journal(SERVERS[1]).pids().pop()
    }

    /// One call that starts every server.
    pub async fn one_of_each(&self) {
        let result = self.desk.ask_as(AGENTS[0], "Gear").await;
        assert_eq!(names(result).len(), SERVERS.len());
    }

    /// Unloads everything, and tells which language servers ever ran.
    pub async fn close(self) -> Vec<i32> {
        soon(self.desk.host.shutdown()).await;
        let pids = SERVERS.iter().flat_map(|id| self.desk.journal(id).pids());
        pids.collect()
    }
}

fn record_session(root: &std::path::Path, id: &str) {
    let folder = root.join("--work-app--").join(id);
    fs::create_dir_all(&folder).unwrap();
    let mut log = json!({"type": "session", "version": 0, "id": id, "createdAt": 1, "cwd": "/work/app", "delegationDepth": 0}).to_string();
    log.push('\n');
    for seq in 0..EVENTS {
        let content = json!([{"type": "text", "text": format!("gear {seq} of {id}")}]);
        let data = json!({"id": format!("m{seq}"), "role": "user", "content": content, "source": {"kind": "user"}});
        let event = json!({"type": "user/message", "seq": seq, "time": seq, "surfaceOp": "append", "data": data});
        log += &format!("{event}\n");
    }
    fs::write(folder.join("session.jsonl"), log).unwrap();
}
