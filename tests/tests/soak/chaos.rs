//! What happens around the calls.

use crate::scene::{AGENTS, HOSTILE, Scene};
use crate::work::Chance;
use dsh_host::RowState;
use dsh_tests::hostile::soon;
use dsh_tests::hosts::{COMPLETION, HISTORY, SYMBOLS};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::time::{Duration, Instant};

/// Breaks something every few dozen milliseconds.
pub async fn reign(scene: &Scene, seed: u64, until: Instant) {
    let mut chance = Chance::new(seed);
    let host = &scene.desk.host;
    while Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(20 + chance.below(60))).await;
        match chance.below(8) {
            0 => reload(scene, COMPLETION).await,
            1 => reload(scene, HISTORY).await,
            2 => reload(scene, SYMBOLS).await,
            // Often, because five traps switch it off.
            3 | 4 => reload(scene, HOSTILE).await,
            5 => {
                let agent = AGENTS[3];
                soon(host.dispose_agent(agent)).await;
                scene.desk.agent(agent, agent).await;
            }
            6 => {
                let agent = AGENTS[chance.below(4) as usize];
                soon(host.session_event(Some(agent), "tool/result")).await;
            }
            _ => {
                // It may have ended by itself; its number is not given again so soon.
                if let Some(pid) = scene.newest_server().and_then(Pid::from_raw)
                    && dsh_tests::symbols::exists(pid.as_raw_nonzero().get())
                {
                    let _ = kill_process(pid, Signal::KILL);
                }
            }
        }
    }
}

async fn reload(scene: &Scene, id: &str) {
    let config = match id {
        SYMBOLS => scene.symbols(),
        _ => json!({}),
    };
    let state = soon(scene.desk.host.reload(id, config)).await;
    assert_eq!(state, Ok(RowState::Active), "{id}");
}
