//! The base protocol of LSP: a header block, then a JSON body (SPEC 5).

/// Most bytes that a header block may have, its terminator not counted.
pub const MAX_HEADER_BYTES: usize = 65_536;

const TERMINATOR: &[u8] = b"\r\n\r\n";

/// Why the position in a server's output is lost. None of these can be recovered from (SPEC 5.4).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// No end of the header block within [`MAX_HEADER_BYTES`].
    #[error("header block is longer than {MAX_HEADER_BYTES} bytes")]
    HeaderTooLong,
    /// A header block that does not say how long the body is.
    #[error("missing Content-Length header")]
    MissingLength,
    /// A length that is not written in decimal digits alone.
    #[error("invalid Content-Length header: {0:?}")]
    InvalidLength(String),
    /// A body longer than the deployer allows.
    #[error("message of {length} bytes exceeds maxMessageBytes ({limit})")]
    TooLong {
        /// The announced length, as written.
        length: String,
        /// `maxMessageBytes` of the server.
        limit: usize,
    },
    /// A body that is no JSON value.
    #[error("body is not valid JSON: {0}")]
    NotJson(String),
}

/// Frames one message.
pub fn encode(body: &str) -> Vec<u8> {
    let mut frame = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    frame.extend_from_slice(body.as_bytes());
    frame
}

/// A buffer that is larger than this is given back once it has been read.
const KEPT_BYTES: usize = 1 << 20;

/// Cuts a byte stream into message bodies. Buffers at most one message and the chunk that completed it.
#[derive(Debug, Default)]
pub struct Decoder {
    max_body: usize,
    buffer: Vec<u8>,
    /// Bytes of `buffer` that are already consumed.
    start: usize,
    /// Bytes of the header block that are known to hold no terminator.
    scanned: usize,
    /// The length of the body that is awaited, once its header block was read.
    body: Option<usize>,
}

impl Decoder {
    /// A decoder at the start of a stream; bodies of up to `max_body` bytes are accepted.
    pub fn new(max_body: usize) -> Self {
        Self {
            max_body,
            buffer: Vec::new(),
            start: 0,
            scanned: 0,
            body: None,
        }
    }

    /// The longest body, in bytes.
    pub fn max_body(&self) -> usize {
        self.max_body
    }

    /// Appends what was read.
    pub fn push(&mut self, chunk: &[u8]) {
        // Consumed bytes are dropped once per chunk, so that many messages in one chunk cost one move in all.
        if self.start == self.buffer.len() && self.buffer.capacity() > KEPT_BYTES {
            self.buffer = Vec::new();
        } else {
            self.buffer.drain(..self.start);
        }
        self.start = 0;
        // Of a long body all comes into one piece of memory: growing it by doubling would take up to three times as much.
        if let Some(body) = self.body.filter(|body| *body > self.buffer.len()) {
            self.buffer.reserve_exact(body - self.buffer.len());
        }
        self.buffer.extend_from_slice(chunk);
    }

    /// The next complete body, or `None` until more bytes are pushed.
    pub fn next_body(&mut self) -> Result<Option<&[u8]>, FrameError> {
        let length = match self.body {
            Some(length) => length,
            None => match self.read_header()? {
                Some(length) => *self.body.insert(length),
                None => return Ok(None),
            },
        };
        if self.buffer.len() - self.start < length {
            return Ok(None);
        }
        let from = self.start;
        self.start += length;
        self.body = None;
        Ok(self.buffer.get(from..self.start))
    }

    fn read_header(&mut self) -> Result<Option<usize>, FrameError> {
        let rest = self.buffer.get(self.start..).unwrap_or_default();
        let unscanned = rest.get(self.scanned..).unwrap_or_default();
        let Some(found) = find_terminator(unscanned) else {
            // The last bytes may be the beginning of the terminator: the chunk may have been cut anywhere.
            let begun = (1..TERMINATOR.len()).filter(|count| rest.ends_with(&TERMINATOR[..*count]));
            if rest.len() - begun.max().unwrap_or(0) > MAX_HEADER_BYTES {
                return Err(FrameError::HeaderTooLong);
            }
            self.scanned = rest.len().saturating_sub(TERMINATOR.len() - 1);
            return Ok(None);
        };
        let end = self.scanned + found;
        if end > MAX_HEADER_BYTES {
            return Err(FrameError::HeaderTooLong);
        }
        let length = content_length(rest.get(..end).unwrap_or_default(), self.max_body)?;
        self.start += end + TERMINATOR.len();
        self.scanned = 0;
        Ok(Some(length))
    }
}

fn find_terminator(bytes: &[u8]) -> Option<usize> {
    bytes
        .windows(TERMINATOR.len())
        .position(|window| window == TERMINATOR)
}

/// Reads a header block. Lines without a colon are skipped: some servers print a banner before their first header (SPEC 5.2).
fn content_length(header: &[u8], limit: usize) -> Result<usize, FrameError> {
    let text = String::from_utf8_lossy(header);
    let value = text
        .split("\r\n")
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("content-length"))
        .map(|(_, value)| value.trim())
        .ok_or(FrameError::MissingLength)?;
    if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(FrameError::InvalidLength(value.chars().take(40).collect()));
    }
    match value.parse::<usize>() {
        Ok(length) if length <= limit => Ok(length),
        // Digits alone fail to parse only when the number is too large for any limit.
        _ => Err(FrameError::TooLong {
            length: value.chars().take(40).collect(),
            limit,
        }),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "this is how a test fails")]
mod tests {
    use super::*;

    #[test]
    fn messages_of_any_size_follow_one_another() {
        let sizes = [2, KEPT_BYTES + 1, 2, 3 * KEPT_BYTES, KEPT_BYTES, 1, 0];
        for chunk in [1 << 16, KEPT_BYTES, 1 << 30] {
            let mut decoder = Decoder::new(4 * KEPT_BYTES);
            for size in sizes {
                let frame = encode(&"x".repeat(size));
                let mut found = None;
                for piece in frame.chunks(chunk) {
                    assert_eq!(found, None);
                    decoder.push(piece);
                    found = decoder.next_body().unwrap().map(<[u8]>::len);
                }
                assert_eq!(found, Some(size));
            }
        }
    }
}
