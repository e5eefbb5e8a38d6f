//! Checks the arguments of a tool call against the tool's own JSON Schema.
//!
//! DSH leaves tools that were registered as plain definitions unchecked, so every plugin checks for itself, and answers with the texts that
//! the harness uses for its own tools: the model has learned to repair those.

use serde_json::{Map, Value};

/// `error.info.code` of a refused call.
pub const CODE: &str = "INVALID_ARGS";
/// `error.info.name` of a refused call.
pub const NAME: &str = "ToolArgsError";

/// What is wrong with the arguments of one call; its text is what the model reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidArgs {
    /// One sentence part each, in the order in which the schema names the properties; never empty.
    pub violations: Vec<String>,
}

impl std::fmt::Display for InvalidArgs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "invalid arguments: {}", self.violations.join("; "))
    }
}

impl std::error::Error for InvalidArgs {}

/// Checks `args` against `schema`, a schema in DSH's subset.
///
/// `type`, `properties`, `required`, `items`, `enum` and `additionalProperties: false` are understood; annotations are skipped. An optional
/// property that is present must still have its type, `null` included. Properties that the schema does not name are allowed unless it says
/// otherwise.
pub fn check(schema: &Value, args: &Value) -> Result<(), InvalidArgs> {
    let mut violations = Vec::new();
    visit(schema, args, Path::Root, &mut violations);
    if violations.is_empty() {
        Ok(())
    } else {
        Err(InvalidArgs { violations })
    }
}

/// Where a value sits. The root has no name in the paths of its properties, but is called `arguments` when it is at fault itself.
#[derive(Clone, Copy)]
enum Path<'a> {
    Root,
    At(&'a str),
}

impl Path<'_> {
    fn property(self, key: &str) -> String {
        match self {
            Path::Root => key.to_owned(),
            Path::At(path) => format!("{path}.{key}"),
        }
    }

    fn item(self, index: usize) -> String {
        format!("{}[{index}]", self.name())
    }

    fn name(&self) -> &str {
        match self {
            Path::Root => "arguments",
            Path::At(path) => path,
        }
    }
}

fn visit(schema: &Value, value: &Value, path: Path<'_>, out: &mut Vec<String>) {
    if let Some(expected) = schema.get("type").and_then(Value::as_str)
        && !has_type(value, expected)
    {
        out.push(format!(
            "\"{}\" must be {}",
            path.name(),
            with_article(expected)
        ));
        return;
    }
    if let Some(Value::Array(allowed)) = schema.get("enum")
        && !allowed.contains(value)
    {
        let list = crate::js_json::stringify(allowed);
        out.push(format!("\"{}\" must be one of {list}", path.name()));
        return;
    }
    match value {
        Value::Object(object) => visit_object(schema, object, path, out),
        Value::Array(items) => {
            if let Some(item_schema) = schema.get("items") {
                for (index, item) in items.iter().enumerate() {
                    visit(item_schema, item, Path::At(&path.item(index)), out);
                }
            }
        }
        _ => {}
    }
}

fn visit_object(
    schema: &Value,
    object: &Map<String, Value>,
    path: Path<'_>,
    out: &mut Vec<String>,
) {
    if let Some(Value::Array(required)) = schema.get("required") {
        for key in required.iter().filter_map(Value::as_str) {
            if !object.contains_key(key) {
                out.push(format!(
                    "missing required property \"{}\"",
                    path.property(key)
                ));
            }
        }
    }
    let declared = schema.get("properties").and_then(Value::as_object);
    if let Some(declared) = declared {
        for (key, property) in declared {
            if let Some(value) = object.get(key) {
                visit(property, value, Path::At(&path.property(key)), out);
            }
        }
    }
    if schema.get("additionalProperties") == Some(&Value::Bool(false)) {
        for key in object.keys() {
            if declared.is_none_or(|declared| !declared.contains_key(key)) {
                let name = path.property(key);
                out.push(format!(
                    "\"{name}\" is not a declared property (additionalProperties: false)"
                ));
            }
        }
    }
}

fn has_type(value: &Value, expected: &str) -> bool {
    match expected {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => is_integer(value),
        _ => false,
    }
}

/// `Number.isInteger`: `2.0` is an integer, `1.5` is not.
fn is_integer(value: &Value) -> bool {
    value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

fn with_article(name: &str) -> String {
    match name {
        "null" => name.to_owned(),
        "object" | "array" | "integer" => format!("an {name}"),
        _ => format!("a {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn text(schema: &Value, args: &Value) -> String {
        check(schema, args).map_or_else(|error| error.to_string(), |()| "ok".to_owned())
    }

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "query": {"type": "string"},
                "seq": {"type": "integer"},
                "surfaces": {"type": "array", "items": {"type": "string", "enum": ["current", "shadowed"]}},
                "deep": {
                    "type": "object",
                    "properties": {"flag": {"type": "boolean"}},
                    "required": ["flag"],
                    "additionalProperties": false,
                },
            },
            "required": ["query"],
        })
    }

    #[test]
    fn the_root_must_be_an_object() {
        for bad in [json!(null), json!([]), json!("{"), json!(5), json!(true)] {
            assert_eq!(
                text(&schema(), &bad),
                "invalid arguments: \"arguments\" must be an object"
            );
        }
    }

    #[test]
    fn a_missing_property_is_named() {
        assert_eq!(
            text(&schema(), &json!({})),
            "invalid arguments: missing required property \"query\""
        );
    }

    #[test]
    fn a_wrong_type_is_named_and_null_is_no_value_of_any_other_type() {
        for bad in [json!(null), json!(5), json!([]), json!({}), json!(false)] {
            assert_eq!(
                text(&schema(), &json!({ "query": bad })),
                "invalid arguments: \"query\" must be a string"
            );
        }
        assert_eq!(
            text(&schema(), &json!({"query": "a", "seq": null})),
            "invalid arguments: \"seq\" must be an integer"
        );
    }

    #[test]
    fn integers_are_judged_as_in_javascript() {
        for good in [json!(1), json!(2.0), json!(-1), json!(1e300)] {
            assert_eq!(text(&schema(), &json!({"query": "a", "seq": good})), "ok");
        }
        for bad in [json!(1.5), json!("3"), json!(true)] {
            assert_eq!(
                text(&schema(), &json!({"query": "a", "seq": bad})),
                "invalid arguments: \"seq\" must be an integer"
            );
        }
    }

    #[test]
    fn items_and_nested_properties_are_named_by_path() {
        assert_eq!(
            text(
                &schema(),
                &json!({"query": "a", "surfaces": ["current", "bogus", 7]})
            ),
            "invalid arguments: \"surfaces[1]\" must be one of [\"current\",\"shadowed\"]; \"surfaces[2]\" must be a string"
        );
        assert_eq!(
            text(
                &schema(),
                &json!({"query": "a", "deep": {"flag": 1, "more": 2}})
            ),
            "invalid arguments: \"deep.flag\" must be a boolean; \"deep.more\" is not a declared property (additionalProperties: false)"
        );
        assert_eq!(
            text(&schema(), &json!({"query": "a", "deep": {}})),
            "invalid arguments: missing required property \"deep.flag\""
        );
    }

    #[test]
    fn several_violations_are_all_told() {
        assert_eq!(
            text(&schema(), &json!({"seq": "x"})),
            "invalid arguments: missing required property \"query\"; \"seq\" must be an integer"
        );
    }

    #[test]
    fn an_open_root_ignores_what_it_does_not_name() {
        assert_eq!(
            text(
                &schema(),
                &json!({"query": "a", "command": "rm", "timeout": -1})
            ),
            "ok"
        );
    }
}
