//! The deployer's configuration (SPEC 4). The texts of the errors are part of the interface.

use crate::glob::{Pattern, PatternError};
use dsh_guest_support::{js_space, utf16};
use serde_json::{Map, Value};

/// What every load error begins with.
pub const PREFIX: &str = "workspace-intelligence: ";

/// The JSON Schema of the configuration, with defaults.
pub const SCHEMA: &str = include_str!("config.schema.json");

/// The largest delay that JavaScript's timers take, in milliseconds.
const MAX_TIMER_MS: u64 = 2_147_483_647;
/// Integers above this are not exact in JavaScript.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;
/// An envelope without any symbol always fits into this many characters.
const MIN_RESULT_CHARS: u64 = 256;

/// Why a configuration is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The configuration as a whole is no object.
    #[error("{PREFIX}config must be an object")]
    NotAnObject,
    /// `servers` is of another type.
    #[error("{PREFIX}servers must be an object that maps server ids to servers")]
    ServersNotAnObject,
    /// `servers` is missing or empty.
    #[error("{PREFIX}servers must contain at least one server")]
    NoServers,
    /// An id without a visible character.
    #[error("{PREFIX}server ids must be non-empty strings")]
    BlankId,
    /// A value breaks its rule.
    #[error("{PREFIX}{path} {rule}")]
    Value {
        /// Such as `servers.rust.args[0]`.
        path: String,
        /// Such as `must be a string`.
        rule: String,
    },
}

/// The whole configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// By id, in ascending order of UTF-16 code units; never empty.
    pub servers: Vec<ServerConfig>,
    /// Most symbols in an answer.
    pub max_results: usize,
    /// Most UTF-16 code units that the model reads.
    pub max_result_chars: usize,
    /// For the host's timeout policy, in milliseconds; the plugin has no deadline of its own.
    pub timeout_ms: u32,
}

/// One language server.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerConfig {
    /// Its key in `servers`.
    pub id: String,
    /// An absolute path, or a name to be looked up.
    pub command: String,
    /// Passed verbatim.
    pub args: Vec<String>,
    /// Added to the environment.
    pub env: Vec<(String, String)>,
    /// `null` for none.
    pub initialization_options: Value,
    /// The answer to every item of `workspace/configuration`.
    pub configuration: Value,
    /// Most bytes of one message from the server.
    pub max_message_bytes: usize,
    /// How much of standard error is kept, in bytes.
    pub max_stderr_bytes: u64,
    /// How long the server has for `shutdown` and `exit` together, in milliseconds.
    pub shutdown_timeout_ms: u32,
    /// How long it has after being asked to cancel, or to end, in milliseconds.
    pub kill_grace_ms: u32,
    /// The longest warm-up, in milliseconds; 0 for none.
    pub warmup_ms: u32,
    /// What to open after the handshake: the text and its meaning.
    pub open_files: Vec<(String, Pattern)>,
}

impl Config {
    /// Reads a configuration. `null` counts as absent, at every place.
    pub fn parse(config: &Value) -> Result<Self, ConfigError> {
        let root = match config {
            Value::Null => &Map::new(),
            Value::Object(root) => root,
            _ => return Err(ConfigError::NotAnObject),
        };
        let servers = match present(root, "servers") {
            None => return Err(ConfigError::NoServers),
            Some(Value::Object(servers)) if servers.is_empty() => {
                return Err(ConfigError::NoServers);
            }
            Some(Value::Object(servers)) => servers,
            Some(_) => return Err(ConfigError::ServersNotAnObject),
        };
        if servers.keys().any(|id| js_space::trim(id).is_empty()) {
            return Err(ConfigError::BlankId);
        }
        let section = Section {
            path: "",
            values: root,
        };
        let mut parsed = Vec::with_capacity(servers.len());
        for (id, server) in servers {
            let server = server_config(id, server)?;
            let at =
                parsed.partition_point(|other: &ServerConfig| utf16::cmp(&other.id, id).is_lt());
            parsed.insert(at, server);
        }
        Ok(Self {
            servers: parsed,
            max_results: section.size("maxResults", 100, 1, "must be a positive integer")?,
            max_result_chars: section.size(
                "maxResultChars",
                16_000,
                MIN_RESULT_CHARS,
                "must be an integer no less than 256",
            )?,
            timeout_ms: section.milliseconds("timeoutMs", 60_000)?,
        })
    }
}

/// Keys that mean nothing, whether or not the rest is right: a misspelt key is often why something else is missing.
pub fn unknown_keys(config: &Value) -> Vec<String> {
    let Value::Object(root) = config else {
        return Vec::new();
    };
    let mut unknown = Section {
        path: "",
        values: root,
    }
    .unknown_keys(&KEYS);
    let servers = root.get("servers").and_then(Value::as_object);
    for (id, server) in servers.into_iter().flatten() {
        if let Value::Object(values) = server {
            let path = &format!("servers.{id}");
            unknown.extend(Section { path, values }.unknown_keys(&SERVER_KEYS));
        }
    }
    unknown
}

const KEYS: [&str; 4] = ["servers", "maxResults", "maxResultChars", "timeoutMs"];

const SERVER_KEYS: [&str; 11] = [
    "command",
    "args",
    "env",
    "initializationOptions",
    "configuration",
    "maxMessageBytes",
    "maxStderrBytes",
    "shutdownTimeoutMs",
    "killGraceMs",
    "warmupMs",
    "openFiles",
];

fn server_config(id: &str, server: &Value) -> Result<ServerConfig, ConfigError> {
    let path = format!("servers.{id}");
    let Value::Object(values) = server else {
        return Err(invalid(path, "must be an object"));
    };
    let section = Section {
        path: &path,
        values,
    };
    Ok(ServerConfig {
        id: id.to_owned(),
        command: section.command()?,
        args: section.strings("args")?,
        env: section.env()?,
        initialization_options: values
            .get("initializationOptions")
            .cloned()
            .unwrap_or_default(),
        configuration: values.get("configuration").cloned().unwrap_or_default(),
        max_message_bytes: section.size(
            "maxMessageBytes",
            16_000_000,
            1,
            "must be a positive integer",
        )?,
        max_stderr_bytes: section.integer(
            "maxStderrBytes",
            1_000_000,
            1..=MAX_SAFE_INTEGER,
            "must be a positive integer",
        )?,
        shutdown_timeout_ms: section.milliseconds("shutdownTimeoutMs", 5_000)?,
        kill_grace_ms: section.milliseconds("killGraceMs", 2_000)?,
        warmup_ms: section.timer(
            "warmupMs",
            12_000,
            0,
            "must be an integer from 0 to 2147483647",
        )?,
        open_files: section.open_files()?,
    })
}

/// One object of the configuration, and where it stands.
struct Section<'a> {
    path: &'a str,
    values: &'a Map<String, Value>,
}

impl Section<'_> {
    fn name(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    fn invalid(&self, key: &str, rule: impl Into<String>) -> ConfigError {
        invalid(self.name(key), rule)
    }

    fn unknown_keys(&self, known: &[&str]) -> Vec<String> {
        self.values
            .keys()
            .filter(|key| !known.contains(&key.as_str()))
            .map(|key| self.name(key))
            .collect()
    }

    fn command(&self) -> Result<String, ConfigError> {
        match present(self.values, "command") {
            Some(Value::String(command)) if command.contains('\0') => {
                Err(self.invalid("command", "must not contain NUL"))
            }
            Some(Value::String(command)) if !js_space::trim(command).is_empty() => {
                Ok(command.clone())
            }
            _ => Err(self.invalid("command", "must be a non-empty string")),
        }
    }

    fn strings(&self, key: &str) -> Result<Vec<String>, ConfigError> {
        let list = match present(self.values, key) {
            None => return Ok(Vec::new()),
            Some(Value::Array(list)) => list,
            Some(_) => return Err(self.invalid(key, "must be a list of strings")),
        };
        let string = |(index, item): (usize, &Value)| match item {
            Value::String(text) if text.contains('\0') => {
                Err(self.invalid(&format!("{key}[{index}]"), "must not contain NUL"))
            }
            Value::String(text) => Ok(text.clone()),
            _ => Err(self.invalid(&format!("{key}[{index}]"), "must be a string")),
        };
        list.iter().enumerate().map(string).collect()
    }

    fn env(&self) -> Result<Vec<(String, String)>, ConfigError> {
        let entries = match present(self.values, "env") {
            None => return Ok(Vec::new()),
            Some(Value::Object(entries)) => entries,
            Some(_) => {
                return Err(self.invalid("env", "must be an object that maps names to strings"));
            }
        };
        let entry = |(name, value): (&String, &Value)| {
            let key = format!("env.{name}");
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(self.invalid(
                    &key,
                    "is not a name: it must be non-empty and must not contain \"=\" or NUL",
                ));
            }
            match value {
                Value::String(text) if text.contains('\0') => {
                    Err(self.invalid(&key, "must not contain NUL"))
                }
                Value::String(text) => Ok((name.clone(), text.clone())),
                _ => Err(self.invalid(&key, "must be a string")),
            }
        };
        entries.iter().map(entry).collect()
    }

    fn open_files(&self) -> Result<Vec<(String, Pattern)>, ConfigError> {
        let parse = |(index, text): (usize, String)| match Pattern::parse(&text) {
            Ok(pattern) => Ok((text, pattern)),
            Err(error) => Err(self.pattern_error(index, error)),
        };
        self.strings("openFiles")?
            .into_iter()
            .enumerate()
            .map(parse)
            .collect()
    }

    fn pattern_error(&self, index: usize, error: PatternError) -> ConfigError {
        self.invalid(&format!("openFiles[{index}]"), error.to_string())
    }

    fn milliseconds(&self, key: &str, default: u32) -> Result<u32, ConfigError> {
        self.timer(
            key,
            default,
            1,
            "must be a positive integer no greater than 2147483647",
        )
    }

    fn timer(&self, key: &str, default: u32, least: u64, rule: &str) -> Result<u32, ConfigError> {
        let number = self.integer(key, u64::from(default), least..=MAX_TIMER_MS, rule)?;
        u32::try_from(number).map_err(|_| self.invalid(key, rule))
    }

    /// An amount of memory or of things. What is beyond the address space is no limit at all, so it becomes the largest one.
    fn size(&self, key: &str, default: u64, least: u64, rule: &str) -> Result<usize, ConfigError> {
        let number = self.integer(key, default, least..=MAX_SAFE_INTEGER, rule)?;
        Ok(usize::try_from(number).unwrap_or(usize::MAX))
    }

    fn integer(
        &self,
        key: &str,
        default: u64,
        allowed: std::ops::RangeInclusive<u64>,
        rule: &str,
    ) -> Result<u64, ConfigError> {
        let Some(value) = present(self.values, key) else {
            return Ok(default);
        };
        value
            .as_f64()
            .filter(|number| number.fract() == 0.0 && *number >= 0.0)
            // Saturates for what is larger than any bound.
            .map(|number| number as u64)
            .filter(|number| allowed.contains(number))
            .ok_or_else(|| self.invalid(key, rule))
    }
}

/// The value of a key; `null` counts as absent, as it does in the harness.
fn present<'a>(values: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    values.get(key).filter(|value| !value.is_null())
}

fn invalid(path: impl Into<String>, rule: impl Into<String>) -> ConfigError {
    ConfigError::Value {
        path: path.into(),
        rule: rule.into(),
    }
}
