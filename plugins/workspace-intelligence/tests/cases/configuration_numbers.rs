//! SPEC 20, cases 131 and 132: the bounds of numbers.

use crate::configuration::{error, server_error};
use crate::support::*;
use dsh_workspace_intelligence::config::Config;
use serde_json::{Value, json};

#[test]
fn case_131_numbers_have_bounds() {
    let bad = [
        json!(0),
        json!(-1),
        json!(1.5),
        json!("5"),
        json!(1e300),
        json!(true),
        json!([1]),
    ];
    let timer = "must be a positive integer no greater than 2147483647";
    let positive = "must be a positive integer";
    for (key, rule) in [
        ("shutdownTimeoutMs", timer),
        ("killGraceMs", timer),
        ("maxMessageBytes", positive),
        ("maxStderrBytes", positive),
    ] {
        for value in &bad {
            let text = format!("workspace-intelligence: servers.a.{key} {rule}");
            assert_eq!(server_error(json!({key: value})), text);
        }
    }
    for (key, rule) in [("maxResults", positive), ("timeoutMs", timer)] {
        for value in &bad {
            let mut config = servers(&["a"]);
            config[key] = value.clone();
            assert_eq!(
                error(config),
                format!("workspace-intelligence: {key} {rule}")
            );
        }
    }
    for key in ["shutdownTimeoutMs", "killGraceMs"] {
        assert!(server_error(json!({key: 2_147_483_648_u64})).ends_with(timer));
    }
    let mut config = servers(&["a"]);
    config["servers"]["a"]["killGraceMs"] = json!(2_147_483_647);
    config["servers"]["a"]["maxMessageBytes"] = json!(4_000_000_000_u64);
    config["timeoutMs"] = json!(2_147_483_647.0);
    let parsed = Config::parse(&config).unwrap();
    assert_eq!(
        (parsed.servers[0].kill_grace_ms, parsed.timeout_ms),
        (2_147_483_647, 2_147_483_647)
    );
    let warmup =
        "workspace-intelligence: servers.a.warmupMs must be an integer from 0 to 2147483647";
    for value in [json!(-1), json!(0.5), json!("0"), json!(2_147_483_648_u64)] {
        assert_eq!(server_error(json!({"warmupMs": value})), warmup);
    }
}

#[test]
fn case_132_the_text_has_room_for_its_envelope() {
    let with = |chars: Value| {
        let mut config = servers(&["a"]);
        config["maxResultChars"] = chars;
        Config::parse(&config)
    };
    let text = "workspace-intelligence: maxResultChars must be an integer no less than 256";
    for bad in [
        json!(255),
        json!(0),
        json!(-256),
        json!(256.5),
        json!("256"),
    ] {
        assert_eq!(with(bad).unwrap_err().to_string(), text);
    }
    assert_eq!(with(json!(256)).unwrap().max_result_chars, 256);
}
