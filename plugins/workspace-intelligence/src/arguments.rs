//! The one tool: its definition, and the checks of its argument (SPEC 3).

use crate::jsonrpc::object;
use crate::outcome::CallError;
use dsh_guest_support::{args, js_space, utf16};
use serde_json::Value;

/// The tool's name.
pub const TOOL_NAME: &str = "workspace_symbol";

/// What the model reads about the tool.
pub const DESCRIPTION: &str = "Finds classes, functions and other symbols of the workspace by name, or by a part of the name, through the \
language servers that are configured for it. Needs no file path and no cursor position. The list may be incomplete while a server is still \
indexing.";

/// Longer queries name nothing, and some servers search them for ever.
const MAX_QUERY_UNITS: usize = 1_000;
/// How much of the query the card of a pending call shows, in UTF-16 code units.
const TITLE_UNITS: usize = 80;

/// The JSON Schema of the arguments. The root is open, as DSH's own tools are: other keys are never read.
pub fn parameters() -> Value {
    let query = object([
        ("type", "string".into()),
        (
            "description",
            "Symbol name or part of a name to search for, e.g. a class or function name.".into(),
        ),
    ]);
    object([
        ("type", "object".into()),
        ("properties", object([("query", query)])),
        ("required", vec!["query"].into()),
    ])
}

/// The query, verbatim.
pub fn query(arguments: &Value) -> Result<&str, CallError> {
    args::check(&parameters(), arguments)?;
    let query = arguments
        .get("query")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if js_space::trim(query).is_empty() {
        return Err(CallError::InvalidQuery("query must be a non-empty string"));
    }
    if utf16::len(query) > MAX_QUERY_UNITS {
        return Err(CallError::InvalidQuery(
            "query must have at most 1000 characters",
        ));
    }
    Ok(query)
}

/// The title of the card of a pending call; `None` when the arguments are unfit.
pub fn title(arguments: &Value) -> Option<String> {
    let query = query(arguments).ok()?;
    let shown = query.get(..utf16::cut(query, TITLE_UNITS).bytes)?;
    let dots = if shown.len() < query.len() { "…" } else { "" };
    Some(format!("Workspace symbol: {shown}{dots}"))
}
