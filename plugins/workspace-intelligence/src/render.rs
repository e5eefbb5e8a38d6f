//! The answer as a value for programs and as text for the model (SPEC 13).

use crate::merge::Merged;
use crate::symbol::Symbol;
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
    let counts = js_json::stringify(&providers);
    let tail = |shown: usize| {
        let omitted = total - shown;
        format!(
            "],\"total\":{total},\"omitted\":{omitted},\"truncated\":{},\"providers\":{counts}}}",
            omitted > 0
        )
    };

    // Each symbol is written once, and its text used in both forms.
    let Listed { text, ends } = list(symbols);
    let mut length = HEAD.len();
    let mut lengths = vec![length];
    for entry in ends.windows(2) {
        if let [start, end] = *entry {
            length += text.get(start..end).map_or(0, utf16::len);
        }
        lengths.push(length);
    }
    // The longest prefix that fits. A symbol that is too long is never skipped in favour of a later one.
    let shown = (1..=symbols.len())
        .rev()
        .find(|shown| {
            lengths
                .get(*shown)
                .is_some_and(|length| length + tail(*shown).len() <= max_chars)
        })
        .unwrap_or(0);
    let end = ends.get(shown).copied().unwrap_or(0);
    let counted = format!("],\"total\":{total},\"providers\":{counts}}}");
    Rendered {
        value: [HEAD, &text, &counted].concat(),
        content: [HEAD, text.get(..end).unwrap_or_default(), &tail(shown)].concat(),
    }
}

/// Symbols as JSON with commas between.
struct Listed {
    text: String,
    /// Where none of them, the first of them, the first two and so on end.
    ends: Vec<usize>,
}

fn list(symbols: &[Symbol]) -> Listed {
    let mut text = Vec::with_capacity(symbols.len() * USUAL_BYTES);
    let mut ends = vec![0];
    for symbol in symbols {
        if !text.is_empty() {
            text.push(b',');
        }
        js_json::write(&mut text, symbol);
        ends.push(text.len());
    }
    Listed {
        // What was written is UTF-8.
        text: String::from_utf8(text).unwrap_or_default(),
        ends,
    }
}

/// Room for a symbol.
const USUAL_BYTES: usize = 256;

const HEAD: &str = "{\"symbols\":[";

/// The JSON Schema of the canonical value, in DSH's subset.
pub const OUTPUT_SCHEMA: &str = r#"{"type":"object","properties":{"symbols":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"kind":{"type":"string"},"uri":{"type":"string"},"range":{"type":"object","properties":{"start":{"type":"object","properties":{"line":{"type":"integer"},"character":{"type":"integer"}},"required":["line","character"],"additionalProperties":false},"end":{"type":"object","properties":{"line":{"type":"integer"},"character":{"type":"integer"}},"required":["line","character"],"additionalProperties":false}},"required":["start","end"],"additionalProperties":false},"containerName":{"type":"string"}},"required":["name","kind","uri"],"additionalProperties":false}},"total":{"type":"integer"},"providers":{"type":"object","properties":{"succeeded":{"type":"integer"},"failed":{"type":"integer"},"unsupported":{"type":"integer"},"started":{"type":"integer"},"indexing":{"type":"integer"}},"required":["succeeded","failed","unsupported"],"additionalProperties":false}},"required":["symbols","total","providers"],"additionalProperties":false}"#;
