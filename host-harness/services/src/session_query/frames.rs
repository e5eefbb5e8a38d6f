//! The Zstandard frames of a log (SPEC-sessions 3.3).

use zstd::zstd_safe::{self, DCtx, InBuffer, OutBuffer};

const MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// How much plain text is decoded at a time.
const STEP: usize = 256 * 1024;

/// Where a frame ends.
#[derive(Debug, PartialEq, Eq)]
pub enum Extent {
    /// A whole frame of that many bytes.
    Complete(usize),
    /// The file ends inside the frame.
    Torn,
}

/// Measures the frame at the start of `bytes`, which lie at the offset `at` of the file.
///
/// # Errors
/// Bytes that are no frame.
pub fn measure(bytes: &[u8], at: u64) -> Result<Extent, String> {
    let head = bytes.get(..4).unwrap_or(bytes);
    if head.len() < 4 {
        // Fewer bytes than a magic number may be the beginning of one that is still being written.
        return Ok(Extent::Torn);
    }
    // Skippable frames are frames to the library, and damage to the engines.
    if head != MAGIC {
        return Err(format!(
            "corrupt Zstandard session log: invalid frame magic at byte {at}"
        ));
    }
    if bytes
        .get(4)
        .is_some_and(|descriptor| descriptor & 0b0000_1000 != 0)
    {
        return Err(format!(
            "corrupt Zstandard session log: reserved frame-header bit at byte {}",
            at + 4
        ));
    }
    match zstd_safe::find_frame_compressed_size(bytes) {
        Ok(size) => Ok(Extent::Complete(size)),
        Err(code) if zstd_safe::get_error_name(code) == "Src size is incorrect" => Ok(Extent::Torn),
        Err(code) => Err(format!(
            "corrupt Zstandard session log: frame at byte {at}: {}",
            zstd_safe::get_error_name(code)
        )),
    }
}

/// Decodes one frame, or what there is of a torn one, and hands over the plain text piece by piece.
pub struct FrameDecoder {
    context: DCtx<'static>,
    buffer: Vec<u8>,
}

/// What ended the decoding of a frame.
#[derive(Debug)]
pub enum DecodeError<E> {
    /// The frame is damaged.
    Damaged,
    /// The receiver gave up.
    Receiver(E),
}

impl FrameDecoder {
    pub fn new() -> Self {
        Self {
            context: DCtx::create(),
            buffer: Vec::with_capacity(STEP),
        }
    }

    /// Decodes the frame that fills `bytes`.
    ///
    /// # Errors
    /// A damaged frame (also a wrong checksum), or what the receiver answered.
    pub fn decode<E>(
        &mut self,
        bytes: &[u8],
        mut receive: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), DecodeError<E>> {
        self.context
            .reset(zstd_safe::ResetDirective::SessionOnly)
            .map_err(|_| DecodeError::Damaged)?;
        let mut input = InBuffer::around(bytes);
        loop {
            self.buffer.clear();
            let mut output = OutBuffer::around(&mut self.buffer);
            let hint = self
                .context
                .decompress_stream(&mut output, &mut input)
                .map_err(|_| DecodeError::Damaged)?;
            let produced = self.buffer.len();
            receive(&self.buffer).map_err(DecodeError::Receiver)?;
            let starved = input.pos() == bytes.len() && produced < STEP;
            if hint == 0 || starved {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(text: &str) -> Vec<u8> {
        let mut encoder = zstd::stream::Encoder::new(Vec::new(), 3).expect("an encoder");
        encoder.include_checksum(true).expect("a checksum");
        std::io::Write::write_all(&mut encoder, text.as_bytes()).expect("memory");
        encoder.finish().expect("memory")
    }

    fn decode(bytes: &[u8]) -> Option<String> {
        let mut plain = Vec::new();
        let result = FrameDecoder::new().decode(bytes, |piece| {
            plain.extend_from_slice(piece);
            Ok::<_, ()>(())
        });
        result
            .is_ok()
            .then(|| String::from_utf8(plain).expect("UTF-8"))
    }

    #[test]
    fn frames_are_measured_and_decoded() {
        let text = "line\n".repeat(400_000);
        let mut bytes = frame(&text);
        let size = bytes.len();
        bytes.extend(frame("next\n"));
        assert_eq!(measure(&bytes, 0), Ok(Extent::Complete(size)));
        assert_eq!(decode(&bytes[..size]), Some(text));
        assert_eq!(decode(&bytes[size..]).as_deref(), Some("next\n"));
        assert_eq!(decode(&frame("")).as_deref(), Some(""));
    }

    #[test]
    fn every_cut_is_torn_and_every_flipped_checksum_is_damage() {
        let bytes = frame(&"some text ".repeat(100));
        for cut in 0..bytes.len() {
            assert_eq!(measure(&bytes[..cut], 0), Ok(Extent::Torn), "cut at {cut}");
        }
        let mut flipped = bytes.clone();
        if let Some(last) = flipped.last_mut() {
            *last ^= 1;
        }
        assert_eq!(measure(&flipped, 0), Ok(Extent::Complete(bytes.len())));
        assert_eq!(decode(&flipped), None);
    }

    #[test]
    fn other_bytes_are_damage() {
        assert!(measure(b"{\"type\":\"session\"}", 7).is_err_and(|why| why.contains("at byte 7")));
        // A skippable frame.
        assert!(measure(&[0x50, 0x2A, 0x4D, 0x18, 0, 0, 0, 0], 0).is_err());
        let mut reserved = frame("x");
        reserved[4] |= 0b0000_1000;
        assert!(measure(&reserved, 0).is_err());
    }
}
