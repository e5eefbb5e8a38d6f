//! SPEC 20, cases 74 to 77, and SPEC 13: the answer as value and as text.

use crate::ranking::{any_symbol, bare, merged_of, merged_with};
use crate::support::*;
use dsh_guest_support::utf16;
use dsh_workspace_intelligence::merge::Merged;
use dsh_workspace_intelligence::render::{ProviderCounts, render};
use dsh_workspace_intelligence::symbol::Symbol;
use proptest::prelude::*;
use serde_json::{Value, json};

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
    let answer = json!([symbol("x", 1)]).to_string();
    let symbols = dsh_workspace_intelligence::normalise::symbols(Some(&answer)).unwrap();
    with_range.range = symbols.unwrap()[0].range;
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

proptest! {
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
