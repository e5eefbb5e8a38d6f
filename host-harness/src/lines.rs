//! Lines of bounded length.

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// The longest line in bytes, without its end.
pub const MAX_LINE: usize = 32 << 20;

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A line without its end.
    Whole(Vec<u8>),
    /// A line beyond the bound; it was read past and forgotten.
    TooLong,
}

/// Reads lines. A future of [`Lines::next`] may be dropped: nothing that was read is lost.
#[derive(Debug)]
pub struct Lines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    max: usize,
    skipping: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Reads lines of up to `max` bytes.
    pub fn new(input: R, max: usize) -> Self {
        Self {
            input: BufReader::with_capacity(64 << 10, input),
            line: Vec::new(),
            max,
            skipping: false,
        }
    }

    /// The next line; none at the end. A last line without its end is no line.
    ///
    /// # Errors
    /// The input's.
    pub async fn next(&mut self) -> std::io::Result<Option<Line>> {
        loop {
            let found = self.input.fill_buf().await?;
            if found.is_empty() {
                return Ok(None);
            }
            let end = found.iter().position(|byte| *byte == b'\n');
            let part = &found[..end.unwrap_or(found.len())];
            if !self.skipping && self.line.len() + part.len() > self.max {
                self.skipping = true;
                self.line = Vec::new();
            }
            if !self.skipping {
                self.line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.input.consume(used);
            if end.is_some() {
                if std::mem::take(&mut self.skipping) {
                    return Ok(Some(Line::TooLong));
                }
                return Ok(Some(Line::Whole(std::mem::take(&mut self.line))));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(input: &[u8], max: usize) -> Vec<Line> {
        let mut lines = Lines::new(input, max);
        let mut found = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            found.push(line);
        }
        found
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.into())
    }

    #[tokio::test]
    async fn lines_are_bounded_and_a_long_one_costs_only_itself() {
        let found = read(b"abc\n\nabcd\nabcde\nx\nrest", 4).await;
        assert_eq!(
            found,
            [
                whole("abc"),
                whole(""),
                whole("abcd"),
                Line::TooLong,
                whole("x")
            ]
        );
        let mut long = vec![b'y'; 1 << 20];
        long.extend_from_slice(b"\nnext\n");
        assert_eq!(read(&long, 100).await, [Line::TooLong, whole("next")]);
    }
}
