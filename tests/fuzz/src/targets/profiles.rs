//! Profile files.

use crate::profile::Profile;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A profile is read in a bounded way or refused with a reason; what is read has names, unique ids and limits in their bounds, and means the
/// same when it is written down again.
pub fn profile(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let profile = match Profile::parse(&text) {
        Ok(profile) => profile,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let ids: BTreeSet<&str> = profile.rows.iter().map(|row| &*row.id).collect();
    assert_eq!(ids.len(), profile.rows.len(), "ids are unique");
    let mut again = Vec::new();
    for row in &profile.rows {
        assert!(!row.name.trim().is_empty() && !row.id.trim().is_empty());
        assert!(row.config.is_null() || row.config.is_object());
        let limits = &row.limits;
        assert!((1 << 20..=4095 << 20).contains(&limits.memory));
        assert!((1 << 20..=4095 << 20).contains(&limits.message));
        assert!((1..=10_000).contains(&limits.concurrent_calls));
        let mut written = json!({
            "spinMs": limits.spin.as_millis() as u64,
            "abortGraceMs": limits.abort_grace.as_millis() as u64,
            "applyMs": limits.apply.as_millis() as u64,
            "disposeMs": limits.dispose.as_millis() as u64,
            "concurrentCalls": limits.concurrent_calls,
        });
        for timer in written.as_object().unwrap().values() {
            assert!((1..=2_147_483_647).contains(&timer.as_u64().unwrap()));
        }
        written["memoryMiB"] = (limits.memory >> 20).into();
        written["messageMiB"] = (limits.message >> 20).into();
        let mut members =
            json!({"id": row.id, "name": row.name, "disabled": row.disabled, "limits": written});
        if !row.config.is_null() {
            members["config"] = row.config.clone();
        }
        again.push(members);
    }
    let again = as_yaml(&Value::Array(again));
    let reread = Profile::parse(&again).unwrap_or_else(|error| panic!("{error}: {again}"));
    assert_eq!(reread.rows, profile.rows);
    assert_eq!(reread.warnings, Vec::<String>::new());
}

/// JSON is YAML, but for characters that YAML wants escaped.
fn as_yaml(value: &Value) -> String {
    let mut text = String::new();
    for c in value.to_string().chars() {
        match c {
            '\u{7f}'..='\u{9f}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                text += &format!("\\u{:04x}", u32::from(c));
            }
            c => text.push(c),
        }
    }
    text
}
