//! The conditions of a query: their types, how they are read from JSON, and what makes them invalid (SPEC-sessions 8).

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::Value;

use super::error::SessionQueryError;
use super::repair;
use super::types::Surface;
use crate::json;

/// An inclusive range; an absent bound is open.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bounds {
    /// The least value that matches. It may be fractional or negative, not NaN or infinite.
    pub from: Option<f64>,
    /// The greatest value that matches.
    pub to: Option<f64>,
}

impl Bounds {
    /// Whether the value lies in the range.
    #[must_use]
    pub fn contains(self, value: f64) -> bool {
        self.from.is_none_or(|from| value >= from) && self.to.is_none_or(|to| value <= to)
    }

    fn validate(self, name: &str) -> Result<(), SessionQueryError> {
        for (bound, value) in [("from", self.from), ("to", self.to)] {
            if value.is_some_and(|value| !value.is_finite()) {
                return Err(invalid(format!("{name} filter {bound} must be finite")));
            }
        }
        match (self.from, self.to) {
            (Some(from), Some(to)) if from > to => Err(invalid(format!(
                "{name} filter from must be less than or equal to to"
            ))),
            _ => Ok(()),
        }
    }
}

/// One condition. Conditions of a query are combined by AND, values inside one by OR; an empty list matches nothing.
#[derive(Debug, Clone, PartialEq)]
pub enum EventFilter {
    /// By sequence number.
    Seq(Bounds),
    /// By time, in milliseconds since the epoch.
    Time(Bounds),
    /// By event type; unknown types match nothing.
    Types(BTreeSet<String>),
    /// By surface.
    Surfaces(Vec<Surface>),
    /// By literal text: case-insensitive (Unicode simple folding), white space matches any run of white space.
    Text(String),
}

/// JSON text that JavaScript wrote, so that other parsers take it: half a surrogate pair is U+FFFD, as it is in the log, and a number
/// beyond a double is `null` (SPEC-sessions 4.6). Any other text stays as it is.
pub fn mend_json(text: &str) -> Cow<'_, str> {
    match repair::lone_surrogates(text) {
        Cow::Borrowed(text) => repair::infinite_numbers(text),
        Cow::Owned(text) => Cow::Owned(repair::infinite_numbers(&text).into_owned()),
    }
}

/// Reads JSON text that JavaScript wrote, see [`mend_json`].
///
/// # Errors
/// The text is no JSON.
pub fn parse_json(text: &str) -> serde_json::Result<Value> {
    json::parse(&mend_json(text))
}

impl EventFilter {
    /// Reads the filter list of `filterEvents` as JSON gives it.
    ///
    /// # Errors
    /// [`SessionQueryError::InvalidFilter`] with the service's own text.
    pub fn list_from_json(value: &Value) -> Result<Vec<Self>, SessionQueryError> {
        let Value::Array(filters) = value else {
            return Err(invalid("filters must be an array"));
        };
        let filters = filters
            .iter()
            .map(Self::from_json)
            .collect::<Result<Vec<_>, _>>()?;
        Ok(filters)
    }

    fn from_json(value: &Value) -> Result<Self, SessionQueryError> {
        let kind = match value.get("kind") {
            Some(Value::String(kind)) => kind.as_str(),
            _ => return Err(invalid("unknown filter kind (missing)")),
        };
        let filter = match kind {
            "seq" => Self::Seq(bounds(kind, value)?),
            "time" => Self::Time(bounds(kind, value)?),
            "type" => Self::Types(
                strings(kind, value)?
                    .into_iter()
                    .map(str::to_owned)
                    .collect(),
            ),
            "surface" => Self::Surfaces(
                strings(kind, value)?
                    .into_iter()
                    .map(|name| {
                        Surface::from_name(name).ok_or_else(|| {
                            invalid(format!("surface filter contains unknown value \"{name}\""))
                        })
                    })
                    .collect::<Result<_, _>>()?,
            ),
            "text" => match value.get("text") {
                Some(Value::String(text)) => Self::Text(text.clone()),
                _ => return Err(invalid("text filter text must be a string")),
            },
            _ => return Err(invalid(format!("unknown filter kind \"{kind}\""))),
        };
        filter.validate()?;
        Ok(filter)
    }

    /// What can be said against the condition before the log is read. A blank text is found only after it, so that a missing
    /// session is reported first (SPEC-sessions 8.4).
    ///
    /// # Errors
    /// [`SessionQueryError::InvalidFilter`].
    pub fn validate(&self) -> Result<(), SessionQueryError> {
        match self {
            Self::Seq(bounds) => bounds.validate("seq"),
            Self::Time(bounds) => bounds.validate("time"),
            Self::Types(_) | Self::Surfaces(_) | Self::Text(_) => Ok(()),
        }
    }
}

fn invalid(detail: impl Into<String>) -> SessionQueryError {
    SessionQueryError::InvalidFilter(detail.into())
}

fn bounds(kind: &str, value: &Value) -> Result<Bounds, SessionQueryError> {
    let bound = |name: &'static str| match value.get(name) {
        None => Ok(None),
        Some(Value::Number(number)) => Ok(number.as_f64()),
        Some(_) => Err(invalid(format!("{kind} filter {name} must be finite"))),
    };
    Ok(Bounds {
        from: bound("from")?,
        to: bound("to")?,
    })
}

fn strings<'v>(kind: &str, value: &'v Value) -> Result<Vec<&'v str>, SessionQueryError> {
    value
        .get("values")
        .and_then(Value::as_array)
        .and_then(|values| values.iter().map(Value::as_str).collect())
        .ok_or_else(|| invalid(format!("{kind} filter values must be an array of strings")))
}
