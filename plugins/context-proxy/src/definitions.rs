//! The three tools as the model and the host see them: names, descriptions, schemas, cards (SPEC 1, 3.1, 4.1, 5.1).

use crate::arguments::Arguments;
use crate::text_cut::prefix;

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
pub fn parameters(tool: Tool) -> &'static str {
    match tool {
        Tool::Grep => include_str!("../schemas/context_grep.parameters.json"),
        Tool::Query => include_str!("../schemas/context_query.parameters.json"),
        Tool::Slice => include_str!("../schemas/context_slice.parameters.json"),
    }
}

/// JSON Schema of a tool's answer.
pub fn output_schema(tool: Tool) -> &'static str {
    match tool {
        Tool::Grep => include_str!("../schemas/context_grep.output.json"),
        Tool::Query => include_str!("../schemas/context_query.output.json"),
        Tool::Slice => include_str!("../schemas/context_slice.output.json"),
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
    let arguments = Arguments::parse(arguments, parameters(tool)).ok()?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{DEFAULT_LIMIT, MAX_LIMIT};
    use crate::config::MAX_WINDOW;
    use crate::services::Surface;
    use serde_json::Value;

    fn schema(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    /// Everything that DSH's subset of JSON Schema knows.
    fn assert_subset(schema: &Value) {
        let object = schema.as_object().unwrap();
        for (key, value) in object {
            match key.as_str() {
                "type" => assert!(value.is_string()),
                "description" | "enum" | "additionalProperties" => {}
                "required" => {
                    let declared = object["properties"].as_object().unwrap();
                    let names = value.as_array().unwrap();
                    assert!(
                        names
                            .iter()
                            .all(|name| declared.contains_key(name.as_str().unwrap()))
                    );
                }
                "properties" => value.as_object().unwrap().values().for_each(assert_subset),
                "items" => assert_subset(value),
                "oneOf" => value.as_array().unwrap().iter().for_each(assert_subset),
                other => panic!("{other} is no part of the subset"),
            }
        }
        assert!(object.contains_key("type") != object.contains_key("oneOf"));
    }

    #[test]
    fn schemas_stay_inside_the_subset_that_dsh_understands() {
        for tool in Tool::ALL {
            assert_subset(&schema(parameters(tool)));
            assert_subset(&schema(output_schema(tool)));
        }
    }

    #[test]
    fn schemas_tell_the_bounds_that_the_code_applies() {
        let limit = format!("Most matches to return, 1 to {MAX_LIMIT}. Default {DEFAULT_LIMIT}.");
        for tool in [Tool::Grep, Tool::Query] {
            let schema = schema(parameters(tool));
            assert_eq!(schema["properties"]["limit"]["description"], limit);
        }
        let slice = schema(parameters(Tool::Slice));
        for side in ["before", "after"] {
            let text = format!("Raw events {side} the target to include, 0 to {MAX_WINDOW}.");
            assert_eq!(slice["properties"][side]["description"], text);
        }
        let query = schema(parameters(Tool::Query));
        let surfaces = &query["properties"]["surfaces"]["items"]["enum"];
        assert_eq!(
            *surfaces,
            serde_json::json!(Surface::ALL.map(Surface::name))
        );
    }

    #[test]
    fn a_card_is_one_line_of_what_is_asked() {
        let title = |name, arguments| card(name, arguments).map(|card| (card.title, card.kind));
        let shown = |title: &str, kind| Some((title.to_owned(), kind));
        assert_eq!(
            title("context_grep", r#"{"pattern":"a\nb"}"#),
            shown("Search session history for \"a b\"", "search")
        );
        assert_eq!(
            title("context_grep", r#"{"pattern":"x","path":"/s/a.txt"}"#),
            shown("Search /s/a.txt for \"x\"", "search")
        );
        assert_eq!(
            title("context_query", "{}"),
            shown("Query session history", "search")
        );
        assert_eq!(
            title("context_query", r#"{"text":"flaky"}"#),
            shown("Query session history for \"flaky\"", "search")
        );
        assert_eq!(
            title("context_slice", r#"{"seq":8.0}"#),
            shown("Read session event 8", "read")
        );
        assert_eq!(
            title("context_slice", r#"{"seq":-8}"#),
            shown("Read session event", "read")
        );
        let long = card(
            "context_query",
            &format!("{{\"text\":\"{}\"}}", "é".repeat(500)),
        );
        assert!(long.is_some_and(|card| card.title.len() < 170 && card.title.ends_with("é…\"")));
    }

    #[test]
    fn unfit_calls_have_no_card() {
        assert_eq!(card("context_slice", "{}"), None);
        assert_eq!(card("context_slice", "not json"), None);
        assert_eq!(card("other", "{}"), None);
    }
}
