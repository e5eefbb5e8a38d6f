//! The text condition beside a plain telling of its rule.

use super::logs::{Root, documents};
use dsh_services::session_query::{EventFilter, SessionQueryError};
use serde_json::json;

thread_local! {
    static ROOT: Root = Root::new("session.jsonl");
}

/// JavaScript's white space, as its specification lists it.
fn is_space(c: char) -> bool {
    let points = [
        0x9, 0xA, 0xB, 0xC, 0xD, 0x20, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF,
    ];
    points.contains(&(c as u32)) || (0x2000..=0x200A).contains(&(c as u32))
}

/// Equality under simple case folding, by the mappings of single characters. The two dotless and dotted letters fold to themselves, although
/// the mappings of the standard library lead from them to the plain letter.
pub fn same_letter(a: char, b: char) -> bool {
    let turkish = |c| matches!(c, 'ı' | 'İ');
    if a == b || turkish(a) || turkish(b) {
        return a == b;
    }
    let single = |mut mapped: Box<dyn Iterator<Item = char>>| {
        mapped.next().filter(|_| mapped.next().is_none())
    };
    let variants = |c: char| {
        let mut all = vec![c];
        for _ in 0..2 {
            for c in all.clone() {
                all.extend(single(Box::new(c.to_lowercase())));
                all.extend(single(Box::new(c.to_uppercase())));
            }
        }
        all
    };
    let of_b = variants(b);
    variants(a).iter().any(|variant| of_b.contains(variant))
}

/// Whether `text` has the words of `query` somewhere, with any white space where the query has some.
fn contains(text: &str, query: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let words: Vec<Vec<char>> = query
        .split(is_space)
        .filter(|w| !w.is_empty())
        .map(|w| w.chars().collect())
        .collect();
    (0..text.len()).any(|from| words_at(&text, from, &words))
}

fn words_at(text: &[char], from: usize, words: &[Vec<char>]) -> bool {
    let Some((word, rest)) = words.split_first() else {
        return true;
    };
    let Some(part) = text.get(from..from + word.len()) else {
        return false;
    };
    if !part.iter().zip(word).all(|(a, b)| same_letter(*a, *b)) {
        return false;
    }
    let after = from + word.len();
    let spaces = text[after..].iter().take_while(|c| is_space(**c)).count();
    rest.is_empty() || (spaces > 0 && words_at(text, after + spaces, rest))
}

/// The first line is the query, each further one the text of a message, in which a tab is read as a line feed.
pub fn text_filter(data: &[u8]) {
    let given = String::from_utf8_lossy(data);
    let mut lines = given.split('\n').map(|line| line.replace('\t', "\n"));
    let query = lines.next().unwrap_or_default();
    let texts: Vec<String> = lines.take(40).collect();
    let mut log = json!({"type":"session","version":0,"id":"s","createdAt":1,"cwd":"/work/app","delegationDepth":0}).to_string() + "\n";
    for (seq, text) in texts.iter().enumerate() {
        let data = json!({"id": format!("m{seq}"), "role": "user", "content": [{"type": "text", "text": text}], "source": {"kind": "user"}});
        log += &json!({"type": "user/message", "seq": seq, "time": seq, "surfaceOp": "append", "data": data}).to_string();
        log.push('\n');
    }
    ROOT.with(|root| {
        root.write(log.as_bytes());
        let service = root.service();
        let trimmed = |text: &str| text.trim_matches(is_space).to_owned();
        let all: Vec<(u64, String)> = texts
            .iter()
            .enumerate()
            .map(|(seq, text)| (seq as u64, trimmed(text)))
            .filter(|(_, text)| !text.is_empty())
            .collect();
        assert_eq!(documents(&service, &[]).unwrap(), all);
        let found = documents(&service, &[EventFilter::Text(query.clone())]);
        let trimmed = trimmed(&query);
        if trimmed.is_empty() || trimmed.len() > 8 * 1024 {
            assert!(matches!(found, Err(SessionQueryError::InvalidFilter(_))));
            return;
        }
        let expected: Vec<(u64, String)> = all
            .into_iter()
            .filter(|(_, text)| contains(text, &query))
            .collect();
        assert_eq!(found.unwrap(), expected);
    });
}
