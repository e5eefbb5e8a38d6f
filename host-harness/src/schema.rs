//! The subset of JSON Schema that DSH knows, with its published texts.
//!
//! A schema has one `type`, or `oneOf`; `properties`, `required`, `additionalProperties`, `items`, `enum` and `const`; and the annotations
//! `description`, `title`, `default` and `examples`. Anything else is refused when a tool is registered.

mod fits;
mod violations;

pub use fits::fits;
pub use violations::violations;

use crate::failure::{Failure, codes};
use serde_json::Value;

const TYPES: &[&str] = &[
    "object", "array", "string", "number", "integer", "boolean", "null",
];
const KEYWORDS: &[&str] = &[
    "type",
    "oneOf",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "description",
    "title",
    "default",
    "examples",
];

/// Schemas nested deeper than this are refused.
const MAX_DEPTH: usize = 64;

/// Checks that a schema keeps to the subset.
///
/// # Errors
/// `JsonSchemaError` with code `UNSUPPORTED_SCHEMA`, naming the place and the keyword.
pub fn check_schema(schema: &Value) -> Result<(), Failure> {
    check(schema, "$", 0)
        .map_err(|message| Failure::named("JsonSchemaError", "UNSUPPORTED_SCHEMA", message))
}

fn check(schema: &Value, place: &str, depth: usize) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(format!("{place}: nested deeper than {MAX_DEPTH} levels"));
    }
    let Value::Object(members) = schema else {
        return Err(format!("{place}: a schema must be an object"));
    };
    if let Some(keyword) = members.keys().find(|key| !KEYWORDS.contains(&key.as_str())) {
        return Err(format!(
            "{place}: the keyword {keyword:?} is not supported; supported are {}",
            KEYWORDS.join(", ")
        ));
    }
    match (members.get("type"), members.get("oneOf")) {
        (Some(Value::String(kind)), None) if TYPES.contains(&kind.as_str()) => {}
        (Some(kind), None) => {
            return Err(format!(
                "{place}: the type must be one of {}, not {kind}",
                TYPES.join(", ")
            ));
        }
        (None, Some(Value::Array(choices))) if choices.len() >= 2 => {
            for (index, choice) in choices.iter().enumerate() {
                check(choice, &format!("{place}.oneOf[{index}]"), depth + 1)?;
            }
        }
        (None, Some(_)) => {
            return Err(format!(
                "{place}: oneOf must be an array of two or more schemas"
            ));
        }
        (None, None) if members.contains_key("enum") || members.contains_key("const") => {}
        _ => return Err(format!("{place}: a schema needs either type or oneOf")),
    }
    let properties = match members.get("properties") {
        None => None,
        Some(Value::Object(properties)) => Some(properties),
        Some(_) => return Err(format!("{place}: properties must be an object")),
    };
    for (name, property) in properties.into_iter().flatten() {
        check(property, &format!("{place}.{name}"), depth + 1)?;
    }
    if let Some(required) = members.get("required") {
        let names = required
            .as_array()
            .ok_or_else(|| format!("{place}: required must be an array"))?;
        for name in names {
            let declared = name
                .as_str()
                .is_some_and(|name| properties.is_some_and(|known| known.contains_key(name)));
            if !declared {
                return Err(format!(
                    "{place}: required names {name}, which is no declared property"
                ));
            }
        }
    }
    if members
        .get("additionalProperties")
        .is_some_and(|value| !value.is_boolean())
    {
        return Err(format!(
            "{place}: additionalProperties must be true or false"
        ));
    }
    if let Some(items) = members.get("items") {
        check(items, &format!("{place}[]"), depth + 1)?;
    }
    if members.get("enum").is_some_and(|value| {
        !value
            .as_array()
            .is_some_and(|values| values.iter().all(is_scalar))
    }) {
        return Err(format!("{place}: enum must be an array of scalars"));
    }
    Ok(())
}

fn is_scalar(value: &Value) -> bool {
    !value.is_object() && !value.is_array()
}

/// Checks a call's arguments against the tool's parameters.
///
/// # Errors
/// `ToolArgsError` with code `INVALID_ARGS` and every violation.
pub fn check_arguments(parameters: &Value, arguments: &Value) -> Result<(), Failure> {
    let found = violations(parameters, arguments, "arguments");
    if found.is_empty() {
        return Ok(());
    }
    let message = format!("invalid arguments: {}", found.join("; "));
    Err(Failure::named(
        "ToolArgsError",
        codes::INVALID_ARGS,
        message,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(schema: &Value, value: &Value) -> String {
        check_arguments(schema, value).map_or_else(|failure| failure.message, |()| "fits".into())
    }

    #[test]
    fn argument_errors_have_the_published_texts() {
        let schema = json!({"type": "object", "required": ["query"], "properties": {
            "query": {"type": "string"},
            "limit": {"type": "integer"},
            "names": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
            "deep": {"type": "object", "additionalProperties": false, "properties": {"n": {"type": "number"}}},
        }});
        let cases = [
            (
                json!({}),
                "invalid arguments: missing required property \"query\"",
            ),
            (
                json!({"query": 1}),
                "invalid arguments: \"query\" must be a string",
            ),
            (
                json!({"query": null}),
                "invalid arguments: \"query\" must be a string",
            ),
            (
                json!("text"),
                "invalid arguments: \"arguments\" must be an object",
            ),
            (
                json!({"query": "", "limit": 1.5}),
                "invalid arguments: \"limit\" must be an integer",
            ),
            (json!({"query": "", "limit": 2.0}), "fits"),
            (json!({"query": "", "unknown": 1}), "fits"),
            (
                json!({"query": "", "names": ["a", 1]}),
                "invalid arguments: \"names[1]\" must be a string",
            ),
            (
                json!({"query": "", "names": ["z"]}),
                "invalid arguments: \"names[0]\" must be one of [\"a\",\"b\"]",
            ),
            (
                json!({"query": "", "names": {}}),
                "invalid arguments: \"names\" must be an array",
            ),
            (
                json!({"query": "", "deep": {"m": 1, "n": "x"}}),
                "invalid arguments: \"deep.m\" is not a declared property (additionalProperties: false); \"deep.n\" must be a number",
            ),
        ];
        for (value, expected) in cases {
            assert_eq!(message(&schema, &value), expected, "{value}");
        }
    }

    #[test]
    fn schemas_outside_the_subset_are_refused_by_place_and_keyword() {
        let refused = [
            (
                json!({"type": "object", "properties": {"a": {"type": "string", "minLength": 1}}}),
                "$.a: the keyword \"minLength\"",
            ),
            (
                json!({"type": ["string", "null"]}),
                "$: the type must be one of",
            ),
            (
                json!({"type": "object", "required": ["x"]}),
                "$: required names \"x\"",
            ),
            (json!({"oneOf": [{"type": "null"}]}), "$: oneOf must be"),
            (json!({"$ref": "#/x"}), "$: the keyword \"$ref\""),
            (json!(true), "$: a schema must be an object"),
            (
                json!({"type": "array", "items": {}}),
                "$[]: a schema needs either type or oneOf",
            ),
        ];
        for (schema, expected) in refused {
            let failure = check_schema(&schema).unwrap_err();
            assert!(failure.is("UNSUPPORTED_SCHEMA"));
            assert!(
                failure.message.starts_with(expected),
                "{} for {schema}",
                failure.message
            );
        }
        check_schema(
            &json!({"oneOf": [{"type": "null"}, {"type": "string", "const": "x"}], "title": "t"}),
        )
        .unwrap();
    }

    #[test]
    fn one_of_means_exactly_one() {
        let schema = json!({"oneOf": [{"type": "integer"}, {"type": "number"}]});
        assert_eq!(
            violations(&schema, &json!(1.5), "value"),
            Vec::<String>::new()
        );
        assert_eq!(violations(&schema, &json!(1), "value").len(), 1);
    }
}
