//! SPEC 20, cases 64 to 79: order, duplicates and caps.

use crate::support::*;
use dsh_guest_support::utf16;
use dsh_workspace_intelligence::merge::{Merged, merge};
use dsh_workspace_intelligence::render::{ProviderCounts, render};
use dsh_workspace_intelligence::symbol::Symbol;
use proptest::prelude::*;
use serde_json::{Value, json};

/// The value of a call for `Gear`, with what each server answers.
fn merged(answers: &[(&str, Value)]) -> Value {
    merged_with(answers, json!({}))
}

fn merged_with(answers: &[(&str, Value)], settings: Value) -> Value {
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

fn bare(name: &str) -> Symbol {
    Symbol {
        name: name.to_owned(),
        kind: 5,
        uri: format!("file:///{name}"),
        range: None,
        container_name: None,
    }
}

fn merged_of(names: &[&str]) -> Merged {
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
fn case_074_one_result_at_most() {
    let answers = [(
        "a",
        json!([symbol("GearBox", 1), symbol("Gear", 2), symbol("Gears", 3)]),
    )];
    let value = merged_with(&answers, json!({"maxResults": 1}));
    assert_eq!(names(&value), ["Gear"]);
    assert_eq!(value["total"], json!(3));
    let content: Value = serde_json::from_str(
        &render(
            &Merged {
                symbols: vec![bare("Gear")],
                total: 3,
            },
            ProviderCounts {
                succeeded: 1,
                ..ProviderCounts::default()
            },
            16_000,
        )
        .content,
    )
    .unwrap();
    assert_eq!(
        (&content["omitted"], &content["truncated"]),
        (&json!(2), &json!(true))
    );
}

#[test]
fn case_075_a_symbol_that_is_too_long_ends_the_text() {
    let long = Symbol {
        uri: format!("file:///{}", "x".repeat(1_000_000)),
        ..bare("Gear")
    };
    let merged = Merged {
        symbols: vec![long, bare("GearBox")],
        total: 2,
    };
    let rendered = render(&merged, ProviderCounts::default(), 256);
    let content: Value = serde_json::from_str(&rendered.content).unwrap();
    assert_eq!(
        content["symbols"],
        json!([]),
        "the later one is not shown in its place"
    );
    assert_eq!(
        (
            &content["total"],
            &content["omitted"],
            &content["truncated"]
        ),
        (&json!(2), &json!(2), &json!(true))
    );
    assert!(utf16::len(&rendered.content) <= 256);
    let value: Value = serde_json::from_str(&rendered.value).unwrap();
    assert_eq!(
        value["symbols"].as_array().unwrap().len(),
        2,
        "the value is not cut"
    );
}

#[test]
fn case_076_characters_beyond_the_basic_plane_count_twice() {
    let length = |name: &str| {
        let rendered = render(&merged_of(&[name]), ProviderCounts::default(), 16_000);
        utf16::len(&rendered.content)
    };
    // Both in the name and in the URI, where it is twelve characters of escapes in neither, since the URI is taken as it is.
    assert_eq!(length("Gear\u{1F600}") - length("Gear"), 4);
    let exact = length("Gear\u{1F600}");
    let fits = |cap| {
        render(
            &merged_of(&["Gear\u{1F600}"]),
            ProviderCounts::default(),
            cap,
        )
        .content
        .contains("Gear")
    };
    assert!(fits(exact));
    assert!(!fits(exact - 1));
}

#[test]
fn case_077_a_text_of_exactly_the_cap_is_whole() {
    let all = merged_of(&["Gear", "GearBox", "GearWheel"]);
    let whole = render(&all, ProviderCounts::default(), 16_000).content;
    assert_eq!(
        render(&all, ProviderCounts::default(), utf16::len(&whole)).content,
        whole
    );
    let shorter = render(&all, ProviderCounts::default(), utf16::len(&whole) - 1).content;
    assert!(
        shorter.contains("GearBox") && !shorter.contains("GearWheel"),
        "{shorter}"
    );
    assert!(shorter.ends_with(
        r#""total":3,"omitted":1,"truncated":true,"providers":{"succeeded":0,"failed":0,"unsupported":0}}"#
    ));
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

#[test]
fn the_two_forms_of_an_answer() {
    let merged = Merged {
        symbols: vec![bare("Gear")],
        total: 1,
    };
    let counts = ProviderCounts {
        succeeded: 1,
        failed: 2,
        unsupported: 3,
        started: 1,
        indexing: 0,
    };
    let rendered = render(&merged, counts, 16_000);
    let symbols = r#"{"symbols":[{"name":"Gear","kind":"Class","uri":"file:///Gear"}],"total":1,"#;
    let providers = r#""providers":{"succeeded":1,"failed":2,"unsupported":3,"started":1}}"#;
    assert_eq!(rendered.value, format!("{symbols}{providers}"));
    assert_eq!(
        rendered.content,
        format!("{symbols}\"omitted\":0,\"truncated\":false,{providers}")
    );
}

#[test]
fn every_answer_fits_the_declared_schema() {
    let schema: Value =
        serde_json::from_str(dsh_workspace_intelligence::render::OUTPUT_SCHEMA).unwrap();
    let mut with_range = bare("Gear");
    with_range.range =
        dsh_workspace_intelligence::normalise::symbols(Some(json!([symbol("x", 1)]))).unwrap()[0]
            .range;
    with_range.container_name = Some("in".to_owned());
    let counts = ProviderCounts {
        succeeded: 1,
        failed: 1,
        unsupported: 1,
        started: 1,
        indexing: 1,
    };
    let rendered = render(
        &Merged {
            symbols: vec![with_range, bare("Gear")],
            total: 2,
        },
        counts,
        16_000,
    );
    let value: Value = serde_json::from_str(&rendered.value).unwrap();
    dsh_guest_support::args::check(&schema, &value).unwrap();
    // The schema is closed, so this also shows that the check looks.
    assert!(
        dsh_guest_support::args::check(
            &schema,
            &json!({"symbols": [{}], "total": 1, "providers": {}})
        )
        .is_err()
    );
}

prop_compose! {
    fn any_symbol()(name in "(Gear|gear)?[a-c\u{1F600}]{0,2}", kind in 1u32..3, uri in "file:///[ab]", line in proptest::option::of(0u32..2)) -> Symbol {
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

    #[test]
    fn the_text_never_exceeds_its_cap_and_shows_the_longest_prefix(symbols in proptest::collection::vec(any_symbol(), 0..12), cap in 256usize..900) {
        let merged = Merged { total: symbols.len() + 5, symbols };
        let content = render(&merged, ProviderCounts::default(), cap).content;
        prop_assert!(utf16::len(&content) <= cap);
        let parsed: Value = serde_json::from_str(&content).unwrap();
        let shown = parsed["symbols"].as_array().unwrap().len();
        prop_assert_eq!(&parsed["omitted"], &json!(merged.total - shown));
        if shown < merged.symbols.len() {
            let whole = render(&merged, ProviderCounts::default(), usize::MAX).content;
            let longer = Merged { symbols: merged.symbols[..=shown].to_vec(), total: merged.total };
            let next = render(&longer, ProviderCounts::default(), usize::MAX).content;
            prop_assert!(utf16::len(&next) > cap, "{} more would fit of {}", next, whole);
        }
    }
}
