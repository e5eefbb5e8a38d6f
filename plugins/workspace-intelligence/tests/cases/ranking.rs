//! SPEC 20, cases 64 to 73, 78 and 79: order and duplicates.

use crate::support::*;
use dsh_workspace_intelligence::merge::{Merged, merge};
use dsh_workspace_intelligence::symbol::Symbol;
use proptest::prelude::*;
use serde_json::{Value, json};

/// The value of a call for `Gear`, with what each server answers.
fn merged(answers: &[(&str, Value)]) -> Value {
    merged_with(answers, json!({}))
}

pub fn merged_with(answers: &[(&str, Value)], settings: Value) -> Value {
    let mut world = World::new();
    let mut config = json!({"servers": {}});
    for (id, answer) in answers {
        world.program(id, Script::new().with_result(answer.clone()));
        config["servers"][*id] = server(id);
    }
    for (key, setting) in settings.as_object().unwrap() {
        config[key] = setting.clone();
    }
    let plugin = world.mount(config);
    world.value(&plugin, "Gear")
}

pub fn bare(name: &str) -> Symbol {
    Symbol {
        name: name.to_owned(),
        kind: 5,
        uri: format!("file:///{name}"),
        range: None,
        container_name: None,
    }
}

pub fn merged_of(names: &[&str]) -> Merged {
    merge(
        "Gear",
        vec![names.iter().map(|name| bare(name)).collect()],
        100,
    )
}

#[test]
fn case_064_exact_names_come_before_prefixes_and_those_before_the_rest() {
    let value = merged(&[
        ("a", json!([symbol("InnerGear", 1), symbol("GearBox", 2)])),
        ("b", json!([symbol("GearWheel", 3), symbol("Gear", 4)])),
    ]);
    assert_eq!(names(&value), ["Gear", "GearBox", "GearWheel", "InnerGear"]);
}

#[test]
fn case_065_within_a_class_the_order_is_by_server_and_then_as_given() {
    let value = merged(&[
        ("b", json!([symbol("GearB2", 1), symbol("GearB1", 2)])),
        ("a", json!([symbol("GearZ", 3), symbol("GearA", 4)])),
    ]);
    assert_eq!(names(&value), ["GearZ", "GearA", "GearB2", "GearB1"]);
}

#[test]
fn case_066_the_order_of_the_configuration_does_not_matter() {
    let (a, b) = (
        ("a", json!([symbol("GearA", 1)])),
        ("b", json!([symbol("GearB", 2)])),
    );
    assert_eq!(merged(&[a.clone(), b.clone()]), merged(&[b, a]));
}

#[test]
fn case_067_servers_are_ordered_by_utf_16_code_units() {
    let ids = ["10", "9", "Z", "a", "é", "\u{1F600}", "\u{FF5E}"];
    let answers: Vec<(&str, Value)> = ids
        .iter()
        .rev()
        .map(|id| (*id, json!([symbol(&format!("Gear{id}"), 1)])))
        .collect();
    assert_eq!(names(&merged(&answers)), ids.map(|id| format!("Gear{id}")));
}

#[test]
fn case_068_ids_that_look_like_numbers_are_text() {
    let value = merged(&[
        ("2", json!([symbol("Gear2", 1)])),
        ("1", json!([symbol("Gear1", 1)])),
        ("10", json!([symbol("Gear10", 1)])),
    ]);
    assert_eq!(names(&value), ["Gear1", "Gear10", "Gear2"]);
}

#[test]
fn case_069_of_equal_symbols_the_first_is_kept() {
    let mut second = symbol("Gear", 1);
    second["containerName"] = json!("from b");
    let value = merged(&[("a", json!([symbol("Gear", 1)])), ("b", json!([second]))]);
    assert_eq!(value["total"], json!(1));
    assert!(value["symbols"][0].get("containerName").is_none());
}

#[test]
fn case_070_the_container_does_not_tell_symbols_apart() {
    let (mut one, mut other) = (symbol("Gear", 1), symbol("Gear", 1));
    one["containerName"] = json!("x");
    other["containerName"] = json!("y");
    let value = merged(&[("a", json!([one, other]))]);
    assert_eq!(value["symbols"].as_array().unwrap().len(), 1);
    assert_eq!(value["symbols"][0]["containerName"], json!("x"));
}

#[test]
fn case_071_a_range_and_its_absence_tell_symbols_apart() {
    let bare = json!({"name": "Gear", "kind": 5, "location": {"uri": "file:///ws/a.ts"}});
    let mut other_kind = symbol("Gear", 1);
    other_kind["kind"] = json!(23);
    let value = merged(&[(
        "a",
        json!([symbol("Gear", 1), bare, symbol("Gear", 2), other_kind]),
    )]);
    assert_eq!(value["total"], json!(4));
}

#[test]
fn case_072_spellings_of_one_uri_do_not_tell_symbols_apart() {
    let at = |uri: &str| json!({"name": "Gear", "kind": 5, "location": {"uri": uri}});
    let value = merged(&[(
        "a",
        json!([
            at("file:///c%3A/x%20y"),
            at("file:///C:/x y"),
            at("FILE://localhost/c:/x%20y")
        ]),
    )]);
    assert_eq!(
        value["symbols"],
        json!([{"name": "Gear", "kind": "Class", "uri": "file:///C:/x%20y"}])
    );
}

#[test]
fn case_073_who_answers_first_does_not_matter() {
    let run = |delays: [u64; 2]| {
        let mut world = World::new();
        for (id, delay) in ["a", "b"].into_iter().zip(delays) {
            world.program(
                id,
                Script::new().on("workspace/symbol", move |server, message| {
                    let message = message.clone();
                    server.after(delay, move |server| {
                        let own = symbol(&format!("Gear{}", server.program()), 2);
                        server.reply(&message, json!([symbol("Gear", 1), own]));
                    });
                }),
            );
        }
        let plugin = world.mount(servers(&["a", "b"]));
        world.ask(&plugin, "Gear").unwrap()
    };
    let expected = run([0, 0]);
    for delay in 0..100 {
        assert_eq!(run([delay, 100 - delay]), expected);
    }
}

#[test]
fn case_078_case_matters_for_the_order() {
    let merged = merged_of(&["gear", "GEAR", "gearbox", "Gearbox", "Gear"]);
    let order: Vec<&str> = merged
        .symbols
        .iter()
        .map(|symbol| symbol.name.as_str())
        .collect();
    assert_eq!(order, ["Gear", "Gearbox", "gear", "GEAR", "gearbox"]);
}

#[test]
fn case_079_the_query_is_sent_as_it_is() {
    let mut world = World::new();
    world.program("a", Script::new());
    let plugin = world.mount(servers(&["a"]));
    let queries = [
        "Gear#",
        "*",
        "::Gear",
        " Gear ",
        "say \"hi\"",
        "two\nlines",
        "größe",
        "\u{1F600}",
    ];
    for query in queries {
        world.value(&plugin, query);
    }
    let sent: Vec<Value> = world
        .server(0)
        .messages("workspace/symbol")
        .iter()
        .map(|message| message["params"].clone())
        .collect();
    assert_eq!(sent, queries.map(|query| json!({"query": query})));
}

prop_compose! {
    pub fn any_symbol()(name in "(Gear|gear)?[a-c\u{1F600}]{0,2}", kind in 1u32..3, uri in "file:///[ab]", line in proptest::option::of(0u32..2)) -> Symbol {
        use dsh_workspace_intelligence::symbol::{Position, Range};
        let at = |line| Position { line, character: 0 };
        Symbol { name, kind, uri, range: line.map(|line| Range { start: at(line), end: at(line) }), container_name: None }
    }
}

proptest! {
    #[test]
    fn merging_keeps_order_and_counts(lists in proptest::collection::vec(proptest::collection::vec(any_symbol(), 0..8), 0..4), cap in 1usize..10) {
        let flat: Vec<Symbol> = lists.iter().flatten().cloned().collect();
        let merged = merge("Gear", lists, cap);
        // By the rules of SPEC 11, written as plainly as possible.
        let class = |name: &str| if name == "Gear" { 0 } else if name.starts_with("Gear") { 1 } else { 2 };
        let mut expected: Vec<Symbol> = Vec::new();
        for wanted in 0..3 {
            for symbol in flat.iter().filter(|symbol| class(&symbol.name) == wanted) {
                if !expected.contains(symbol) {
                    expected.push(symbol.clone());
                }
            }
        }
        prop_assert_eq!(merged.total, expected.len());
        expected.truncate(cap);
        prop_assert_eq!(merged.symbols, expected);
    }
}
