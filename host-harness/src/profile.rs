//! Profile files: which plugins to mount, with which configuration.
//!
//! A profile is a YAML list of rows in DSH's own composition form, so that a row can be pasted from a `cordis.patch.yml`; a list of
//! `insert` operations, which is what such a patch holds, is read as well.
//!
//! ```yaml
//! - id: workspace-intelligence
//!   name: dsh-workspace-intelligence      # a bundled component, or the path of a .wasm file
//!   config: { servers: { rust: { command: rust-analyzer } } }
//!   limits: { memoryMiB: 256, spinMs: 2000 }
//! ```

use crate::limits::Limits;
use dsh_services::json::Tree;
use serde_json::{Map, Value};
use serde_saphyr::Spanned;
use std::collections::BTreeSet;
use std::time::Duration;
use thiserror::Error;

/// Largest profile, in bytes.
pub const MAX_BYTES: usize = 1 << 20;

/// One row of a profile.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileRow {
    /// Unique identifier; the name when the file gives none.
    pub id: String,
    /// Name of a bundled component, or path of a component file.
    pub name: String,
    /// The plugin's configuration; `null` when the file gives none.
    pub config: Value,
    /// Its limits.
    pub limits: Limits,
    /// Whether it is to be left out.
    pub disabled: bool,
}

/// A profile that was read, with what is odd about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// The rows in the order of the file.
    pub rows: Vec<ProfileRow>,
    /// Keys that nobody reads, one text each.
    pub warnings: Vec<String>,
}

/// What is wrong with a profile.
#[derive(Debug, Error)]
pub enum ProfileError {
    /// It is no YAML, or no list of mappings. The text shows the place.
    #[error("the profile is not a YAML list of plugin rows: {0}")]
    NotYaml(String),
    /// It is larger than a profile can sensibly be.
    #[error("the profile has {0} bytes; at most {MAX_BYTES} are read")]
    TooLarge(usize),
    /// A row is wrong.
    #[error("profile line {line}, row {row}: {reason}")]
    Row {
        /// Line of the row, from 1.
        line: u64,
        /// Its identifier in quotes, or its position when it has none.
        row: String,
        /// The key and what is wrong with it.
        reason: String,
    },
}

impl Profile {
    /// Reads a profile.
    ///
    /// # Errors
    /// See [`ProfileError`]. Nothing is taken from a profile with a wrong row.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        if text.len() > MAX_BYTES {
            return Err(ProfileError::TooLarge(text.len()));
        }
        // YAML 1.2 booleans as js-yaml reads them, and a small budget against alias bombs.
        let options = serde_saphyr::options! {
            strict_booleans: true,
            budget: serde_saphyr::budget! { max_nodes: 20_000, max_depth: 64 },
        };
        let items: Vec<Spanned<Tree>> = match serde_saphyr::from_str_with_options(text, options) {
            Ok(Some(items)) => items,
            Ok(None) => Vec::new(),
            Err(error) => return Err(ProfileError::NotYaml(error.to_string())),
        };
        let mut profile = Self::default();
        for (index, item) in items.into_iter().enumerate() {
            let place = Place {
                line: item.defined.line(),
                position: index + 1,
            };
            match item.value.0 {
                Value::Object(mut members) if members.contains_key("insert") => {
                    let rows = members.remove("insert");
                    profile.warn_unread(&place, &format!("item {}", index + 1), "", &members, &[]);
                    let Some(Value::Array(rows)) = rows else {
                        return Err(place.error("insert must be a list of rows"));
                    };
                    for row in rows {
                        profile.add(&place, row)?;
                    }
                }
                row => profile.add(&place, row)?,
            }
        }
        Ok(profile)
    }

    fn add(&mut self, place: &Place, row: Value) -> Result<(), ProfileError> {
        let Value::Object(members) = row else {
            return Err(place.error(&format!(
                "a row must be a mapping with id and name, not {}",
                kind(&row)
            )));
        };
        let text = |key: &str| match members.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text.clone())),
            Some(other) => Err(format!(
                "{key} must be a non-empty string, not {}",
                kind(other)
            )),
        };
        let id = text("id").map_err(|reason| place.error(&reason))?;
        let wrong = |reason: String| match &id {
            Some(id) => place.error_in(&format!("\"{id}\""), reason),
            None => place.error(&reason),
        };
        let name = text("name")
            .map_err(&wrong)?
            .ok_or_else(|| wrong("name is missing".into()))?;
        let disabled = match members.get("disabled") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(disabled)) => *disabled,
            Some(other) => {
                return Err(wrong(format!(
                    "disabled must be true or false, not {}",
                    kind(other)
                )));
            }
        };
        let limits = match members.get("limits") {
            None | Some(Value::Null) => Limits::default(),
            Some(Value::Object(given)) => {
                let shown = id.as_deref().unwrap_or(&name);
                self.warn_unread(
                    place,
                    shown,
                    "limits.",
                    given,
                    &LIMITS.map(|limit| limit.key),
                );
                parse_limits(given).map_err(&wrong)?
            }
            Some(other) => {
                return Err(wrong(format!(
                    "limits must be a mapping, not {}",
                    kind(other)
                )));
            }
        };
        let config = members.get("config").cloned().unwrap_or(Value::Null);
        if !config.is_null() && !config.is_object() {
            return Err(wrong(format!(
                "config must be a mapping, not {}",
                kind(&config)
            )));
        }
        let taken: BTreeSet<&str> = self.rows.iter().map(|row| row.id.as_str()).collect();
        let id = id.clone().unwrap_or_else(|| name.clone());
        if taken.contains(id.as_str()) {
            return Err(
                place.error_in(&format!("\"{id}\""), "id is taken by an earlier row".into())
            );
        }
        self.warn_unread(
            place,
            &id,
            "",
            &members,
            &["id", "name", "config", "limits", "disabled"],
        );
        self.rows.push(ProfileRow {
            id,
            name,
            config,
            limits,
            disabled,
        });
        Ok(())
    }

    fn warn_unread(
        &mut self,
        place: &Place,
        row: &str,
        prefix: &str,
        members: &Map<String, Value>,
        read: &[&str],
    ) {
        for key in members.keys().filter(|key| !read.contains(&key.as_str())) {
            let allowed = read.join(", ");
            self.warnings.push(format!(
                "profile line {}, row \"{row}\": unknown key {prefix}{key} (known: {allowed})",
                place.line
            ));
        }
    }
}

/// Where a row stands.
struct Place {
    line: u64,
    position: usize,
}

impl Place {
    fn error(&self, reason: &str) -> ProfileError {
        self.error_in(&format!("{}", self.position), reason.into())
    }

    fn error_in(&self, row: &str, reason: String) -> ProfileError {
        ProfileError::Row {
            line: self.line,
            row: row.into(),
            reason,
        }
    }
}

/// One key under `limits`.
#[derive(Clone, Copy)]
struct Limit {
    key: &'static str,
    min: u64,
    max: u64,
    set: fn(&mut Limits, u64),
}

/// Largest timer that DSH knows, in milliseconds.
const MAX_TIMER: u64 = 2_147_483_647;

fn duration(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn mebibytes(count: u64) -> usize {
    usize::try_from(count << 20).unwrap_or(usize::MAX)
}

const LIMITS: [Limit; 7] = [
    Limit {
        key: "memoryMiB",
        min: 1,
        max: 4095,
        set: |limits, n| limits.memory = mebibytes(n),
    },
    Limit {
        key: "messageMiB",
        min: 1,
        max: 4095,
        set: |limits, n| limits.message = mebibytes(n),
    },
    Limit {
        key: "spinMs",
        min: 10,
        max: MAX_TIMER,
        set: |limits, n| limits.spin = duration(n),
    },
    Limit {
        key: "abortGraceMs",
        min: 1,
        max: MAX_TIMER,
        set: |limits, n| limits.abort_grace = duration(n),
    },
    Limit {
        key: "applyMs",
        min: 1,
        max: MAX_TIMER,
        set: |limits, n| limits.apply = duration(n),
    },
    Limit {
        key: "disposeMs",
        min: 1,
        max: MAX_TIMER,
        set: |limits, n| limits.dispose = duration(n),
    },
    Limit {
        key: "concurrentCalls",
        min: 1,
        max: 10_000,
        set: |limits, n| limits.concurrent_calls = usize::try_from(n).unwrap_or(usize::MAX),
    },
];

fn parse_limits(given: &Map<String, Value>) -> Result<Limits, String> {
    let mut limits = Limits::default();
    for limit in LIMITS {
        let Some(value) = given.get(limit.key).filter(|value| !value.is_null()) else {
            continue;
        };
        let number = value
            .as_u64()
            .filter(|number| (limit.min..=limit.max).contains(number));
        let Some(number) = number else {
            return Err(format!(
                "limits.{} must be an integer from {} to {}, not {value}",
                limit.key, limit.min, limit.max
            ));
        };
        (limit.set)(&mut limits, number);
    }
    Ok(limits)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(text) if text.trim().is_empty() => "an empty string",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

/// The profile that is used when none is given: completion and history. Symbol search waits until a language server is configured.
pub fn default_profile() -> Profile {
    let row = |id: &str, name: &str| ProfileRow {
        id: id.into(),
        name: name.into(),
        config: Value::Null,
        limits: Limits::default(),
        disabled: false,
    };
    Profile {
        rows: vec![
            row("file-reference-local", "dsh-file-reference-local"),
            row("context-proxy", "dsh-context-proxy"),
            ProfileRow {
                disabled: true,
                ..row("workspace-intelligence", "dsh-workspace-intelligence")
            },
        ],
        warnings: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Profile::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_full_row_is_read() {
        let text = "- id: a\n  name: dsh-context-proxy\n  disabled: true\n  config: { x: [1, yes, on] }\n  limits: { memoryMiB: 8, spinMs: 50 }\n";
        let profile = Profile::parse(text).unwrap();
        let row = &profile.rows[0];
        assert_eq!(
            (row.id.as_str(), row.name.as_str(), row.disabled),
            ("a", "dsh-context-proxy", true)
        );
        assert_eq!(row.config, serde_json::json!({"x": [1, "yes", "on"]}));
        assert_eq!(
            (row.limits.memory, row.limits.spin),
            (8 << 20, Duration::from_millis(50))
        );
        assert_eq!(profile.warnings, Vec::<String>::new());
    }

    #[test]
    fn the_insert_form_of_a_patch_is_read() {
        let profile =
            Profile::parse("- insert:\n  - { id: a, name: x }\n  - { name: y }\n- name: z\n")
                .unwrap();
        let rows: Vec<_> = profile
            .rows
            .iter()
            .map(|row| (row.id.as_str(), row.name.as_str()))
            .collect();
        assert_eq!(rows, [("a", "x"), ("y", "y"), ("z", "z")]);
    }

    #[test]
    fn an_empty_profile_mounts_nothing() {
        assert_eq!(Profile::parse("").unwrap(), Profile::default());
        assert_eq!(Profile::parse("[]").unwrap(), Profile::default());
    }

    #[test]
    fn each_wrong_row_is_named_with_line_and_key() {
        let cases = [
            (
                "- id: a\n- id: b\n",
                "profile line 1, row \"a\": name is missing",
            ),
            (
                "- name: x\n- config: {}\n",
                "profile line 2, row 2: name is missing",
            ),
            (
                "- just text\n",
                "profile line 1, row 1: a row must be a mapping with id and name, not a string",
            ),
            (
                "- { id: a, name: '' }",
                "profile line 1, row \"a\": name must be a non-empty string, not an empty string",
            ),
            (
                "- { id: 5, name: x }",
                "profile line 1, row 1: id must be a non-empty string, not a number",
            ),
            (
                "- { id: a, name: x, config: [] }",
                "profile line 1, row \"a\": config must be a mapping, not a list",
            ),
            (
                "- { id: a, name: x, disabled: 'no' }",
                "profile line 1, row \"a\": disabled must be true or false, not a string",
            ),
            (
                "- { id: a, name: x, limits: 3 }",
                "profile line 1, row \"a\": limits must be a mapping, not a number",
            ),
            (
                "- { id: a, name: x, limits: { spinMs: 0 } }",
                "profile line 1, row \"a\": limits.spinMs must be an integer from 10 to 2147483647, not 0",
            ),
            (
                "- { id: a, name: x, limits: { memoryMiB: 1.5 } }",
                "profile line 1, row \"a\": limits.memoryMiB must be an integer from 1 to 4095, not 1.5",
            ),
            (
                "- { id: a, name: x }\n\n- { id: a, name: y }",
                "profile line 3, row \"a\": id is taken by an earlier row",
            ),
            (
                "- insert: 3",
                "profile line 1, row 1: insert must be a list of rows",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(error(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_yaml_list_is_refused_with_the_place() {
        for text in ["{ a: [", "a: b", "- a\n b: : c", "\0"] {
            let message = error(text);
            assert!(
                message.starts_with("the profile is not a YAML list of plugin rows: "),
                "{text:?}: {message}"
            );
        }
        assert!(error(&" ".repeat(MAX_BYTES + 1)).contains("at most 1048576"));
    }

    #[test]
    fn an_alias_bomb_is_stopped_by_the_budget() {
        let mut text = String::from("- &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..12 {
            let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
            text.push_str(&format!("- &a{level} [{aliases}]\n"));
        }
        assert!(error(&text).starts_with("the profile is not a YAML list"));
    }

    #[test]
    fn no_key_of_a_configuration_is_special() {
        for (member, expected) in [
            ("5", 5.into()),
            ("'5'", "5".into()),
            ("{}", Value::Object(Map::new())),
        ] {
            let text = format!(
                "- {{ name: x, config: {{ a: {{ $serde_json::private::RawValue: {member} }} }} }}"
            );
            let profile = Profile::parse(&text).unwrap();
            let read = &profile.rows[0].config["a"]["$serde_json::private::RawValue"];
            assert_eq!(*read, expected, "{text}");
        }
    }

    #[test]
    fn unknown_keys_warn() {
        let profile = Profile::parse("- { name: x, confg: {}, limits: { memory: 3 } }").unwrap();
        assert_eq!(profile.warnings.len(), 2);
        assert!(
            profile.warnings[0].contains("unknown key limits.memory"),
            "{:?}",
            profile.warnings
        );
        assert!(
            profile.warnings[1].contains("unknown key confg"),
            "{:?}",
            profile.warnings
        );
    }
}
