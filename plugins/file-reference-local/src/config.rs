//! The configuration and its rules (SPEC 2).

use dsh_guest_support::js_json::{self, ParseError};
use serde_json::{Map, Value};
use thiserror::Error;

/// JSON Schema of the configuration, with defaults and descriptions.
pub const SCHEMA: &str = include_str!("config.schema.json");

/// The largest integer that a JavaScript number holds exactly.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

const KEYS: [&str; 5] = [
    "maxResults",
    "maxEntries",
    "excludedDirectories",
    "typoTolerance",
    "ignoredFiles",
];

/// What happens to entries that ignore files exclude.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IgnoredFiles {
    /// Ignore files are not looked at.
    Show,
    /// Excluded entries are ranked after all others.
    Last,
    /// Excluded entries do not exist for the plugin.
    Hide,
}

/// A checked configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Most candidates that one query returns, at least 1.
    pub max_results: u64,
    /// Most entries that one index holds, at least 1.
    pub max_entries: u64,
    /// Names of directories that are neither offered nor entered.
    pub excluded_directories: Vec<String>,
    /// Whether near misses are returned where nothing matches.
    pub typo_tolerance: bool,
    /// What happens to entries that ignore files exclude.
    pub ignored_files: IgnoredFiles,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_results: 20,
            max_entries: 10_000,
            excluded_directories: vec![".git".to_owned(), "node_modules".to_owned()],
            typo_tolerance: false,
            ignored_files: IgnoredFiles::Show,
        }
    }
}

/// Why a configuration is refused. The texts name the plugin, because they end up in a list of many plugins' failures.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The text is no JSON.
    #[error("file-reference-local: the configuration is not valid JSON: {0}")]
    Json(#[from] ParseError),
    /// The JSON is neither a map nor null.
    #[error("file-reference-local: the configuration must be a map or null")]
    NotAMap,
    /// A bound is no integer from 1 to 2^53-1.
    #[error("file-reference-local: {0} must be a positive safe integer")]
    Bound(&'static str),
    /// The exclusions are no list.
    #[error("file-reference-local: excludedDirectories must be a list of directory basenames")]
    ExclusionsNotAList,
    /// An exclusion cannot be the name of a directory.
    #[error(
        "file-reference-local: excludedDirectories entries must be non-empty directory basenames"
    )]
    Exclusion,
    /// A switch is neither true nor false.
    #[error("file-reference-local: {0} must be true or false")]
    Switch(&'static str),
    /// The treatment of ignored files is unknown.
    #[error("file-reference-local: ignoredFiles must be one of \"show\", \"last\", \"hide\"")]
    IgnoredFiles,
}

impl Config {
    /// Reads a configuration from JSON text. The second value holds a warning for each key that means nothing.
    ///
    /// # Errors
    /// The first rule that is broken, in the order of the keys in SPEC 2.
    pub fn parse(json: &str) -> Result<(Self, Vec<String>), ConfigError> {
        let map = match js_json::parse(json.as_bytes())? {
            Value::Null => Map::new(),
            Value::Object(map) => map,
            _ => return Err(ConfigError::NotAMap),
        };
        let default = Self::default();
        let config = Self {
            max_results: bound(&map, "maxResults", default.max_results)?,
            max_entries: bound(&map, "maxEntries", default.max_entries)?,
            excluded_directories: exclusions(&map, default.excluded_directories)?,
            typo_tolerance: switch(&map, "typoTolerance", default.typo_tolerance)?,
            ignored_files: ignored_files(&map, default.ignored_files)?,
        };
        let warnings = map
            .keys()
            .filter(|key| !KEYS.contains(&key.as_str()))
            .map(|key| {
                format!(
                    "unknown configuration key {key:?}; known are {}",
                    KEYS.join(", ")
                )
            })
            .collect();
        Ok((config, warnings))
    }

    /// Whether a directory of this name is neither offered nor entered.
    pub fn excludes(&self, name: &str) -> bool {
        self.excluded_directories
            .iter()
            .any(|excluded| excluded == name)
    }
}

/// The value of a key; null is as good as absent.
fn given<'a>(map: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    map.get(key).filter(|value| !value.is_null())
}

fn bound(map: &Map<String, Value>, key: &'static str, default: u64) -> Result<u64, ConfigError> {
    let Some(value) = given(map, key) else {
        return Ok(default);
    };
    // JavaScript has one kind of number, so 20.0 and 2e1 are integers too.
    let integer = value.as_u64().or_else(|| {
        let float = value.as_f64()?;
        let safe = float.fract() == 0.0 && (1.0..=MAX_SAFE_INTEGER as f64).contains(&float);
        safe.then_some(float as u64)
    });
    match integer {
        Some(integer @ 1..=MAX_SAFE_INTEGER) => Ok(integer),
        _ => Err(ConfigError::Bound(key)),
    }
}

fn exclusions(map: &Map<String, Value>, default: Vec<String>) -> Result<Vec<String>, ConfigError> {
    let Some(value) = given(map, "excludedDirectories") else {
        return Ok(default);
    };
    let list = value.as_array().ok_or(ConfigError::ExclusionsNotAList)?;
    let basename = |value: &Value| match value.as_str() {
        Some(name) if !name.is_empty() && !name.contains(['/', '\\']) => Ok(name.to_owned()),
        _ => Err(ConfigError::Exclusion),
    };
    list.iter().map(basename).collect()
}

fn switch(map: &Map<String, Value>, key: &'static str, default: bool) -> Result<bool, ConfigError> {
    match given(map, key) {
        None => Ok(default),
        Some(value) => value.as_bool().ok_or(ConfigError::Switch(key)),
    }
}

fn ignored_files(
    map: &Map<String, Value>,
    default: IgnoredFiles,
) -> Result<IgnoredFiles, ConfigError> {
    match given(map, "ignoredFiles").map(Value::as_str) {
        None => Ok(default),
        Some(Some("show")) => Ok(IgnoredFiles::Show),
        Some(Some("last")) => Ok(IgnoredFiles::Last),
        Some(Some("hide")) => Ok(IgnoredFiles::Hide),
        Some(_) => Err(ConfigError::IgnoredFiles),
    }
}
