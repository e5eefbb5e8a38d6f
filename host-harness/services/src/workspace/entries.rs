//! The entries of one directory: collected in bounded memory, put in order, packed.

use std::cmp::Ordering;

use super::{EntryKind, Listing};

/// Entries that are held before the first cut, however small the limit is.
const MIN_HELD: usize = 8_192;

/// What one thread uses again for every directory that it reads.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// Room for what the system writes.
    buffer: Vec<u8>,
    /// The names of all held entries, back to back.
    text: String,
    held: Vec<Held>,
}

/// Collects entries and keeps the first `limit` in order, without holding many more than that.
#[derive(Debug)]
pub(super) struct Collector<'a> {
    text: &'a mut String,
    held: &'a mut Vec<Held>,
    limit: usize,
    offered: u64,
}

#[derive(Debug, Clone, Copy)]
struct Held {
    start: usize,
    end: usize,
    kind: EntryKind,
}

impl Held {
    fn name<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.start..self.end).unwrap_or_default()
    }
}

impl Scratch {
    /// An empty collector, and the buffer to read with.
    pub(super) fn collect(&mut self, limit: usize) -> (Collector<'_>, &mut Vec<u8>) {
        self.text.clear();
        self.held.clear();
        let collector = Collector {
            text: &mut self.text,
            held: &mut self.held,
            limit,
            offered: 0,
        };
        (collector, &mut self.buffer)
    }
}

impl Collector<'_> {
    pub(super) fn push(&mut self, name: &str, kind: EntryKind) {
        let start = self.text.len();
        self.text.push_str(name);
        self.held.push(Held {
            start,
            end: self.text.len(),
            kind,
        });
        self.offered += 1;
        if self.held.len() >= MIN_HELD.max(self.limit.saturating_mul(2)) {
            self.cut();
            self.compact();
        }
    }

    /// Drops whatever cannot be among the first `limit`. Each cut drops at least half of what is held, so all cuts
    /// together cost time linear in the size of the directory.
    fn cut(&mut self) {
        if self.held.len() > self.limit {
            let order = order_for(self.text);
            let text = self.text.as_str();
            self.held
                .select_nth_unstable_by(self.limit, |a, b| order(text, a, b));
            self.held.truncate(self.limit);
        }
    }

    /// Frees the names that were dropped.
    fn compact(&mut self) {
        let mut text = String::with_capacity(self.text.len());
        for held in self.held.iter_mut() {
            let start = text.len();
            text.push_str(held.name(self.text));
            *held = Held {
                start,
                end: text.len(),
                kind: held.kind,
            };
        }
        *self.text = text;
    }

    /// The listing, with the entries marked that `is_ignored` names.
    pub(super) fn finish(mut self, mut is_ignored: impl FnMut(&str, EntryKind) -> bool) -> Listing {
        self.cut();
        let order = order_for(self.text);
        let text = self.text.as_str();
        self.held.sort_unstable_by(|a, b| order(text, a, b));
        let mut listing = Listing {
            names: String::with_capacity(text.len() + self.held.len()),
            kinds: Vec::with_capacity(self.held.len()),
            ignored: Vec::new(),
            omitted: self.offered - self.held.len() as u64,
        };
        for (position, held) in (0..).zip(self.held.iter()) {
            let name = held.name(text);
            listing.names.push_str(name);
            listing.names.push('/');
            listing.kinds.push(held.kind);
            if is_ignored(name, held.kind) {
                listing.ignored.push(position);
            }
        }
        listing
    }
}

/// How to compare the entries whose names are in `text`. Without characters beyond U+FFFF the bytes give the order.
fn order_for(text: &str) -> fn(&str, &Held, &Held) -> Ordering {
    if text.bytes().any(|byte| byte >= 0xF0) {
        |text, a, b| utf16_order(a.name(text), b.name(text)).then(by_kind(a, b))
    } else {
        |text, a, b| a.name(text).cmp(b.name(text)).then(by_kind(a, b))
    }
}

/// Two different names can show the same text once ill-formed parts are replaced; the kind then keeps the order fixed.
fn by_kind(a: &Held, b: &Held) -> Ordering {
    (a.kind as u8).cmp(&(b.kind as u8))
}

/// Compares as UTF-16 code units would, on UTF-8. The two orders differ in one thing: surrogates (lead bytes F0 to F4)
/// come before U+E000 to U+FFFF (lead bytes EE and EF). Equal text before the first difference means that both bytes
/// there begin a character or both continue one, and no continuation byte is as high as these lead bytes.
fn utf16_order(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    match a.iter().zip(b).find(|(x, y)| x != y) {
        Some((x, y)) if *x >= 0xEE && *y >= 0xEE => utf16_rank(*x).cmp(&utf16_rank(*y)),
        Some((x, y)) => x.cmp(y),
        None => a.len().cmp(&b.len()),
    }
}

/// Moves the lead bytes EE and EF behind F0 to F4.
fn utf16_rank(lead: u8) -> u8 {
    if lead < 0xF0 { lead + 0x10 } else { lead }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn collect<'a>(limit: usize, names: impl IntoIterator<Item = &'a str>) -> Listing {
        let mut scratch = Scratch::default();
        let (mut collector, _) = scratch.collect(limit);
        for name in names {
            collector.push(name, EntryKind::File);
        }
        collector.finish(|_, _| false)
    }

    #[test]
    fn surrogates_come_before_the_private_use_area() {
        let listing = collect(
            9,
            [
                "\u{ffee}",
                "\u{1f600}",
                "\u{e000}",
                "\u{d7ff}",
                "z",
                "\u{10ffff}",
                "Z",
            ],
        );
        assert_eq!(
            listing.names,
            "Z/z/\u{d7ff}/\u{1f600}/\u{10ffff}/\u{e000}/\u{ffee}/"
        );
    }

    #[test]
    fn a_huge_directory_is_held_in_twice_the_limit() {
        let names: Vec<String> = (0..100_000_u32)
            .map(|n| format!("{:06}", n.wrapping_mul(48_271) % 100_003))
            .collect();
        let mut scratch = Scratch::default();
        let (mut collector, _) = scratch.collect(6_000);
        let mut most = 0;
        for name in &names {
            collector.push(name, EntryKind::File);
            most = most.max(collector.held.len());
            assert!(
                collector.text.len() <= 12_000 * 6,
                "the names of dropped entries are freed"
            );
        }
        assert!(most < 12_000, "{most} entries were held");
        let listing = collector.finish(|_, _| false);
        let mut sorted = names.clone();
        sorted.sort();
        assert_eq!(listing.omitted, 94_000);
        assert!(
            listing
                .names
                .split_terminator('/')
                .eq(sorted.iter().take(6_000).map(String::as_str))
        );
    }

    #[test]
    fn a_limit_of_zero_holds_nothing_in_the_end() {
        let listing = collect(0, ["a", "b"]);
        assert_eq!(
            listing,
            Listing {
                omitted: 2,
                ..Listing::default()
            }
        );
    }

    proptest! {
        #[test]
        fn order_is_that_of_utf16(a in "[a\u{d7ff}\u{e000}\u{ffff}\u{10000}\u{10ffff}é]{0,4}", b in "[a\u{d7ff}\u{e000}\u{ffff}\u{10000}\u{10ffff}é]{0,4}") {
            prop_assert_eq!(utf16_order(&a, &b), a.encode_utf16().cmp(b.encode_utf16()));
        }

        #[test]
        fn order_is_that_of_utf16_for_any_text(a in any::<String>(), b in any::<String>()) {
            prop_assert_eq!(utf16_order(&a, &b), a.encode_utf16().cmp(b.encode_utf16()));
        }

        #[test]
        fn the_first_entries_are_kept_and_the_rest_counted(names in proptest::collection::btree_set("[a-c\u{e000}\u{10000}]{1,5}", 0..40), limit in 0_usize..50) {
            let listing = collect(limit, names.iter().map(String::as_str));
            let mut sorted: Vec<&str> = names.iter().map(String::as_str).collect();
            sorted.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
            let kept = limit.min(sorted.len());
            prop_assert!(listing.names.split_terminator('/').eq(sorted[..kept].iter().copied()));
            prop_assert_eq!(listing.kinds.len(), kept);
            prop_assert_eq!(listing.omitted as usize, sorted.len() - kept);
        }
    }
}
