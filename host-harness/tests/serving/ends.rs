//! How the serving commands end, and that nothing is left of them.

use crate::mcp::greet;
use crate::server::{Server, mute_server, processes, until};
use rustix::process::Signal;
use serde_json::json;
use std::os::unix::process::ExitStatusExt;

/// An MCP server with a call in flight that waits for a language server.
fn busy(place: &std::path::Path) -> (Server, String) {
    let (program, row) = mute_server(place);
    std::fs::write(place.join("profile.yml"), json!([row]).to_string()).unwrap();
    let mut server = Server::start(&["mcp", "--profile", "profile.yml"], place);
    greet(&mut server);
    server.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "workspace_symbol", "arguments": {"query": "x"}}}));
    until("the language server runs", || {
        !processes(&program).is_empty()
    });
    (server, program)
}

#[test]
fn mcp_ends_with_its_input_and_on_sigterm_and_leaves_no_child() {
    for how in [None, Some(Signal::TERM), Some(Signal::KILL)] {
        let place = tempfile::tempdir().unwrap();
        let (mut server, program) = busy(place.path());
        match how {
            None => server.close(),
            Some(signal) => server.signal(signal),
        }
        let status = server.end();
        match how {
            Some(Signal::KILL) => assert_eq!(status.signal(), Some(9)),
            _ => assert!(status.success(), "{how:?}: {status}"),
        }
        until("no process is left", || processes(&program).is_empty());
    }
}

#[test]
fn a_client_that_never_spoke_is_no_error() {
    let place = tempfile::tempdir().unwrap();
    for command in ["mcp", "bridge"] {
        let mut server = Server::start(&[command], place.path());
        server.close();
        assert!(server.end().success(), "{command}");
    }
}

#[test]
fn the_bridge_ends_with_its_input_and_on_sigterm_and_not_on_sigint() {
    let place = tempfile::tempdir().unwrap();
    for how in [None, Some(Signal::TERM)] {
        let mut server = Server::start(&["bridge"], place.path());
        server.send(json!({"id": 1, "method": "hello", "params": {"protocol": 1}}));
        server.answer(1);
        server.signal(Signal::INT);
        server.send(json!({"id": 2, "method": "nope", "params": {}}));
        assert_eq!(server.answer(2)["error"]["code"], "BRIDGE_PROTOCOL");
        match how {
            None => server.close(),
            Some(signal) => server.signal(signal),
        }
        assert!(server.end().success(), "{how:?}");
    }
}

#[test]
fn the_bridge_ends_when_nobody_reads_what_it_says() {
    let place = tempfile::tempdir().unwrap();
    for greeted in [false, true] {
        let mut server = Server::start(&["bridge"], place.path());
        if greeted {
            server.send(json!({"id": 1, "method": "hello", "params": {"protocol": 1}}));
            server.answer(1);
        }
        server.deaf();
        let done = until_ended(&mut server);
        assert!(done.success(), "{greeted}: {done}");
    }
}

/// Says something until nothing listens any more: the answers are what cannot be written.
fn until_ended(server: &mut Server) -> std::process::ExitStatus {
    let mut ended = None;
    until("it has ended", || {
        server.send(json!({"id": 2, "method": "nope", "params": {}}));
        ended = server.child.try_wait().unwrap();
        ended.is_some()
    });
    ended.unwrap()
}
