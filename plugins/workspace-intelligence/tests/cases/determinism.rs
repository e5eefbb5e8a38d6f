//! SPEC 20, case 140: chance decides when and in which pieces, never what.

use crate::support::world::Rng;
use crate::support::*;
use serde_json::json;

/// What three servers know; each is sent in the order of its number.
const KNOWN: [(&str, &[(&str, u32)]); 3] = [
    ("a", &[("GearBox", 1), ("Gear", 2), ("größe", 3)]),
    ("b", &[("Gear", 2), ("InnerGear", 4), ("Gear\u{1F600}", 5)]),
    ("c", &[("GearWheel", 6), ("gear", 7), ("Gear", 2)]),
];

fn run(seed: u64) -> (String, String) {
    let mut rng = Rng::new(seed);
    let mut world = World::new();
    world.chunk_output(seed);
    let mut ids = Vec::new();
    for (id, known) in KNOWN {
        let symbols: Vec<_> = known
            .iter()
            .map(|(name, line)| symbol(name, *line))
            .collect();
        let delays = [rng.below(40), rng.below(40)];
        let crashes = rng.below(8) == 0;
        world.programs(id, move |count| {
            let symbols = symbols.clone();
            Script::new()
                .on("initialize", move |server, message| {
                    let message = message.clone();
                    server.request(
                        json!("c"),
                        "workspace/configuration",
                        json!({"items": [{}]}),
                    );
                    server.after(delays[0], move |server| {
                        server.reply(
                            &message,
                            json!({"capabilities": {"workspaceSymbolProvider": true}}),
                        );
                    });
                })
                .on("workspace/symbol", move |server, message| {
                    if crashes && count == 0 {
                        server.exit("exited with code 1");
                        return;
                    }
                    let (message, symbols) = (message.clone(), symbols.clone());
                    server.notify(
                        "window/logMessage",
                        json!({"type": 4, "message": "searching"}),
                    );
                    server.after(delays[1], move |server| {
                        server.reply(&message, json!(symbols))
                    });
                })
        });
        let at = usize::try_from(rng.below(ids.len() as u64 + 1)).unwrap();
        ids.insert(at, id);
    }
    let mut config = servers(&ids);
    config["maxResults"] = json!(6);
    config["maxResultChars"] = json!(900);
    let plugin = world.mount(config);
    let rendered = world.ask(&plugin, "Gear").expect("a crash is mended");
    assert_eq!(world.dispose(&plugin), Ok(()));
    assert!(world.servers().iter().all(Server::is_gone));
    (rendered.value, rendered.content)
}

#[test]
fn case_140_ten_thousand_interleavings_give_the_same_bytes() {
    let expected = run(0);
    assert!(expected.0.contains("\"total\":7"), "{}", expected.0);
    for seed in 1..=10_000 {
        assert_eq!(run(seed), expected, "seed {seed}");
    }
}
