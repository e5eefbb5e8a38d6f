//! SPEC 16: the connection by itself, under any order of events.

use dsh_workspace_intelligence::failure::Loss;
use dsh_workspace_intelligence::machine::{Machine, Setup};
use proptest::prelude::*;
use serde_json::{Value, json};

fn machine() -> Machine {
    Machine::new(&Setup {
        root_uri: "file:///ws".to_owned(),
        initialization_options: Value::Null,
        configuration: Value::Null,
        max_message_bytes: 10_000,
        warmup_ms: 0,
    })
}

/// What can happen to a connection.
#[derive(Debug, Clone)]
enum Event {
    Reply { id: u64, error: bool },
    Request,
    Garbage,
    Query,
    Take,
    Cancel,
    Drain,
    Exit,
    Lose,
}

fn any_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (1u64..6, any::<bool>()).prop_map(|(id, error)| Event::Reply { id, error }),
        1 => Just(Event::Request),
        1 => Just(Event::Garbage),
        4 => Just(Event::Query),
        2 => Just(Event::Take),
        2 => Just(Event::Cancel),
        1 => Just(Event::Drain),
        1 => Just(Event::Exit),
        1 => Just(Event::Lose),
    ]
}

fn receive(machine: &mut Machine, message: &Value) {
    let body = message.to_string();
    machine.receive(
        format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes(),
        0,
    );
}

fn apply(machine: &mut Machine, event: &Event) {
    match event {
        Event::Reply { id, error: false } => {
            let result = json!({"capabilities": {"workspaceSymbolProvider": true}});
            receive(machine, &json!({"id": id, "result": result}));
        }
        Event::Reply { id, error: true } => {
            receive(machine, &json!({"id": id, "error": {"message": "no"}}))
        }
        Event::Request => receive(
            machine,
            &json!({"id": "s", "method": "workspace/configuration"}),
        ),
        Event::Garbage => machine.receive(b"garbage\r\n\r\n", 0),
        Event::Query => machine.query("Gear"),
        Event::Take => drop(machine.take_reply()),
        Event::Cancel => machine.cancel(),
        Event::Drain => machine.drain(),
        Event::Exit => machine.exit(),
        Event::Lose => machine.lose(Loss::OutputClosed),
    }
}

fn sent(machine: &mut Machine) -> Vec<Value> {
    std::iter::from_fn(|| machine.take_outgoing())
        .map(|frame| {
            let at = frame
                .windows(4)
                .position(|window| window == b"\r\n\r\n")
                .unwrap();
            serde_json::from_slice(&frame[at + 4..]).unwrap()
        })
        .collect()
}

proptest! {
    #[test]
    fn the_rules_of_the_protocol_hold_in_any_order(events in proptest::collection::vec(any_event(), 0..40)) {
        let mut machine = machine();
        let mut last_id = 0;
        let (mut queries_open, mut initialize_answered, mut over, mut requests) = (0_u32, false, false, 0_u32);
        let mut open_id = None;
        for event in &events {
            let was_lost = machine.loss().cloned();
            if let Event::Reply { id, .. } = event {
                initialize_answered |= *id == 1 && was_lost.is_none();
                if open_id == Some(*id) {
                    open_id = None;
                    queries_open = 0;
                }
            }
            requests += u32::from(matches!(event, Event::Request) && was_lost.is_none());
            apply(&mut machine, event);
            if let Some(loss) = was_lost {
                prop_assert_eq!(machine.loss(), Some(&loss), "the first reason stands");
            }
            for message in sent(&mut machine) {
                let method = message["method"].as_str().unwrap_or("<reply>").to_owned();
                if method == "<reply>" {
                    requests -= 1;
                    continue;
                }
                prop_assert!(!over, "{} after exit", method);
                over |= method == "exit";
                if let Some(id) = message["id"].as_u64() {
                    prop_assert_eq!(id, last_id + 1, "ids go up by one");
                    last_id = id;
                }
                match method.as_str() {
                    "initialize" => prop_assert_eq!(last_id, 1),
                    "workspace/symbol" => {
                        prop_assert!(initialize_answered);
                        prop_assert_eq!(queries_open, 0, "one query at a time");
                        queries_open = 1;
                        open_id = message["id"].as_u64();
                    }
                    "$/cancelRequest" => prop_assert_eq!(message["params"]["id"].as_u64(), open_id),
                    "shutdown" => prop_assert!(initialize_answered, "shutdown before the answer to initialize"),
                    "initialized" | "exit" => {}
                    other => prop_assert!(false, "unexpected {}", other),
                }
            }
        }
        prop_assert_eq!(requests, 0, "every request of the server is answered");
    }
}

#[test]
fn a_reply_that_was_complete_outlives_the_connection() {
    let mut machine = machine();
    apply(
        &mut machine,
        &Event::Reply {
            id: 1,
            error: false,
        },
    );
    machine.query("Gear");
    apply(&mut machine, &Event::Reply { id: 2, error: true });
    machine.lose(Loss::OutputClosed);
    assert!(machine.take_reply().is_some());
    assert!(machine.take_reply().is_none());
}
