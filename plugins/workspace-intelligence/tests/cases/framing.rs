//! SPEC 20, cases 1 to 21: framing and faults of the protocol.

use crate::support::server::frame;
use crate::support::*;
use dsh_workspace_intelligence::framing::{Decoder, FrameError, MAX_HEADER_BYTES, encode};
use proptest::prelude::*;
use serde_json::json;

/// Pushes chunks and reads every message that they complete.
fn decode(limit: usize, chunks: &[&[u8]]) -> Result<Vec<String>, FrameError> {
    let mut decoder = Decoder::new(limit);
    let mut bodies = Vec::new();
    for chunk in chunks {
        decoder.push(chunk);
        while let Some(body) = decoder.next_body()? {
            bodies.push(String::from_utf8_lossy(body).into_owned());
        }
    }
    Ok(bodies)
}

fn decode_one(bytes: &[u8]) -> Result<Vec<String>, FrameError> {
    decode(1_000_000, &[bytes])
}

/// A server whose first process writes this instead of answering the query, and whose second one is sound.
fn once_broken(bytes: Vec<u8>) -> (World, Mounted) {
    let mut world = World::new();
    world.programs("a", move |count| {
        let bytes = bytes.clone();
        if count == 0 {
            Script::new().on("workspace/symbol", move |server, _| {
                server.write_bytes(bytes.clone())
            })
        } else {
            Script::new().with_result(json!([symbol("Fresh", 1)]))
        }
    });
    let plugin = world.mount(servers(&["a"]));
    (world, plugin)
}

/// The breach ends the process, and the query is made once more.
fn assert_fatal(bytes: impl Into<Vec<u8>>) {
    let (mut world, plugin) = once_broken(bytes.into());
    let value = world.value(&plugin, "Fresh");
    assert_eq!(names(&value), ["Fresh"]);
    assert_eq!(world.servers().len(), 2);
    let first = world.server(0);
    assert!(first.terminated_at().is_some(), "the tree is ended at once");
    assert_eq!(first.count("shutdown"), 0, "there is nobody to talk to");
}

#[test]
fn case_001_a_message_in_pieces_is_put_together() {
    let message = encode("{\"name\":\"日本\"}");
    let bytes: Vec<&[u8]> = message.chunks(1).collect();
    assert_eq!(
        decode(1_000, &bytes),
        Ok(vec!["{\"name\":\"日本\"}".to_owned()])
    );
    assert!(
        message.starts_with(b"Content-Length: 17\r\n\r\n"),
        "the length counts bytes"
    );
}

#[test]
fn case_002_many_messages_in_one_chunk_come_in_order() {
    let bodies: Vec<String> = (0..100).map(|number| format!("[{number}]")).collect();
    let chunk: Vec<u8> = bodies.iter().flat_map(|body| encode(body)).collect();
    assert_eq!(decode_one(&chunk), Ok(bodies));
}

#[test]
fn case_003_headers_are_read_without_regard_to_case_and_to_strangers() {
    let chunk = b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\ncontent-LENGTH :  2 \r\n\r\n[]";
    assert_eq!(decode_one(chunk), Ok(vec!["[]".to_owned()]));
}

#[test]
fn case_004_a_line_of_text_before_the_header_is_skipped() {
    assert_eq!(
        decode_one(b"server starting\r\nContent-Length: 2\r\n\r\n[]"),
        Ok(vec!["[]".to_owned()])
    );
}

#[test]
fn case_005_an_endless_header_is_fatal_twice_and_then_a_failure() {
    let garbage = vec![b'x'; MAX_HEADER_BYTES + 1];
    assert_eq!(decode_one(&garbage), Err(FrameError::HeaderTooLong));
    let mut world = World::new();
    world.program(
        "a",
        Script::new().on("workspace/symbol", move |server, _| {
            server.write_bytes(garbage.clone())
        }),
    );
    let plugin = world.mount(servers(&["a"]));
    let error = world.error(&plugin, "x");
    assert_eq!(error.code(), "WORKSPACE_SYMBOL_PROVIDER_FAILED");
    assert!(
        error
            .to_string()
            .contains("header block is longer than 65536 bytes"),
        "{error}"
    );
    assert_eq!(world.servers().len(), 2, "one retry");
    assert!(
        world
            .servers()
            .iter()
            .all(|server| server.terminated_at().is_some())
    );
}

#[test]
fn case_006_a_terminated_header_beyond_the_bound_is_fatal() {
    let mut chunk = vec![b'x'; MAX_HEADER_BYTES + 1];
    chunk.extend_from_slice(b"\r\n\r\n");
    assert_eq!(decode_one(&chunk), Err(FrameError::HeaderTooLong));
    let filler = "x".repeat(MAX_HEADER_BYTES - "Content-Length: 2\r\n".len());
    let largest = format!("{filler}\r\nContent-Length: 2\r\n\r\n[]");
    assert_eq!(
        decode_one(largest.as_bytes()),
        Ok(vec!["[]".to_owned()]),
        "the bound itself is allowed"
    );
    // Wherever the chunk ends, the terminator included.
    for cut in MAX_HEADER_BYTES - 2..=MAX_HEADER_BYTES + 6 {
        let (head, tail) = largest.as_bytes().split_at(cut);
        assert_eq!(decode(9, &[head, tail]), Ok(vec!["[]".to_owned()]), "{cut}");
    }
}

#[test]
fn case_007_a_header_without_a_length_is_fatal() {
    assert_eq!(
        decode_one(b"Content-Type: x\r\n\r\n[]"),
        Err(FrameError::MissingLength)
    );
    assert_fatal("Content-Type: x\r\n\r\n[]");
}

#[test]
fn case_008_only_decimal_digits_are_a_length() {
    for bad in ["abc", "-1", "1.5", "0x10", "1e3", "", "+2", "2 2"] {
        let text = format!("Content-Length: {bad}\r\n\r\n[]");
        assert_eq!(
            decode_one(text.as_bytes()),
            Err(FrameError::InvalidLength(bad.to_owned()))
        );
        assert_fatal(text);
    }
}

#[test]
fn case_009_line_feeds_alone_end_no_header() {
    let mut chunk = b"Content-Length: 2\n\n[]".to_vec();
    assert_eq!(decode_one(&chunk), Ok(Vec::new()));
    chunk.resize(MAX_HEADER_BYTES + 1, b' ');
    assert_eq!(decode_one(&chunk), Err(FrameError::HeaderTooLong));
}

#[test]
fn case_010_the_message_bound_is_inclusive_and_judged_before_the_body_arrives() {
    assert_eq!(
        decode(4, &[b"Content-Length: 4\r\n\r\n[12]"]),
        Ok(vec!["[12]".to_owned()])
    );
    let too_long = FrameError::TooLong {
        length: "5".to_owned(),
        limit: 4,
    };
    assert_eq!(decode(4, &[b"Content-Length: 5\r\n\r\n"]), Err(too_long));
    let huge = "9".repeat(30);
    let error = decode(4, &[format!("Content-Length: {huge}\r\n\r\n").as_bytes()]).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("message of {huge} bytes exceeds maxMessageBytes (4)")
    );
}

#[test]
fn case_011_an_empty_body_is_fatal() {
    assert_fatal("Content-Length: 0\r\n\r\n");
}

#[test]
fn case_012_a_body_that_is_no_json_is_fatal() {
    assert_fatal(frame("{\"id\":2,"));
    assert_fatal(frame("hello"));
}

#[test]
fn case_013_a_body_cut_off_by_the_end_of_the_process_tells_how_it_ended() {
    let mut world = World::new();
    world.program(
        "a",
        Script::new().on("workspace/symbol", |server, _| {
            server.stderr("thread 'main' panicked\n  at the disco  \n\n");
            server.write_bytes("Content-Length: 100\r\n\r\n{\"id\"");
            server.exit("exited with code 101");
        }),
    );
    let plugin = world.mount(servers(&["a"]));
    let error = world.error(&plugin, "x");
    let told = "a: language server exited with code 101: at the disco";
    assert!(error.to_string().ends_with(told), "{error}");
    let log = world.warnings().join("\n");
    assert!(
        log.contains("thread 'main' panicked"),
        "the log has the whole tail: {log}"
    );
}

#[test]
fn case_014_a_length_in_characters_is_noticed_and_does_not_hang() {
    // Each body is longer than announced, so the next header begins inside it.
    let body = "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":[],\"note\":\"éééééééééé\"}";
    let short = format!("Content-Length: {}\r\n\r\n{body}", body.chars().count());
    assert_fatal(short.repeat(2));
}

#[test]
fn case_015_frames_that_are_no_objects_are_skipped() {
    let mut world = World::new();
    world.program(
        "a",
        Script::new().on("workspace/symbol", |server, message| {
            for body in [
                "42",
                "null",
                "\"x\"",
                "[]",
                "true",
                "[{\"id\":2,\"result\":[]}]",
            ] {
                server.write_bytes(frame(body));
            }
            server.reply(message, json!([symbol("Found", 1)]));
        }),
    );
    let plugin = world.mount(servers(&["a"]));
    assert_eq!(names(&world.value(&plugin, "x")), ["Found"]);
    assert_eq!(world.servers().len(), 1);
}

#[test]
fn case_016_of_two_lengths_the_first_counts() {
    let chunk = b"Content-Length: 2\r\nContent-Length: 99\r\n\r\n[]";
    assert_eq!(decode_one(chunk), Ok(vec!["[]".to_owned()]));
}

#[test]
fn case_017_a_message_before_garbage_still_counts() {
    let mut world = World::new();
    world.programs("a", |count| {
        Script::new().on("workspace/symbol", move |server, message| {
            let body = json!({"jsonrpc": "2.0", "id": message["id"], "result": [symbol(&format!("From{count}"), 1)]});
            let mut bytes = frame(&body.to_string());
            bytes.extend_from_slice(b"garbage\r\n\r\n");
            server.write_bytes(bytes);
        })
    });
    let plugin = world.mount(servers(&["a"]));
    assert_eq!(names(&world.value(&plugin, "x")), ["From0"]);
    assert_eq!(
        names(&world.value(&plugin, "x")),
        ["From1"],
        "the next call begins afresh"
    );
}

/// Answers the query with a body of this text in place of the result.
fn with_raw_result(result: &'static [u8]) -> (World, Mounted) {
    let mut world = World::new();
    world.program(
        "a",
        Script::new().on("workspace/symbol", move |server, message| {
            let mut body = format!("{{\"id\":{},\"result\":", message["id"]).into_bytes();
            body.extend_from_slice(result);
            body.push(b'}');
            let mut bytes = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
            bytes.extend_from_slice(&body);
            server.write_bytes(bytes);
        }),
    );
    let plugin = world.mount(servers(&["a"]));
    (world, plugin)
}

#[test]
fn case_018_an_unpaired_surrogate_is_replaced() {
    let (mut world, plugin) =
        with_raw_result(br#"[{"name":"a\ud800b","kind":5,"location":{"uri":"file:///a"}}]"#);
    assert_eq!(names(&world.value(&plugin, "x")), ["a\u{fffd}b"]);
}

#[test]
fn case_019_deep_nesting_is_accepted() {
    let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
    let result =
        format!(r#"[{{"name":"Deep","kind":5,"location":{{"uri":"file:///a"}},"data":{deep}}}]"#);
    let (mut world, plugin) = with_raw_result(result.leak().as_bytes());
    assert_eq!(names(&world.value(&plugin, "x")), ["Deep"]);
}

#[test]
fn case_020_bytes_that_are_no_utf8_are_replaced() {
    let (mut world, plugin) =
        with_raw_result(b"[{\"name\":\"a\xffb\",\"kind\":5,\"location\":{\"uri\":\"file:///a\"}}]");
    assert_eq!(names(&world.value(&plugin, "x")), ["a\u{fffd}b"]);
}

#[test]
fn case_021_the_version_of_json_rpc_is_not_looked_at() {
    for version in [json!(null), json!("1.0")] {
        let mut world = World::new();
        world.program(
            "a",
            Script::new().on("workspace/symbol", move |server, message| {
                server.write(&json!({"jsonrpc": version, "id": message["id"], "result": [symbol("Found", 1)]}));
            }),
        );
        let plugin = world.mount(servers(&["a"]));
        assert_eq!(names(&world.value(&plugin, "x")), ["Found"]);
    }
}

proptest! {
    /// However a stream is cut, the messages are the same.
    #[test]
    fn any_split_gives_the_same_messages(
        bodies in proptest::collection::vec("\\PC{0,40}", 0..6),
        cuts in proptest::collection::vec(0usize..400, 0..12),
    ) {
        let stream: Vec<u8> = bodies.iter().flat_map(|body| encode(body)).collect();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(stream.len())).collect();
        cuts.extend([0, stream.len()]);
        cuts.sort_unstable();
        let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
        prop_assert_eq!(decode(1_000, &chunks), Ok(bodies));
    }

    /// However a stream is cut, a breach is found, with the same messages before it.
    #[test]
    fn any_bytes_end_the_same_way_in_one_piece_and_byte_by_byte(bytes in proptest::collection::vec(
        proptest::sample::select(b"Content-Length: 0123\r\n\r\n[]x:".to_vec()), 0..80)) {
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(decode(100, &[&bytes]), decode(100, &single));
    }
}
