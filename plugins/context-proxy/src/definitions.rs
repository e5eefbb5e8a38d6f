//! The three tools as the model and the host see them: names, descriptions, schemas, cards (SPEC 1, 3.1, 4.1, 5.1).

use crate::arguments::{Arguments, DEFAULT_LIMIT, MAX_LIMIT};
use crate::config::MAX_WINDOW;
use crate::services::Surface;
use crate::text_cut::prefix;
use serde_json::{Value, json};

/// The deadline of `context_grep`, in milliseconds: a search may meet a huge file.
const GREP_TIMEOUT_MS: u32 = 30_000;
/// The most bytes of what the model wrote that a card's title shows.
const MAX_TITLE_BYTES: usize = 120;

/// A tool of this plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// `context_grep`.
    Grep,
    /// `context_query`.
    Query,
    /// `context_slice`.
    Slice,
}

impl Tool {
    /// All tools, in the order in which they are registered, which is that of their names.
    pub const ALL: [Tool; 3] = [Tool::Grep, Tool::Query, Tool::Slice];

    /// The name that the model calls.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Grep => "context_grep",
            Tool::Query => "context_query",
            Tool::Slice => "context_slice",
        }
    }

    /// The tool of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// What the model reads about it.
    pub fn description(self) -> &'static str {
        match self {
            Tool::Grep => {
                "Search a spill file (tool output that was too long to show) or, without `path`, the text of this session's history. \
                 With `path` (the absolute path that a truncated tool result names) `pattern` is a case-sensitive ripgrep regular \
                 expression, matched line by line. Without `path` it is literal text, matched as in context_query. Returns JSON: \
                 {source, matches: [{text, citation}], truncated}. A citation is `path:line` or `session:<seq>`; context_slice opens the \
                 latter. `truncated` on a match: only a part of its text is shown; on the answer: there may be more matches, so narrow the \
                 pattern, or go on with context_query and seq_from = nextSeq."
            }
            Tool::Query => {
                "List events of this session's history, including what was compacted or pruned out of your context. All conditions must \
                 hold; without any, every event with text is listed. Returns JSON in ascending seq: {matches: [{seq, type, text, \
                 citation}], truncated}. When truncated, call again with seq_from = nextSeq. Use context_slice to read a match whole."
            }
            Tool::Slice => {
                "Read one event of this session's history whole, by seq (the number in a citation `session:<seq>`), with the raw events \
                 around it. Returns JSON: {seq, startSeq, endSeq, items: [{seq, type, text, citation}]}. Texts of neighbours may be cut, \
                 and are then marked truncated; a target without text shows its data."
            }
        }
    }

    /// The deadline in milliseconds, if it has one.
    pub fn timeout_ms(self) -> Option<u32> {
        (self == Tool::Grep).then_some(GREP_TIMEOUT_MS)
    }
}

/// JSON Schema of a tool's arguments, in DSH's subset: bounds of numbers are in the descriptions, and checked by the tool.
pub fn parameters(tool: Tool) -> Value {
    let limit = json!({
        "type": "integer",
        "description": format!("Most matches to return, 1 to {MAX_LIMIT}. Default {DEFAULT_LIMIT}.")
    });
    match tool {
        Tool::Grep => json!({
            "type": "object",
            "properties": {
                "pattern": {
                    "type": "string",
                    "description": "Regular expression when path is given, else literal text."
                },
                "path": {
                    "type": "string",
                    "description": "Absolute path of a spill file of this session. Omit to search the session itself."
                },
                "limit": limit
            },
            "required": ["pattern"]
        }),
        Tool::Query => json!({
            "type": "object",
            "properties": {
                "text": {
                    "type": "string",
                    "description": "Literal text; case-insensitive; white space matches any run of white space."
                },
                "types": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "Event types, any of them, such as user/message, assistant/message, tool/call, tool/result, todo/write, turn/end."
                },
                "surfaces": {
                    "type": "array",
                    "items": {"type": "string", "enum": Surface::ALL.map(Surface::name)},
                    "description": "current: in your context now; shadowed: replaced or pruned; log-only: never in your context."
                },
                "seq_from": {"type": "integer", "description": "Least seq, inclusive."},
                "seq_to": {"type": "integer", "description": "Greatest seq, inclusive."},
                "limit": limit
            }
        }),
        Tool::Slice => {
            let count =
                |side| format!("Raw events {side} the target to include, 0 to {MAX_WINDOW}.");
            json!({
                "type": "object",
                "properties": {
                    "seq": {"type": "integer", "description": "The event's seq."},
                    "before": {"type": "integer", "description": count("before")},
                    "after": {"type": "integer", "description": count("after")}
                },
                "required": ["seq"]
            })
        }
    }
}

/// JSON Schema of a tool's answer.
pub fn output_schema(tool: Tool) -> Value {
    let text = json!({"type": "string"});
    let number = json!({"type": "integer"});
    let flag = json!({"type": "boolean"});
    match tool {
        Tool::Grep => json!({
            "type": "object",
            "properties": {
                "source": {"type": "string", "enum": ["spill", "session"]},
                "matches": {"type": "array", "items": {
                    "type": "object",
                    "properties": {"text": text, "citation": text, "truncated": flag},
                    "required": ["text", "citation"],
                    "additionalProperties": false
                }},
                "truncated": flag,
                "nextSeq": number,
                "note": text
            },
            "required": ["source", "matches", "truncated"],
            "additionalProperties": false
        }),
        Tool::Query => json!({
            "type": "object",
            "properties": {
                "matches": {"type": "array", "items": {
                    "type": "object",
                    "properties": {"seq": number, "type": text, "text": text, "citation": text, "truncated": flag},
                    "required": ["seq", "type", "text", "citation"],
                    "additionalProperties": false
                }},
                "truncated": flag,
                "nextSeq": number
            },
            "required": ["matches", "truncated"],
            "additionalProperties": false
        }),
        Tool::Slice => json!({
            "type": "object",
            "properties": {
                "seq": number,
                "startSeq": number,
                "endSeq": number,
                "items": {"type": "array", "items": {
                    "type": "object",
                    "properties": {
                        "seq": number, "type": text, "text": text, "citation": text, "truncated": flag,
                        // Any JSON: DSH's subset wants a type, and an event's data may have each.
                        "data": {"oneOf": (["object", "array", "string", "number", "boolean", "null"].map(|name| json!({"type": name})))}
                    },
                    "required": ["seq", "type", "text", "citation"],
                    "additionalProperties": false
                }}
            },
            "required": ["seq", "startSeq", "endSeq", "items"],
            "additionalProperties": false
        }),
    }
}

/// How a pending call is shown to people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// One line.
    pub title: String,
    /// DSH's kind of card.
    pub kind: &'static str,
}

/// The card of a call; none when the arguments do not satisfy the schema.
pub fn card(name: &str, arguments: &str) -> Option<Card> {
    let tool = Tool::from_name(name)?;
    let arguments = Arguments::parse(arguments, &parameters(tool)).ok()?;
    let quoted = |name| {
        arguments
            .text(name)
            .map(|text| format!("\"{}\"", one_line(text)))
    };
    Some(match tool {
        Tool::Grep => {
            let pattern = quoted("pattern").unwrap_or_default();
            let place = arguments.text("path").map(one_line);
            Card {
                title: format!(
                    "Search {} for {pattern}",
                    place.as_deref().unwrap_or("session history")
                ),
                kind: "search",
            }
        }
        Tool::Query => Card {
            title: match quoted("text") {
                Some(text) => format!("Query session history for {text}"),
                None => "Query session history".to_owned(),
            },
            kind: "search",
        },
        Tool::Slice => Card {
            title: match arguments.safe_integer("seq") {
                Ok(Some(seq)) => format!("Read session event {seq}"),
                _ => "Read session event".to_owned(),
            },
            kind: "read",
        },
    })
}

/// The text on one line, cut to what a title can show.
fn one_line(text: &str) -> String {
    let cut = prefix(text, MAX_TITLE_BYTES);
    let dots = if cut.len() < text.len() { "…" } else { "" };
    let line: String = cut
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    format!("{line}{dots}")
}
