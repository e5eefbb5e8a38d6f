//! The answers as one JSON value each, kept within a size that DSH passes on uncut (SPEC 7).

use crate::text_cut::prefix;
use dsh_guest_support::js_json;
use serde::Serialize;

/// The most bytes of an answer. DSH stores results above 50,000 bytes in a file and shows head and tail, which is no JSON any more.
pub const MAX_ANSWER_BYTES: usize = 48_000;
/// The most bytes of text of one match.
pub const MAX_TEXT_BYTES: usize = 2_000;
/// The most bytes that an event type may take. DSH's own are far shorter; a log may hold any.
const MAX_TYPE_BYTES: usize = 96;
/// The most bytes that one byte of text takes in JSON: a control character becomes `\u0001`.
const MAX_ESCAPE_BYTES: usize = 6;

/// An answer with matches.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Matches<T> {
    /// Where they were found; `context_query` does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<&'static str>,
    /// The matches in order.
    pub matches: Vec<T>,
    /// Whether there are more, or may be.
    pub truncated: bool,
    /// The sequence number of the first match that is not here.
    #[serde(rename = "nextSeq", skip_serializing_if = "Option::is_none")]
    pub next_seq: Option<u64>,
    /// What the model should know about this answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
}

impl<T: Serialize> Matches<T> {
    /// The answer that is as long as any with no match in it can be.
    fn frame(source: Option<&'static str>, note: Option<&'static str>) -> Self {
        Matches {
            source,
            matches: Vec::new(),
            // The longer value of the two is `false`.
            truncated: false,
            next_seq: Some(crate::config::MAX_SAFE_INTEGER),
            note,
        }
    }

    /// The JSON text.
    pub fn to_json(&self) -> String {
        js_json::stringify(self)
    }
}

/// What is left of an answer's size.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    left: usize,
}

impl Budget {
    /// The size that matches may take in an answer with this source and note.
    pub fn for_matches(source: Option<&'static str>, note: Option<&'static str>) -> Self {
        let frame = js_json::stringify(&Matches::<()>::frame(source, note)).len();
        Budget {
            left: MAX_ANSWER_BYTES.saturating_sub(frame),
        }
    }

    /// The same as the bound of a page: what all matches may take, and what each takes besides its text and its event type, where
    /// `longest` is a match with neither that is as long as any can be. What comes within it fits into the answer.
    pub fn of_page<T: Serialize>(self, longest: &T) -> (u32, u32) {
        // With its comma. Quotes of an empty text or type count twice, which is only the safer side.
        let each = js_json::stringify(longest).len() + 1;
        let bytes = |size: usize| u32::try_from(size).unwrap_or(u32::MAX);
        (bytes(self.left), bytes(each))
    }

    /// Takes the size of one more item and its comma; false, and nothing taken, when it does not fit.
    pub fn take<T: Serialize>(&mut self, item: &T) -> bool {
        let size = js_json::stringify(item).len() + 1;
        match self.left.checked_sub(size) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }
}

/// Puts ascending matches of the session into an answer: as many as fit, and where to go on.
///
/// `items` are pairs of a sequence number and its match, `rest` is the first match that the service did not return. The sequence number to
/// go on from is that of the first match left out, so that a caller who follows it sees every match once.
pub fn page<T: Serialize>(
    source: Option<&'static str>,
    note: Option<&'static str>,
    items: impl IntoIterator<Item = (u64, T)>,
    rest: Option<u64>,
) -> Matches<T> {
    let mut budget = Budget::for_matches(source, note);
    let mut matches = Vec::new();
    let mut next_seq = rest;
    for (seq, item) in items {
        if !budget.take(&item) {
            next_seq = Some(seq);
            break;
        }
        matches.push(item);
    }
    Matches {
        source,
        matches,
        truncated: next_seq.is_some(),
        next_seq,
        note,
    }
}

/// An event type, cut so that even escaped it takes at most 96 bytes.
pub fn short_type(event_type: &str) -> &str {
    let cut = prefix(event_type, MAX_TYPE_BYTES);
    if js_json::stringify(cut).len() <= MAX_TYPE_BYTES + 2 {
        cut
    } else {
        prefix(cut, MAX_TYPE_BYTES / MAX_ESCAPE_BYTES)
    }
}

/// How an event of the session is cited.
pub fn session_citation(seq: u64) -> String {
    format!("session:{seq}")
}

/// How a line of a spill file is cited.
pub fn line_citation(path: &str, line: u64) -> String {
    format!("{path}:{line}")
}

/// For `skip_serializing_if`: the mark `truncated` of a single match is only written when it is set.
pub fn is_false(value: &bool) -> bool {
    !*value
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn follow(lengths: &[usize], limit: usize) -> Vec<u64> {
        // A log whose event `k` has the sequence number 3k + 1: pages must neither skip nor repeat across gaps.
        let log: Vec<(u64, String)> = lengths
            .iter()
            .enumerate()
            .map(|(k, length)| (3 * k as u64 + 1, "\u{1}".repeat(*length)))
            .collect();
        let mut seen = Vec::new();
        let mut from = Some(0);
        while let Some(seq) = from {
            let mut rest = log.iter().filter(|(s, _)| *s >= seq);
            let items: Vec<_> = rest.by_ref().take(limit).cloned().collect();
            let answer = page(None, None, items, rest.next().map(|(s, _)| *s));
            assert!(answer.to_json().len() <= MAX_ANSWER_BYTES);
            assert_eq!(answer.truncated, answer.next_seq.is_some());
            assert!(!answer.matches.is_empty() || answer.next_seq.is_none());
            let shown = log
                .iter()
                .filter(|(s, _)| *s >= seq)
                .take(answer.matches.len());
            seen.extend(shown.map(|(s, _)| *s));
            from = answer.next_seq;
        }
        seen
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn following_next_seq_shows_every_match_once(lengths in proptest::collection::vec(0usize..=MAX_TEXT_BYTES, 0..60), limit in 1usize..30) {
            let all: Vec<u64> = (0..lengths.len() as u64).map(|k| 3 * k + 1).collect();
            prop_assert_eq!(follow(&lengths, limit), all);
        }
    }

    #[test]
    fn keys_come_in_the_documented_order() {
        let answer = Matches {
            source: Some("session"),
            matches: vec![1, 2],
            truncated: true,
            next_seq: Some(9),
            note: Some("n"),
        };
        assert_eq!(
            answer.to_json(),
            r#"{"source":"session","matches":[1,2],"truncated":true,"nextSeq":9,"note":"n"}"#
        );
    }

    #[test]
    fn an_answer_may_be_exactly_as_long_as_the_bound() {
        let frame = js_json::stringify(&Matches::<()>::frame(None, None)).len();
        // Two quotes and the comma, which the only match does not need.
        let fits = "x".repeat(MAX_ANSWER_BYTES - frame - 3);
        let answer = page(None, None, [(0, fits.clone())], None);
        assert_eq!(answer.matches.len(), 1);
        let answer = page(None, None, [(5, format!("{fits}x"))], None);
        assert_eq!((answer.matches.len(), answer.next_seq), (0, Some(5)));
    }
}
