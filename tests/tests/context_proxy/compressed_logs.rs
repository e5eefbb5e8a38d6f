//! Compressed logs: one Zstandard frame for each batch of rows.

use dsh_tests::history::Place;
use dsh_tests::rows::{frame, header, lines, turn_end, turn_start, user};
use serde_json::json;

fn write(place: &Place, frames: &[Vec<u8>]) {
    place.write_file("sessions/_no-cwd/s/session.jsonl.zstd", frames.concat());
}

fn frames() -> Vec<Vec<u8>> {
    let batches = [
        format!("{}\n", header("s")),
        lines(&[turn_start(0), user(1, "one"), turn_end(2)]),
        lines(&[user(3, "two"), user(4, &"three ".repeat(1_000))]),
    ];
    batches
        .iter()
        .map(|batch| frame(batch.as_bytes()))
        .collect()
}

async fn failed(place: &Place, what: &str) {
    for (tool, arguments) in [
        ("context_query", json!({})),
        ("context_slice", json!({"seq": 0})),
    ] {
        let error = place.call("s", tool, arguments).await.error();
        assert_eq!(
            error.0, "SESSION_QUERY_PERSISTENCE_FAILED",
            "{what}: {tool}"
        );
    }
}

#[tokio::test]
async fn case_041_frames_are_read_one_after_the_other() {
    let place = Place::new().await;
    write(&place, &frames());
    assert_eq!(place.query("s", json!({})).await.seqs(), [1, 3, 4]);
    let long = place.slice("s", 4).await.value();
    assert_eq!(long["items"][0]["text"], "three ".repeat(1_000).trim_end());
}

#[tokio::test]
async fn case_041_of_a_torn_last_frame_the_whole_rows_are_taken() {
    let place = Place::new().await;
    let whole = frames();
    for cut in 1..whole[2].len() {
        let mut torn = whole.clone();
        torn[2].truncate(cut);
        write(&place, &torn);
        let seqs = place.query("s", json!({})).await.seqs();
        assert!(
            [1, 3, 4].starts_with(&seqs) && seqs.starts_with(&[1]),
            "{cut}: {seqs:?}"
        );
    }
}

#[tokio::test]
async fn case_041_damage_in_whole_frames_is_damage_of_the_log() {
    let place = Place::new().await;
    let mut flipped = frames();
    *flipped[1].last_mut().unwrap() ^= 1;
    write(&place, &flipped);
    failed(&place, "a checksum").await;
    let two = format!("{}\n{}", header("s"), lines(&[user(0, "x")]));
    write(&place, &[frame(two.as_bytes())]);
    failed(&place, "two lines in the first frame").await;
    let mut magic = frames();
    magic[0][0] ^= 1;
    write(&place, &magic);
    failed(&place, "a wrong magic number").await;
    write(&place, &[frames(), vec![b"plain text\n".to_vec()]].concat());
    failed(&place, "what is no frame").await;
    // A frame that claims far more than it holds is damage too, and no reason to take the memory that it claims.
    let mut claims = frames();
    claims.push(
        [
            0x28, 0xB5, 0x2F, 0xFD, 0xE0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 0x01, 0,
            0,
        ]
        .into(),
    );
    write(&place, &claims);
    failed(&place, "a frame of 2^63 bytes").await;
}
