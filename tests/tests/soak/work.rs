//! One worker: calls of every kind, some of them cancelled or too short of time.

use crate::scene::{AGENTS, EVENTS, Scene};
use crate::tally::{Ending, Tally};
use dsh_host::{AbortController, AbortReason, AbortSignal, CallRequest, SearchError, ToolResult};
use dsh_tests::hostile::soon;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Numbers that look like chance and come again with the same seed.
pub struct Chance(u64);

impl Chance {
    /// A sequence of its own for each seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % bound
    }
}

/// Calls until the time is over.
pub async fn work(scene: &Scene, tally: &Tally, seed: u64, until: Instant) {
    let mut chance = Chance::new(seed);
    while Instant::now() < until {
        let agent = AGENTS[chance.below(4) as usize];
        let controller = AbortController::new();
        let cancel_after =
            (chance.below(4) == 0).then(|| Duration::from_micros(chance.below(4_000)));
        let cancelling = async {
            match cancel_after {
                Some(pause) => tokio::time::sleep(pause).await,
                None => std::future::pending().await,
            }
            controller.abort(AbortReason::unspecified());
            std::future::pending::<()>().await;
        };
        let (kind, request) = choose(&mut chance);
        tally.begin(kind);
        let start = Instant::now();
        let call = async {
            match request {
                None => complete(scene, agent, controller.signal()).await,
                Some((tool, arguments)) => {
                    // What sleeps for an hour and heeds nothing has to be given up.
                    let endless = arguments["do"] == "sleep";
                    let short = endless || chance.below(20) == 0;
                    let request = CallRequest {
                        agent: Some(agent.into()),
                        signal: controller.signal(),
                        timeout_ms: short.then(|| 1 + chance.below(5) as u32),
                        ..CallRequest::new(tool, &arguments.to_string())
                    };
                    ending(scene.desk.host.call(request).await)
                }
            }
        };
        let ending = tokio::select! {
            ending = soon(call) => ending,
            () = cancelling => unreachable!("it waits for ever"),
        };
        tally.end(kind, ending, start.elapsed());
    }
}

/// A kind of call; completion has no tool.
fn choose(chance: &mut Chance) -> (&'static str, Option<(&'static str, Value)>) {
    let seq = chance.below(EVENTS);
    match chance.below(12) {
        0..4 => ("completion", None),
        4..6 => (
            "context_query",
            Some(("context_query", json!({"text": format!("gear {seq}")}))),
        ),
        6 => (
            "context_slice",
            Some((
                "context_slice",
                json!({"seq": seq, "before": 2, "after": 2}),
            )),
        ),
        7 => (
            "context_grep",
            Some(("context_grep", json!({"pattern": format!("gear {seq}")}))),
        ),
        8..10 => (
            "workspace_symbol",
            Some(("workspace_symbol", json!({"query": "Gear"}))),
        ),
        _ => {
            let verb = match chance.below(20) {
                0 => json!({"do": "panic"}),
                1 => json!({"do": "sleep"}),
                2..8 => json!({"do": "nap", "ms": chance.below(5)}),
                8 => json!({"do": "flood"}),
                _ => json!({"do": "echo"}),
            };
            ("hostile", Some(("act", verb)))
        }
    }
}

async fn complete(scene: &Scene, agent: &str, signal: AbortSignal) -> Ending {
    match scene
        .desk
        .host
        .list_file_references(agent, "gear1", &signal)
        .await
    {
        Ok(found) => {
            // An agent that is just being replaced has no files to offer. While the plugin is reloaded, the hostile one is the only plugin that
            // answers completion, in its own way.
            let hostile = format!("{agent}:gear1");
            let fits = |path: &str| path.starts_with("src/deep/gear") || path == hostile;
            for found in &found {
                assert!(fits(&found.path), "{}", found.path);
            }
            Ending::Answered
        }
        Err(SearchError::Failed(failure)) => Ending::Failed(failure),
        Err(_) => Ending::Cancelled,
    }
}

fn ending(result: ToolResult) -> Ending {
    match result {
        ToolResult::Success(_) => Ending::Answered,
        ToolResult::Cancelled(_) => Ending::Cancelled,
        ToolResult::Failure(failure) => Ending::Failed(failure),
    }
}
