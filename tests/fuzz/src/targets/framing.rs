//! The base protocol of LSP.

use super::pieces;
use dsh_workspace_intelligence::framing::{Decoder, FrameError, MAX_HEADER_BYTES, encode};

/// Bodies and the first breach, as a decoder finds them in these chunks.
fn decode(chunks: &[&[u8]], limit: usize) -> (Vec<Vec<u8>>, Option<FrameError>) {
    let (mut decoder, mut bodies) = (Decoder::new(limit), Vec::new());
    for chunk in chunks {
        decoder.push(chunk);
        loop {
            match decoder.next_body() {
                Ok(Some(body)) => bodies.push(body.to_vec()),
                Ok(None) => break,
                Err(error) => return (bodies, Some(error)),
            }
        }
    }
    (bodies, None)
}

/// The same, told without any state: SPEC 5 over the whole stream.
fn plainly(mut rest: &[u8], limit: usize) -> (Vec<Vec<u8>>, Option<FrameError>) {
    let mut bodies = Vec::new();
    let error = loop {
        let Some(end) = (0..rest.len()).find(|at| rest[*at..].starts_with(b"\r\n\r\n")) else {
            // What may yet become the end of a header block is none of it.
            let open = |at: usize| at <= MAX_HEADER_BYTES && b"\r\n\r\n".starts_with(&rest[at..]);
            let may_end = (rest.len().saturating_sub(3)..=rest.len()).any(open);
            break (!may_end).then_some(FrameError::HeaderTooLong);
        };
        if end > MAX_HEADER_BYTES {
            break Some(FrameError::HeaderTooLong);
        }
        let header = String::from_utf8_lossy(&rest[..end]).into_owned();
        let mut named = None;
        for line in header.split("\r\n") {
            if let Some(colon) = line.find(':')
                && line[..colon].trim().eq_ignore_ascii_case("content-length")
            {
                named = Some(line[colon + 1..].trim());
                break;
            }
        }
        let Some(value) = named else {
            break Some(FrameError::MissingLength);
        };
        let shown: String = value.chars().take(40).collect();
        if value.is_empty() || value.chars().any(|c| !c.is_ascii_digit()) {
            break Some(FrameError::InvalidLength(shown));
        }
        let digits = value.trim_start_matches('0');
        let fits = digits.len() <= 15 && digits.parse().unwrap_or(0) <= limit;
        if !fits {
            let length = shown;
            break Some(FrameError::TooLong { length, limit });
        }
        let length = digits.parse().unwrap_or(0);
        rest = &rest[end + 4..];
        if rest.len() < length {
            break None;
        }
        bodies.push(rest[..length].to_vec());
        rest = &rest[length..];
    };
    (bodies, error)
}

/// Writes a NUL, a byte and a count as so many times 257 copies of the byte: header blocks at their limit fit into small inputs.
fn expand(data: &[u8]) -> Vec<u8> {
    let (mut stream, mut rest) = (Vec::new(), data);
    while let Some((first, after)) = rest.split_first() {
        match (first, after) {
            (0, [byte, count, after @ ..]) if stream.len() < 1 << 18 => {
                stream.extend(std::iter::repeat_n(*byte, usize::from(*count) * 257));
                rest = after;
            }
            _ => {
                stream.push(*first);
                rest = after;
            }
        }
    }
    stream
}

/// A stream means the same however it is cut, and what the rules say; what is written is read back.
pub fn framing(data: &[u8]) {
    let [limit, seed, data @ ..] = data else {
        return;
    };
    let limit = usize::from(*limit) * 16;
    let stream = expand(data);
    let whole = decode(&[&stream], limit);
    assert_eq!(
        whole,
        decode(&pieces(&stream, *seed), limit),
        "cut in pieces"
    );
    let (head, tail) = stream.split_at(stream.len() * usize::from(*seed) / 256);
    assert_eq!(whole, decode(&[head, tail], limit), "cut in two");
    assert_eq!(whole, plainly(&stream, limit), "the rules");
    assert!(whole.0.iter().all(|body| body.len() <= limit));

    let text = String::from_utf8_lossy(data);
    let read = decode(&pieces(&encode(&text), *seed), text.len());
    assert_eq!(read, (vec![text.as_bytes().to_vec()], None), "round trip");
}
