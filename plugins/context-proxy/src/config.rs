//! The plugin's configuration: its keys, their bounds, their defaults (SPEC 2).

use serde_json::Value;

/// The most raw events that `context_slice` shows before and after its target.
pub const MAX_WINDOW: u32 = 50;
/// The largest integer that a JavaScript number holds exactly.
pub const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;
const MAX_GRACE_MS: u32 = 2_147_483_647;

/// A checked configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// How many raw events `context_slice` shows before and after its target when the call does not say, 0 to 50.
    pub read_window_default: u32,
    /// How many bytes of one run of ripgrep are read.
    pub grep_max_bytes: u64,
    /// Milliseconds between asking ripgrep to end and killing it.
    pub rg_grace_ms: u32,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            read_window_default: 0,
            grep_max_bytes: 1_048_576,
            rg_grace_ms: 5_000,
        }
    }
}

/// Why a configuration was refused. The plugin is not mounted then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The text is no JSON.
    #[error("context-proxy: the configuration is not valid JSON: {0}")]
    Syntax(String),
    /// The configuration is neither an object nor `null`.
    #[error("context-proxy: the configuration must be an object")]
    NoObject,
    /// One key holds what it must not.
    #[error("context-proxy: {key} must be {allowed}")]
    Value {
        /// The key.
        key: &'static str,
        /// What is allowed.
        allowed: String,
    },
}

impl ConfigError {
    /// Class name for `error.info.name`.
    pub const NAME: &'static str = "ContextProxyConfigError";
    /// Code for `error.info.code`.
    pub const CODE: &'static str = "CONTEXT_PROXY_INVALID_CONFIG";
}

/// A configuration and what deserves a warning about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// The checked configuration.
    pub config: Config,
    /// Keys that mean nothing to this plugin.
    pub unknown_keys: Vec<String>,
}

impl Config {
    /// Reads a configuration from JSON; `null` stands for the defaults.
    pub fn load(text: &str) -> Result<Loaded, ConfigError> {
        let value = dsh_guest_support::js_json::parse(text.as_bytes())
            .map_err(|error| ConfigError::Syntax(error.to_string()))?;
        let object = match value {
            Value::Null => serde_json::Map::new(),
            Value::Object(object) => object,
            _ => return Err(ConfigError::NoObject),
        };
        let mut loaded = Loaded {
            config: Config::default(),
            unknown_keys: Vec::new(),
        };
        for (key, value) in &object {
            match key.as_str() {
                "readWindowDefault" => {
                    loaded.config.read_window_default =
                        bounded("readWindowDefault", value, 0, MAX_WINDOW)?;
                }
                "grepMaxBytes" => {
                    loaded.config.grep_max_bytes = positive_safe("grepMaxBytes", value)?;
                }
                "rgGraceMs" => {
                    loaded.config.rg_grace_ms = bounded("rgGraceMs", value, 1, MAX_GRACE_MS)?;
                }
                // The host looks there when it grants the program; nothing here depends on it.
                "rgPath" => absolute_path("rgPath", value)?,
                _ => loaded.unknown_keys.push(key.clone()),
            }
        }
        Ok(loaded)
    }

    /// JSON Schema of the configuration, for the host's manifest.
    pub const SCHEMA: &'static str = include_str!("../schemas/config.json");
}

fn bounded(key: &'static str, value: &Value, low: u32, high: u32) -> Result<u32, ConfigError> {
    integer(value)
        .and_then(|number| u32::try_from(number).ok())
        .filter(|number| (low..=high).contains(number))
        .ok_or_else(|| ConfigError::Value {
            key,
            allowed: format!("an integer between {low} and {high}"),
        })
}

fn positive_safe(key: &'static str, value: &Value) -> Result<u64, ConfigError> {
    integer(value)
        .filter(|number| *number > 0)
        .ok_or_else(|| ConfigError::Value {
            key,
            allowed: "a positive safe integer".to_owned(),
        })
}

/// A component cannot tell which system its host runs on, so the forms of all of them are absolute.
fn absolute_path(key: &'static str, value: &Value) -> Result<(), ConfigError> {
    let is_absolute = |path: &str| {
        let drive = path.as_bytes();
        path.starts_with('/')
            || path.starts_with("\\\\")
            || matches!(drive, [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic())
    };
    match value.as_str() {
        Some(path) if is_absolute(path) && !path.contains('\0') => Ok(()),
        _ => Err(ConfigError::Value {
            key,
            allowed: "an absolute path".to_owned(),
        }),
    }
}

/// A non-negative safe integer as JavaScript sees one: `2.0` counts.
fn integer(value: &Value) -> Option<u64> {
    crate::arguments::safe_integer(value.as_f64()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Config::load(text).unwrap_err().to_string()
    }

    #[test]
    fn nothing_given_means_the_defaults() {
        for text in ["null", "{}"] {
            let loaded = Config::load(text).unwrap();
            assert_eq!(loaded.config, Config::default());
            assert!(loaded.unknown_keys.is_empty());
        }
    }

    #[test]
    fn the_bounds_themselves_are_accepted() {
        let low =
            Config::load(r#"{"readWindowDefault":0,"grepMaxBytes":1,"rgGraceMs":1}"#).unwrap();
        assert_eq!((low.config.grep_max_bytes, low.config.rg_grace_ms), (1, 1));
        let high = Config::load(
            r#"{"readWindowDefault":50.0,"grepMaxBytes":9007199254740991,"rgGraceMs":2147483647}"#,
        )
        .unwrap();
        assert_eq!(high.config.read_window_default, 50);
        assert_eq!(high.config.grep_max_bytes, MAX_SAFE_INTEGER);
        assert_eq!(high.config.rg_grace_ms, MAX_GRACE_MS);
    }

    #[test]
    fn values_out_of_bounds_are_refused_by_key() {
        for bad in ["-1", "51", "0.5", "\"1\"", "null", "true", "[]"] {
            assert_eq!(
                refused(&format!("{{\"readWindowDefault\":{bad}}}")),
                "context-proxy: readWindowDefault must be an integer between 0 and 50"
            );
        }
        for bad in ["0", "-1", "1.5", "9007199254740992", "\"1\"", "null"] {
            assert_eq!(
                refused(&format!("{{\"grepMaxBytes\":{bad}}}")),
                "context-proxy: grepMaxBytes must be a positive safe integer"
            );
        }
        for bad in [
            "\"\"",
            "\"rg\"",
            "\"bin/rg\"",
            "\"C:rg\"",
            "\"/x\\u0000\"",
            "5",
            "null",
        ] {
            assert_eq!(
                refused(&format!("{{\"rgPath\":{bad}}}")),
                "context-proxy: rgPath must be an absolute path"
            );
        }
        for good in [
            "/usr/bin/rg",
            "C:/rg.exe",
            r"C:\\rg.exe",
            r"\\\\server\\rg.exe",
        ] {
            let loaded = Config::load(&format!("{{\"rgPath\":\"{good}\"}}")).unwrap();
            assert!(loaded.unknown_keys.is_empty(), "{good}");
        }
        for bad in ["0", "2147483648", "1.5", "null"] {
            assert_eq!(
                refused(&format!("{{\"rgGraceMs\":{bad}}}")),
                "context-proxy: rgGraceMs must be an integer between 1 and 2147483647"
            );
        }
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for bad in ["[]", "5", "\"x\"", "true"] {
            assert_eq!(
                refused(bad),
                "context-proxy: the configuration must be an object"
            );
        }
        assert!(refused("{").starts_with("context-proxy: the configuration is not valid JSON: "));
    }

    #[test]
    fn unknown_keys_are_reported_and_do_no_harm() {
        let loaded = Config::load(r#"{"grepMaxByte":5,"rgGraceMs":7}"#).unwrap();
        assert_eq!(loaded.unknown_keys, ["grepMaxByte"]);
        assert_eq!(loaded.config.rg_grace_ms, 7);
    }

    #[test]
    fn the_schema_tells_the_keys_bounds_and_defaults_that_the_code_applies() {
        let schema: Value = serde_json::from_str(Config::SCHEMA).unwrap();
        let properties = schema["properties"].as_object().unwrap();
        assert_eq!(properties.len(), 4);
        assert_eq!(properties["rgPath"]["type"], "string");
        let load = |key: &str, value: i128| Config::load(&format!("{{\"{key}\":{value}}}"));
        for (key, property) in properties.iter().filter(|(key, _)| *key != "rgPath") {
            let bound = |name: &str| i128::from(property[name].as_i64().unwrap());
            let loaded = load(key, bound("default")).unwrap();
            assert_eq!(loaded.config, Config::default(), "{key}");
            assert!(loaded.unknown_keys.is_empty(), "{key}");
            assert!(load(key, bound("minimum")).is_ok(), "{key}");
            assert!(load(key, bound("minimum") - 1).is_err(), "{key}");
            assert!(load(key, bound("maximum")).is_ok(), "{key}");
            assert!(load(key, bound("maximum") + 1).is_err(), "{key}");
        }
    }
}
