//! What a value has to be, and what it is instead.

use serde_json::{Map, Value};

/// Values nested deeper than this are refused.
const MAX_DEPTH: usize = 64;

/// What is wrong with a value, in DSH's words; empty when it fits. The root is called `arguments` for arguments, `value` for an output.
pub fn violations(schema: &Value, value: &Value, root: &str) -> Vec<String> {
    let mut found = Vec::new();
    validate(schema, value, "", root, 0, &mut found);
    found
}

fn validate(
    schema: &Value,
    value: &Value,
    path: &str,
    root: &str,
    depth: usize,
    found: &mut Vec<String>,
) {
    let shown = if path.is_empty() { root } else { path };
    if depth > MAX_DEPTH {
        found.push(format!(
            "\"{shown}\" is nested deeper than {MAX_DEPTH} levels"
        ));
        return;
    }
    let Value::Object(members) = schema else {
        return;
    };
    if let Some(Value::Array(choices)) = members.get("oneOf") {
        let fitting = choices
            .iter()
            .filter(|choice| violations(choice, value, root).is_empty())
            .count();
        if fitting != 1 {
            found.push(format!(
                "\"{shown}\" must match exactly one of the allowed shapes"
            ));
        }
        return;
    }
    if let Some(kind) = members.get("type").and_then(Value::as_str)
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
    if let Some(Value::Array(allowed)) = members.get("enum")
        && !allowed.contains(value)
    {
        let list = Value::Array(allowed.clone());
        found.push(format!("\"{shown}\" must be one of {list}"));
        return;
    }
    if let Some(constant) = members.get("const")
        && constant != value
    {
        found.push(format!("\"{shown}\" must be {constant}"));
        return;
    }
    match value {
        Value::Object(object) => validate_object(members, object, path, root, depth, found),
        Value::Array(items) => {
            if let Some(schema) = members.get("items") {
                for (index, item) in items.iter().enumerate() {
                    validate(
                        schema,
                        item,
                        &format!("{path}[{index}]"),
                        root,
                        depth + 1,
                        found,
                    );
                }
            }
        }
        _ => {}
    }
}

fn validate_object(
    schema: &Map<String, Value>,
    object: &Map<String, Value>,
    path: &str,
    root: &str,
    depth: usize,
    found: &mut Vec<String>,
) {
    let join = |name: &str| {
        if path.is_empty() {
            name.to_owned()
        } else {
            format!("{path}.{name}")
        }
    };
    for name in schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        if !object.contains_key(name) {
            found.push(format!("missing required property \"{}\"", join(name)));
        }
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    for (name, value) in object {
        match properties.and_then(|properties| properties.get(name)) {
            Some(property) => validate(property, value, &join(name), root, depth + 1, found),
            None if closed => {
                found.push(format!(
                    "\"{}\" is not a declared property (additionalProperties: false)",
                    join(name)
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
