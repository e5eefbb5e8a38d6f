use super::contract::Window;

/// Keeps the last bytes of a stream, exactly as many as asked for.
#[derive(Debug)]
pub(super) struct Collector {
    /// The last bytes, at the end; up to as many again before them, so that bytes are moved rarely.
    buffer: Vec<u8>,
    limit: usize,
    total: u64,
}

impl Collector {
    /// Keeps at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            buffer: Vec::new(),
            limit,
            total: 0,
        }
    }

    /// Takes the next bytes of the stream.
    pub(super) fn push(&mut self, chunk: &[u8]) {
        self.total += chunk.len() as u64;
        let chunk = &chunk[chunk.len().saturating_sub(self.limit)..];
        if self.buffer.len() + chunk.len() > self.limit.saturating_mul(2) {
            let keep = self.limit - chunk.len();
            self.buffer.drain(..self.buffer.len() - keep);
        }
        self.buffer.extend_from_slice(chunk);
    }

    /// What is kept from byte `offset` of the stream on.
    pub(super) fn window(&self, offset: u64) -> Window {
        let kept = &self.buffer[self.buffer.len().saturating_sub(self.limit)..];
        let start = self.total - kept.len() as u64;
        let skip = usize::try_from(offset.saturating_sub(start)).unwrap_or(usize::MAX);
        Window {
            text: String::from_utf8_lossy(kept.get(skip..).unwrap_or_default()).into_owned(),
            next_offset: self.total,
            lossy: offset < start,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn window(text: &str, next_offset: u64, lossy: bool) -> Window {
        Window {
            text: text.into(),
            next_offset,
            lossy,
        }
    }

    #[test]
    fn exactly_the_limit_is_not_truncated_and_one_byte_more_is() {
        let mut collector = Collector::new(5);
        collector.push(b"abcde");
        assert_eq!(collector.window(0), window("abcde", 5, false));
        collector.push(b"f");
        assert_eq!(collector.window(0), window("bcdef", 6, true));
        assert_eq!(collector.window(1), window("bcdef", 6, false));
    }

    #[test]
    fn an_offset_inside_reads_on_and_one_at_or_past_the_end_reads_nothing() {
        let mut collector = Collector::new(10);
        collector.push(b"abcdef");
        assert_eq!(collector.window(4), window("ef", 6, false));
        assert_eq!(collector.window(6), window("", 6, false));
        assert_eq!(collector.window(u64::MAX), window("", 6, false));
    }

    #[test]
    fn two_streams_have_independent_limits() {
        let (mut small, mut large) = (Collector::new(2), Collector::new(100));
        for collector in [&mut small, &mut large] {
            collector.push(b"0123456789");
        }
        assert_eq!(small.window(0).text, "89");
        assert_eq!(large.window(0).text, "0123456789");
    }

    #[test]
    fn a_character_cut_at_the_start_is_replaced() {
        let mut collector = Collector::new(3);
        collector.push("xéa".as_bytes());
        assert_eq!(collector.window(0).text, "éa");
        collector.push(b"b");
        assert_eq!(collector.window(0).text, "\u{fffd}ab");
    }

    #[test]
    fn a_limit_of_nothing_keeps_nothing_but_counts() {
        let mut collector = Collector::new(0);
        collector.push(b"abc");
        assert_eq!(collector.window(0), window("", 3, true));
        assert_eq!(collector.window(3), window("", 3, false));
    }

    proptest! {
        #[test]
        fn any_chunking_keeps_the_same_tail_in_bounded_memory(
            chunks in prop::collection::vec(prop::collection::vec(b'a'..=b'z', 0..40), 0..30),
            limit in 0_usize..60,
            offset in 0_u64..1400,
        ) {
            let mut collector = Collector::new(limit);
            for chunk in &chunks {
                collector.push(chunk);
                prop_assert!(collector.buffer.len() <= 2 * limit);
            }
            let all = chunks.concat();
            let start = all.len().saturating_sub(limit);
            let from = usize::try_from(offset).unwrap().clamp(start, all.len());
            let expected = Window {
                text: String::from_utf8(all[from..].to_vec()).unwrap(),
                next_offset: all.len() as u64,
                lossy: offset < start as u64,
            };
            prop_assert_eq!(collector.window(offset), expected);
        }
    }
}
