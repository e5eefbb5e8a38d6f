//! Logs that are written while they are read.

use dsh_tests::history::Place;
use dsh_tests::rows::{frame, header, lines, user};
use serde_json::json;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const EVENTS: u64 = 150;

fn text(seq: u64) -> String {
    format!("event {seq} {}", "x".repeat(seq as usize % 97))
        .trim_end()
        .to_owned()
}

/// Appends one event after the other, each in two writes, so that readers meet torn ones.
fn writer(path: PathBuf, compressed: bool, done: Arc<AtomicBool>) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let mut file = OpenOptions::new().append(true).open(path).unwrap();
        for seq in 0..EVENTS {
            let mut bytes = lines(&[user(seq, &text(seq))]).into_bytes();
            if compressed {
                bytes = frame(&bytes);
            }
            let (head, tail) = bytes.split_at(bytes.len() / 2);
            file.write_all(head).unwrap();
            file.write_all(tail).unwrap();
        }
        done.store(true, Ordering::SeqCst);
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn case_049_readers_beside_a_writer_see_whole_events_once() {
    for compressed in [false, true] {
        let place = Place::new().await;
        let head = format!("{}\n", header("s")).into_bytes();
        let path = match compressed {
            false => place.write_file("sessions/_no-cwd/s/session.jsonl", head),
            true => place.write_file("sessions/_no-cwd/s/session.jsonl.zstd", frame(&head)),
        };
        place.unseal();
        let done = Arc::new(AtomicBool::new(false));
        let writer = writer(path, compressed, done.clone());
        let mut seen = 0;
        loop {
            let last = done.load(Ordering::SeqCst);
            let found = place.query("s", json!({"limit": 200})).await.citations();
            for (seq, (citation, found)) in found.iter().enumerate() {
                assert_eq!(*citation, format!("session:{seq}"));
                assert_eq!(*found, text(seq as u64));
            }
            assert!(found.len() >= seen, "events vanished");
            seen = found.len();
            if seen > 0 {
                let newest = place.slice("s", seen as u64 - 1).await.value();
                assert_eq!(newest["items"][0]["text"], text(seen as u64 - 1));
            }
            if last {
                break;
            }
        }
        assert_eq!(seen as u64, EVENTS);
        writer.join().unwrap();
    }
}
