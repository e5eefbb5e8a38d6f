//! Configurations and mentions, as the published module judges them (SPEC 2 and 7).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "this is how a test fails"
)]

mod support;

use dsh_file_reference_local::config::{Config, SCHEMA};
use dsh_file_reference_local::grammar::{active_at_token, format_file_mention};
use dsh_file_reference_local::workspace::Kind;
use serde_json::{Value, json};

use support::read_json;

#[test]
fn configurations_are_accepted_and_refused_alike() {
    let mut refused = 0;
    for case in read_json("config.json").as_array().unwrap() {
        let result = Config::parse(&case["config"].to_string());
        let Some(error) = case["mount_error"].as_str() else {
            assert!(result.is_ok(), "{}: {result:?}", case["config"]);
            continue;
        };
        refused += 1;
        let text = result.expect_err(&case["config"].to_string()).to_string();
        // Where the module itself speaks its text is ours too; where a library of its host does, the key must be named.
        match case["service_error"].as_str() {
            Some(own) if own.starts_with("file-reference-local: ") => assert_eq!(text, own),
            _ => assert!(text.contains("excludedDirectories"), "{text} for {error}"),
        }
    }
    assert!(refused > 0);
}

#[test]
fn every_rule_names_its_key_and_what_is_allowed() {
    for (config, text) in [
        (
            "{",
            "file-reference-local: the configuration is not valid JSON: ",
        ),
        (
            "[]",
            "file-reference-local: the configuration must be a map or null",
        ),
        (
            r#"{"excludedDirectories":"x"}"#,
            "file-reference-local: excludedDirectories must be a list of directory basenames",
        ),
        (
            r#"{"excludedDirectories":[null]}"#,
            "file-reference-local: excludedDirectories entries must be non-empty directory basenames",
        ),
        (
            r#"{"typoTolerance":1}"#,
            "file-reference-local: typoTolerance must be true or false",
        ),
        (
            r#"{"ignoredFiles":true}"#,
            "file-reference-local: ignoredFiles must be one of \"show\", \"last\", \"hide\"",
        ),
        (
            r#"{"ignoredFiles":"Hide"}"#,
            "file-reference-local: ignoredFiles must be one of \"show\", \"last\", \"hide\"",
        ),
    ] {
        let error = Config::parse(config).unwrap_err().to_string();
        assert!(error.starts_with(text), "{config}: {error}");
    }
}

#[test]
fn null_is_as_good_as_absent() {
    let nulls = r#"{"maxResults":null,"maxEntries":null,"excludedDirectories":null,
                    "typoTolerance":null,"ignoredFiles":null}"#;
    for config in ["null", "{}", nulls] {
        assert_eq!(
            Config::parse(config).unwrap(),
            (Config::default(), Vec::new())
        );
    }
}

#[test]
fn an_integer_may_be_written_as_a_float() {
    let (config, _) = Config::parse(r#"{"maxResults":2e1,"maxEntries":7.0}"#).unwrap();
    assert_eq!((config.max_results, config.max_entries), (20, 7));
}

#[test]
fn unknown_keys_are_reported() {
    let (config, warnings) = Config::parse(r#"{"maxResult":5,"x":1}"#).unwrap();
    assert_eq!(config, Config::default());
    assert_eq!(warnings.len(), 2);
    assert!(warnings[0].contains("\"maxResult\"") && warnings[0].contains("maxResults"));
}

#[test]
fn the_schema_states_the_defaults() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let properties = schema["properties"].as_object().unwrap();
    let defaults: Value = properties
        .iter()
        .map(|(key, p)| (key.clone(), p["default"].clone()))
        .collect();
    let (config, warnings) = Config::parse(&defaults.to_string()).unwrap();
    assert_eq!(config, Config::default());
    assert!(warnings.is_empty(), "{warnings:?}");
    assert!(properties.values().all(|p| p["description"].is_string()));
}

#[test]
fn mentions_are_found_as_the_published_module_does() {
    let cases = read_json("grammar.json");
    let cases = cases["active_at_token"].as_array().unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        let cursor = case["cursor"].as_u64().unwrap() as usize;
        let token = active_at_token(case["line"].as_str().unwrap(), cursor);
        let got = token.as_ref().map_or(
            Value::Null,
            |t| json!({"prefix": t.prefix, "query": t.query, "quoted": t.quoted}),
        );
        let mut expected = case["expected"].clone();
        // The exact code units stand beside the text where that cannot hold them.
        let exact = expected.as_object_mut().and_then(|e| {
            let prefix = e.remove("prefix_utf16")?;
            Some((prefix, e.remove("query_utf16")?))
        });
        assert_eq!(got, expected, "{case}");
        if let (Some(token), Some((prefix, query))) = (token, exact) {
            assert!(token.split_surrogate.is_some(), "{case}");
            assert_eq!(
                json!(units(&token.prefix, token.split_surrogate)),
                prefix,
                "{case}"
            );
            assert_eq!(
                json!(units(&token.query, token.split_surrogate)),
                query,
                "{case}"
            );
        }
    }
}

/// The code units of a text whose last U+FFFD stands for `split`.
fn units(text: &str, split: Option<u16>) -> Vec<u16> {
    let mut units: Vec<u16> = text.encode_utf16().collect();
    if let Some(split) = split {
        assert_eq!(units.pop(), Some(0xfffd));
        units.push(split);
    }
    units
}

#[test]
fn mentions_are_written_as_the_published_module_does() {
    let cases = read_json("grammar.json");
    let cases = cases["format_mention"].as_array().unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        let kind = match case["kind"].as_str().unwrap() {
            "directory" => Kind::Directory,
            _ => Kind::File,
        };
        let preserve = case["preserve_quote"].as_bool().unwrap();
        let got = format_file_mention(case["path"].as_str().unwrap(), kind, preserve);
        assert_eq!(json!(got), case["expected"], "{case}");
    }
}
