//! What breaks an instance, wherever it is done.

use crate::bindings::dsh::ctx::logger::{self, Level};
use crate::bindings::dsh::ctx::timers;
use std::hint::black_box;
use std::time::Duration;

/// An hour is for ever to a test.
const FOR_EVER: Duration = Duration::from_secs(3600);

/// Does what is asked, when it is a misdeed that needs no waiting. Comes back from the milder ones only.
#[allow(clippy::panic)] // A plugin that panics is what the host is tested with.
pub fn commit(misdeed: &str) {
    match misdeed {
        "panic" => panic!("as it was told"),
        "spin" => loop {
            black_box(());
        },
        "recurse" => {
            black_box(deep(1));
        }
        "allocate" => {
            let mut hoard = Vec::new();
            loop {
                hoard.push(black_box(vec![1u8; 1 << 20]));
            }
        }
        "block" => std::thread::sleep(FOR_EVER),
        "exit" => std::process::exit(0),
        // No call begins in this instance any more.
        "barricade" => wit_bindgen::backpressure_inc(),
        "flood" => {
            for record in 0..10_000 {
                logger::log(Level::Info, &format!("record {record}"));
            }
        }
        "mutter" => eprintln!("{}", "x".repeat(1 << 20)),
        _ => {}
    }
}

/// The same for places that may wait.
pub async fn commit_async(misdeed: &str) {
    match misdeed {
        "hang" => {
            logger::log(Level::Info, "hanging");
            std::future::pending().await
        }
        "sleep" => timers::sleep(3_600_000).await,
        _ => commit(misdeed),
    }
}

#[allow(unconditional_recursion)]
fn deep(level: u64) -> u64 {
    black_box(deep(black_box(level + 1))) + level
}
