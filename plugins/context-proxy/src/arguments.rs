//! Reads the arguments of a call: first the schema, then what the schema cannot say (SPEC 6.1, 6.2).

use crate::config::{MAX_SAFE_INTEGER, MAX_WINDOW};
use crate::errors::ToolError;
use dsh_guest_support::{args, js_json, js_space};
use serde_json::Value;

/// How many matches a call returns when it does not say.
pub const DEFAULT_LIMIT: u32 = 50;
/// The most matches that a call may ask for.
pub const MAX_LIMIT: u32 = 200;

/// Arguments that satisfy their tool's schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Arguments(Value);

impl Arguments {
    /// Parses what the model wrote and checks it against `schema`. An empty text stands for no arguments.
    pub fn parse(text: &str, schema: &str) -> Result<Self, ToolError> {
        let value = if text.is_empty() {
            Value::Object(serde_json::Map::new())
        } else {
            // What is no JSON is judged as the string that it is, so that the answer says what is wanted: an object.
            js_json::parse(text.as_bytes()).unwrap_or_else(|_| Value::from(text))
        };
        let schema = js_json::parse(schema.as_bytes()).unwrap_or_default();
        args::check(&schema, &value).map_err(ToolError::InvalidArgs)?;
        Ok(Arguments(value))
    }

    /// The text of an argument; none when it was not given.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    /// A list of texts, which must not be empty when it is given.
    pub fn texts(&self, name: &'static str) -> Result<Option<Vec<&str>>, ToolError> {
        let Some(list) = self.0.get(name).and_then(Value::as_array) else {
            return Ok(None);
        };
        if list.is_empty() {
            return Err(ToolError::EmptyList { name });
        }
        Ok(Some(list.iter().filter_map(Value::as_str).collect()))
    }

    /// An argument that must be a non-negative safe integer.
    pub fn safe_integer(&self, name: &'static str) -> Result<Option<u64>, ToolError> {
        self.number(name)
            .map(|number| safe_integer(number).ok_or(ToolError::UnsafeInteger { name }))
            .transpose()
    }

    /// `before` or `after`: 0 to 50, `default` when it was not given.
    pub fn window(&self, name: &'static str, default: u32) -> Result<u32, ToolError> {
        match self.safe_integer(name)? {
            None => Ok(default),
            Some(count) => u32::try_from(count)
                .ok()
                .filter(|count| *count <= MAX_WINDOW)
                .ok_or(ToolError::Window { name }),
        }
    }

    /// `limit`: 1 to 200, 50 when it was not given.
    pub fn limit(&self) -> Result<u32, ToolError> {
        match self.number("limit") {
            None => Ok(DEFAULT_LIMIT),
            Some(number) => safe_integer(number)
                .and_then(|limit| u32::try_from(limit).ok())
                .filter(|limit| (1..=MAX_LIMIT).contains(limit))
                .ok_or(ToolError::Limit),
        }
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.0.get(name)?.as_f64()
    }
}

/// Refuses a text that the session scan could not search for: white space alone, as JavaScript sees white space.
pub fn not_blank(text: &str) -> Result<(), ToolError> {
    if js_space::trim(text).is_empty() {
        Err(ToolError::BlankText)
    } else {
        Ok(())
    }
}

/// The number as an integer from 0 to 2^53 - 1, or none.
pub fn safe_integer(number: f64) -> Option<u64> {
    let fits = number.fract() == 0.0 && (0.0..=MAX_SAFE_INTEGER as f64).contains(&number);
    fits.then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn safe_integers_end_where_doubles_stop_being_exact() {
        assert_eq!(safe_integer(0.0), Some(0));
        assert_eq!(safe_integer(-0.0), Some(0));
        assert_eq!(
            safe_integer(9_007_199_254_740_991.0),
            Some(MAX_SAFE_INTEGER)
        );
        for bad in [
            9_007_199_254_740_992.0,
            -1.0,
            0.5,
            f64::NAN,
            f64::INFINITY,
            1e300,
        ] {
            assert_eq!(safe_integer(bad), None, "{bad}");
        }
    }

    #[test]
    fn blank_is_what_javascript_trims_away() {
        for blank in ["", "   ", "\u{feff}", "\t\n\u{a0}\u{3000}"] {
            assert_eq!(not_blank(blank), Err(ToolError::BlankText), "{blank:?}");
        }
        for solid in ["a", "\u{85}", "\u{200b}", " x "] {
            assert_eq!(not_blank(solid), Ok(()), "{solid:?}");
        }
    }
}
