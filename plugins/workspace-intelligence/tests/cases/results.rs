//! SPEC 20, cases 49 to 63: what a server answers.

use crate::support::*;
use dsh_workspace_intelligence::normalise::{MalformedAnswer, symbols};
use dsh_workspace_intelligence::symbol::{Symbol, kind_name};
use serde_json::{Value, json};

fn one(entry: Value) -> Result<Symbol, MalformedAnswer> {
    let answer = json!([entry]).to_string();
    let symbols = symbols(Some(&answer)).expect("it is JSON");
    symbols.map(|mut list| list.remove(0))
}

fn problem(entry: Value) -> String {
    one(entry).expect_err("malformed").to_string()
}

/// A symbol with these members replaced.
fn with(members: Value) -> Value {
    let mut entry = symbol("Name", 3);
    for (key, value) in members.as_object().unwrap() {
        entry[key] = value.clone();
    }
    entry
}

fn with_range(range: Value) -> Value {
    with(json!({"location": {"uri": "file:///ws/a.ts", "range": range}}))
}

/// The canonical value of a call whose only server answers this.
fn answered(result: Value) -> Result<Value, String> {
    let mut world = World::new();
    world.program("a", Script::new().with_result(result));
    let plugin = world.mount(servers(&["a"]));
    match world.ask(&plugin, "x") {
        Ok(rendered) => Ok(parsed(&rendered)),
        other => Err(failure(other).to_string()),
    }
}

#[test]
fn case_049_null_is_an_empty_success() {
    let value = answered(Value::Null).unwrap();
    let expected = json!({"symbols": [], "total": 0, "providers": {"succeeded": 1, "failed": 0, "unsupported": 0}});
    assert_eq!(value, expected);
}

#[test]
fn case_050_an_empty_list_is_a_success() {
    assert_eq!(counts(&answered(json!([])).unwrap()), [1, 0, 0]);
}

#[test]
fn case_051_anything_but_a_list_is_malformed() {
    for result in [json!({}), json!("x"), json!(1), json!(true)] {
        let error = answered(result).unwrap_err();
        assert!(
            error.contains("a: malformed answer: the result is neither a list nor null"),
            "{error}"
        );
    }
}

#[test]
fn case_052_symbol_information_is_read() {
    let entry = json!({"name": "Gear", "kind": 5, "tags": [1], "deprecated": true, "containerName": "widget",
        "location": {"uri": "file:///ws/a.py", "range": {
            "start": {"line": 1, "character": 2}, "end": {"line": 3, "character": 4}}}});
    let expected = json!([{"name": "Gear", "kind": "Class", "uri": "file:///ws/a.py",
        "range": {"start": {"line": 1, "character": 2}, "end": {"line": 3, "character": 4}},
        "containerName": "widget"}]);
    assert_eq!(answered(json!([entry])).unwrap()["symbols"], expected);
}

#[test]
fn case_053_workspace_symbols_are_read() {
    let entry = with(json!({"data": {"opaque": [1]}, "score": 0.5}));
    assert_eq!(one(entry), one(symbol("Name", 3)));
}

#[test]
fn case_054_a_location_without_a_range_has_none() {
    let entry = with(json!({"location": {"uri": "file:///ws/a.ts"}}));
    let value = answered(json!([entry])).unwrap();
    assert_eq!(
        value["symbols"],
        json!([{"name": "Name", "kind": "Class", "uri": "file:///ws/a.ts"}])
    );
}

#[test]
fn case_055_both_shapes_may_be_mixed() {
    let bare = with(json!({"location": {"uri": "file:///ws/b.ts"}, "name": "Other"}));
    assert_eq!(
        names(&answered(json!([symbol("Name", 1), bare])).unwrap()),
        ["Name", "Other"]
    );
}

#[test]
fn case_056_a_null_range_is_none() {
    assert_eq!(one(with_range(Value::Null)).unwrap().range, None);
}

#[test]
fn case_057_coordinates_are_non_negative_integers() {
    let position = |line: Value| json!({"line": line, "character": 0});
    for bad in [
        json!(-1),
        json!(1.5),
        json!(2_147_483_648_u64),
        json!(1e300),
        json!("1"),
        json!(null),
    ] {
        for range in [
            json!({"start": position(bad.clone()), "end": position(json!(1))}),
            json!({"start": position(json!(1)), "end": {"line": 1, "character": bad}}),
        ] {
            let told = problem(with_range(range));
            assert_eq!(
                told,
                "entry 0 of the result: location.range must hold four non-negative integers"
            );
        }
    }
    for range in [
        json!({}),
        json!({"start": position(json!(0))}),
        json!({"start": 1, "end": 2}),
    ] {
        assert!(one(with_range(range)).is_err());
    }
    assert!(problem(with_range(json!([]))).contains("location.range must be an object"));
    let largest =
        json!({"start": position(json!(2_147_483_647)), "end": position(json!(2_147_483_647))});
    assert!(one(with_range(largest)).is_ok());
}

#[test]
fn case_058_a_whole_number_may_have_a_point() {
    let range =
        json!({"start": {"line": 1.0, "character": 0}, "end": {"line": 2, "character": 0.0}});
    assert_eq!(one(with_range(range)).unwrap().range.unwrap().start.line, 1);
}

#[test]
fn case_059_kinds_are_positive_integers_with_names() {
    for bad in [
        json!(0),
        json!(-1),
        json!("5"),
        json!(1.5),
        json!(null),
        json!([]),
    ] {
        let told = problem(with(json!({"kind": bad})));
        assert_eq!(
            told,
            "entry 0 of the result: kind must be a positive integer"
        );
    }
    let named: Vec<String> = (1..=28)
        .chain([300])
        .map(|kind| kind_name(kind).into_owned())
        .collect();
    let expected = [
        "File",
        "Module",
        "Namespace",
        "Package",
        "Class",
        "Method",
        "Property",
        "Field",
        "Constructor",
        "Enum",
        "Interface",
        "Function",
        "Variable",
        "Constant",
        "String",
        "Number",
        "Boolean",
        "Array",
        "Object",
        "Key",
        "Null",
        "EnumMember",
        "Struct",
        "Event",
        "Operator",
        "TypeParameter",
        "Unknown(27)",
        "Unknown(28)",
        "Unknown(300)",
    ];
    assert_eq!(named, expected);
    assert_eq!(one(with(json!({"kind": 300.0}))).unwrap().kind, 300);
}

#[test]
fn case_060_a_name_is_a_string_and_may_be_empty() {
    for bad in [json!(null), json!(1)] {
        assert_eq!(
            problem(with(json!({"name": bad}))),
            "entry 0 of the result: name must be a string"
        );
    }
    assert_eq!(one(with(json!({"name": ""}))).unwrap().name, "");
}

#[test]
fn case_061_a_container_is_a_string_and_left_out_when_empty() {
    for (given, kept) in [
        (json!(""), None),
        (json!(null), None),
        (json!("a.b"), Some("a.b".to_owned())),
    ] {
        assert_eq!(
            one(with(json!({"containerName": given})))
                .unwrap()
                .container_name,
            kept
        );
    }
    let told = problem(with(json!({"containerName": 7})));
    assert_eq!(
        told,
        "entry 0 of the result: containerName must be a string"
    );
}

#[test]
fn case_062_document_symbols_are_malformed() {
    let range = json!({"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}});
    let document_symbol =
        json!({"name": "A", "kind": 5, "range": range, "selectionRange": range, "children": []});
    assert_eq!(
        problem(document_symbol),
        "entry 0 of the result: location must be an object"
    );
    assert_eq!(problem(json!("A")), "entry 0 of the result: not an object");
    assert_eq!(
        problem(with(json!({"location": {}}))),
        "entry 0 of the result: location.uri must be a string"
    );
    let error = answered(json!([symbol("Good", 1), {"name": "Bad"}])).unwrap_err();
    assert!(
        error.contains("entry 1 of the result"),
        "one bad entry fails the answer: {error}"
    );
}

#[test]
fn case_063_fifty_thousand_symbols_are_counted_and_capped() {
    let entries: Vec<Value> = (0..50_000).map(|line| symbol("Name", line)).collect();
    let value = answered(json!(entries)).unwrap();
    assert_eq!(value["total"], json!(50_000));
    assert_eq!(names(&value).len(), 100);
}
