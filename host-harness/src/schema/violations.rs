//! What a value has to be, and what it is instead.

use serde_json::{Map, Value};
use std::fmt;

/// Values nested deeper than this are refused.
pub(super) const MAX_DEPTH: usize = 64;

/// What is wrong with a value, in DSH's words; empty when it fits. The root is called `arguments` for arguments, `value` for an output.
pub fn violations(schema: &Value, value: &Value, root: &str) -> Vec<String> {
    let mut found = Vec::new();
    validate(schema, value, &Place::Root(root), 0, &mut found);
    found
}

/// Whether a value at this depth of another fits.
pub(super) fn validate_value(schema: &Value, value: &Value, depth: usize) -> bool {
    let mut found = Vec::new();
    validate(schema, value, &Place::Root(""), depth, &mut found);
    found.is_empty()
}

/// Where in a value something is. Written out only for what does not fit, which is rare.
enum Place<'a> {
    Root(&'a str),
    Member(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Root(name) => f.write_str(name),
            // The root's own name stands only for the root itself.
            Place::Member(Place::Root(_), name) => f.write_str(name),
            Place::Item(Place::Root(_), index) => write!(f, "[{index}]"),
            Place::Member(parent, name) => write!(f, "{parent}.{name}"),
            Place::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

fn validate(
    schema: &Value,
    value: &Value,
    shown: &Place<'_>,
    depth: usize,
    found: &mut Vec<String>,
) {
    if depth > MAX_DEPTH {
        found.push(format!(
            "\"{shown}\" is nested deeper than {MAX_DEPTH} levels"
        ));
        return;
    }
    let Value::Object(members) = schema else {
        return;
    };
    let rules = Rules::of(members);
    if let Some(choices) = rules.one_of {
        let fitting = choices
            .iter()
            .filter(|choice| validate_value(choice, value, 0))
            .count();
        if fitting != 1 {
            found.push(format!(
                "\"{shown}\" must match exactly one of the allowed shapes"
            ));
        }
        return;
    }
    if let Some(kind) = rules.kind
        && !has_type(value, kind)
    {
        let article = if matches!(kind, "object" | "array" | "integer") {
            "an"
        } else {
            "a"
        };
        let named = if kind == "null" {
            "null".to_owned()
        } else {
            format!("{article} {kind}")
        };
        found.push(format!("\"{shown}\" must be {named}"));
        return;
    }
    if let Some(allowed) = rules.allowed
        && !allowed.contains(value)
    {
        let list = Value::Array(allowed.to_vec());
        found.push(format!("\"{shown}\" must be one of {list}"));
        return;
    }
    if let Some(constant) = rules.constant
        && constant != value
    {
        found.push(format!("\"{shown}\" must be {constant}"));
        return;
    }
    match value {
        Value::Object(object) => validate_object(&rules, object, shown, depth, found),
        Value::Array(items) => {
            if let Some(schema) = rules.items {
                for (index, item) in items.iter().enumerate() {
                    validate(schema, item, &Place::Item(shown, index), depth + 1, found);
                }
            }
        }
        _ => {}
    }
}

/// The members of one schema that are rules. Read in one pass: an answer has thousands of values, and most schemas have one member.
#[derive(Default)]
pub(super) struct Rules<'a> {
    one_of: Option<&'a [Value]>,
    pub(super) kind: Option<&'a str>,
    allowed: Option<&'a [Value]>,
    constant: Option<&'a Value>,
    pub(super) items: Option<&'a Value>,
    pub(super) required: &'a [Value],
    pub(super) properties: Option<&'a Map<String, Value>>,
    pub(super) closed: bool,
}

impl<'a> Rules<'a> {
    pub(super) fn of(members: &'a Map<String, Value>) -> Self {
        let mut rules = Self::default();
        for (name, rule) in members {
            match (name.as_str(), rule) {
                ("oneOf", Value::Array(choices)) => rules.one_of = Some(choices),
                ("type", Value::String(kind)) => rules.kind = Some(kind),
                ("enum", Value::Array(allowed)) => rules.allowed = Some(allowed),
                ("const", constant) => rules.constant = Some(constant),
                ("items", schema) => rules.items = Some(schema),
                ("required", Value::Array(names)) => rules.required = names,
                ("properties", Value::Object(properties)) => rules.properties = Some(properties),
                ("additionalProperties", Value::Bool(open)) => rules.closed = !open,
                _ => {}
            }
        }
        rules
    }

    /// Whether no value is compared with another.
    pub(super) fn is_of_types_alone(&self) -> bool {
        self.one_of.is_none() && self.allowed.is_none() && self.constant.is_none()
    }
}

fn validate_object(
    rules: &Rules<'_>,
    object: &Map<String, Value>,
    place: &Place<'_>,
    depth: usize,
    found: &mut Vec<String>,
) {
    for name in rules.required.iter().filter_map(Value::as_str) {
        if !object.contains_key(name) {
            found.push(format!(
                "missing required property \"{}\"",
                Place::Member(place, name)
            ));
        }
    }
    for (name, value) in object {
        match rules.properties.and_then(|properties| properties.get(name)) {
            Some(property) => {
                let member = Place::Member(place, name);
                validate(property, value, &member, depth + 1, found);
            }
            None if rules.closed => {
                found.push(format!(
                    "\"{}\" is not a declared property (additionalProperties: false)",
                    Place::Member(place, name)
                ));
            }
            None => {}
        }
    }
}

fn has_type(value: &Value, kind: &str) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        // JavaScript's Number.isInteger: 2.0 is one.
        "integer" => {
            value.is_i64()
                || value.is_u64()
                || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => false,
    }
}
