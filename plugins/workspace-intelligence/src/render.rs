//! The answer as a value for programs and as text for the model (SPEC 13).

use crate::merge::Merged;
use dsh_guest_support::{js_json, utf16};
use serde::Serialize;

/// How the servers fared in one call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ProviderCounts {
    /// Answered, if only with an empty list.
    pub succeeded: usize,
    /// Failed.
    pub failed: usize,
    /// Do not offer `workspace/symbol`.
    pub unsupported: usize,
    /// Processes that this very call started (SPEC 12.5).
    #[serde(skip_serializing_if = "is_zero")]
    pub started: usize,
    /// Servers that were still reporting progress when they answered (SPEC 12.5).
    #[serde(skip_serializing_if = "is_zero")]
    pub indexing: usize,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands out references"
)]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// One answer in both forms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The canonical value, JSON.
    pub value: String,
    /// What the model reads, JSON as well.
    pub content: String,
}

/// Renders an answer; the text has at most `max_chars` UTF-16 code units.
pub fn render(merged: &Merged, providers: ProviderCounts, max_chars: usize) -> Rendered {
    let Merged { symbols, total } = merged;
    // Each symbol is written once, and its text used in both forms.
    let entries: Vec<String> = symbols.iter().map(js_json::stringify).collect();
    let counts = js_json::stringify(&providers);
    let tail = |shown: usize| {
        let omitted = total - shown;
        format!(
            "],\"total\":{total},\"omitted\":{omitted},\"truncated\":{},\"providers\":{counts}}}",
            omitted > 0
        )
    };

    // The longest prefix that fits. A symbol that is too long is never skipped in favour of a later one.
    let mut lengths = Vec::with_capacity(entries.len() + 1);
    let mut length = HEAD.len();
    lengths.push(length);
    for (index, entry) in entries.iter().enumerate() {
        length += usize::from(index > 0) + utf16::len(entry);
        lengths.push(length);
    }
    let shown = (1..=entries.len())
        .rev()
        .find(|shown| {
            lengths
                .get(*shown)
                .is_some_and(|length| length + tail(*shown).len() <= max_chars)
        })
        .unwrap_or(0);
    let listed = entries.get(..shown).unwrap_or_default().join(",");
    Rendered {
        value: format!(
            "{HEAD}{}],\"total\":{total},\"providers\":{counts}}}",
            entries.join(",")
        ),
        content: format!("{HEAD}{listed}{}", tail(shown)),
    }
}

const HEAD: &str = "{\"symbols\":[";

/// The JSON Schema of the canonical value, in DSH's subset.
pub const OUTPUT_SCHEMA: &str = r#"{"type":"object","properties":{"symbols":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"kind":{"type":"string"},"uri":{"type":"string"},"range":{"type":"object","properties":{"start":{"type":"object","properties":{"line":{"type":"integer"},"character":{"type":"integer"}},"required":["line","character"],"additionalProperties":false},"end":{"type":"object","properties":{"line":{"type":"integer"},"character":{"type":"integer"}},"required":["line","character"],"additionalProperties":false}},"required":["start","end"],"additionalProperties":false},"containerName":{"type":"string"}},"required":["name","kind","uri"],"additionalProperties":false}},"total":{"type":"integer"},"providers":{"type":"object","properties":{"succeeded":{"type":"integer"},"failed":{"type":"integer"},"unsupported":{"type":"integer"},"started":{"type":"integer"},"indexing":{"type":"integer"}},"required":["succeeded","failed","unsupported"],"additionalProperties":false}},"required":["symbols","total","providers"],"additionalProperties":false}"#;
