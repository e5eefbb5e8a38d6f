//! Reads what `rg --only-matching --line-number` prints: `number:part` for each match, in chunks of any size (SPEC 5.5). No I/O.
//!
//! The number comes first, so a match can be cited however long it is, and only the beginning of a long part is kept.

use crate::output::MAX_TEXT_BYTES;
use crate::rg_json::{LineMatch, without_line_end};
use crate::text_cut::prefix;
use memchr::memchr;

/// The output broke the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable;

/// Turns a byte stream into the first match of each line.
#[derive(Debug, Default)]
pub struct PartReader {
    number: Option<u64>,
    in_part: bool,
    part: Vec<u8>,
    last: Option<u64>,
}

impl PartReader {
    /// Takes in the next bytes and appends to `out` what they complete. Memory is bounded by the chunk and 2,000 bytes.
    pub fn push(&mut self, chunk: &[u8], out: &mut Vec<LineMatch>) -> Result<(), Unreadable> {
        let mut rest = chunk;
        while let Some((byte, after)) = rest.split_first() {
            if self.in_part {
                let end = memchr(b'\n', rest);
                let taken = &rest[..end.unwrap_or(rest.len())];
                // One byte more than is shown: it may be the first half of the line's end.
                let room = MAX_TEXT_BYTES + 1 - self.part.len();
                self.part.extend_from_slice(&taken[..taken.len().min(room)]);
                rest = &rest[taken.len()..];
                if end.is_some() {
                    rest = &rest[1..];
                    out.extend(self.complete());
                }
                continue;
            }
            rest = after;
            match byte {
                b'0'..=b'9' => {
                    let number = self.number.unwrap_or(0).checked_mul(10);
                    let number = number.and_then(|n| n.checked_add(u64::from(byte - b'0')));
                    self.number = Some(number.ok_or(Unreadable)?);
                }
                b':' if self.number.is_some() => self.in_part = true,
                _ => return Err(Unreadable),
            }
        }
        Ok(())
    }

    /// What the stream holds of a match that was cut off, if its number was complete.
    pub fn finish(mut self) -> Option<LineMatch> {
        if self.in_part { self.complete() } else { None }
    }

    /// Whether the stream so far ends with a line end.
    pub fn is_drained(&self) -> bool {
        !self.in_part && self.number.is_none()
    }

    /// Ends the current match; none when its line was already reported.
    fn complete(&mut self) -> Option<LineMatch> {
        self.in_part = false;
        let part = std::mem::take(&mut self.part);
        let line = self.number.take()?;
        if self.last.replace(line) == Some(line) {
            return None;
        }
        let part = String::from_utf8_lossy(&part);
        Some(LineMatch {
            line,
            text: prefix(without_line_end(&part), MAX_TEXT_BYTES).to_owned(),
            // The part is not the line.
            truncated: true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(chunks: &[&[u8]]) -> Result<Vec<(u64, String)>, Unreadable> {
        let mut reader = PartReader::default();
        let mut out = Vec::new();
        for chunk in chunks {
            reader.push(chunk, &mut out)?;
        }
        out.extend(reader.finish());
        Ok(out
            .into_iter()
            .map(|found| (found.line, found.text))
            .collect())
    }

    #[test]
    fn the_first_match_of_each_line_is_kept() {
        let found = read(&[b"2:hit\n2:hat\n3:a:12:b\r\n17:\n"]).unwrap();
        let expected = [(2, "hit"), (3, "a:12:b"), (17, "")];
        assert_eq!(found, expected.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn a_match_that_was_cut_off_is_cited_once_its_number_is_known() {
        assert_eq!(read(&[b"12:hal"]).unwrap(), [(12, "hal".to_owned())]);
        assert_eq!(read(&[b"12:"]).unwrap(), [(12, String::new())]);
        assert_eq!(read(&[b"12"]).unwrap(), []);
    }

    #[test]
    fn a_long_part_is_shown_from_its_beginning() {
        let mut output = b"1:".to_vec();
        output.extend("é".repeat(5_000).bytes());
        output.extend(b"\n2:x\n");
        let found = read(&[&output]).unwrap();
        assert_eq!(found, [(1, "é".repeat(1_000)), (2, "x".to_owned())]);
    }

    #[test]
    fn other_output_is_refused() {
        for bad in [
            &b":x\n"[..],
            b"a:x\n",
            b"1x\n",
            b"\n",
            b"99999999999999999999:x\n",
        ] {
            assert_eq!(read(&[bad]), Err(Unreadable), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn chunks_make_no_difference(parts in proptest::collection::vec((1u64..50, "[^\n]{0,8}|x{1990,2010}"), 0..8), cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..6)) {
            let output: Vec<u8> = parts.iter().flat_map(|(line, part)| format!("{line}:{part}\n").into_bytes()).collect();
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(output.len() + 1)).collect();
            at.extend([0, output.len()]);
            at.sort_unstable();
            let chunks: Vec<&[u8]> = at.windows(2).map(|pair| &output[pair[0]..pair[1]]).collect();
            prop_assert_eq!(read(&chunks), read(&[&output]));
        }

        #[test]
        fn any_bytes_are_judged_without_a_panic(chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..6)) {
            let chunks: Vec<&[u8]> = chunks.iter().map(Vec::as_slice).collect();
            if let Ok(found) = read(&chunks) {
                prop_assert!(found.iter().all(|(_, text)| text.len() <= MAX_TEXT_BYTES));
            }
        }
    }
}
