//! Reading a part of a log's plain text again, after the log itself was read.

use std::io;
use std::os::unix::fs::FileExt;

use super::discovery::Found;
use super::frames::{DecodeError, FrameDecoder};
use super::layout::Compression;
use super::load::Loaded;
use super::revision;

/// The plain text from one offset to another, read anew from the file.
///
/// # Errors
/// A file that is not what it was any more.
pub fn plain(found: &Found, loaded: &Loaded, start: u64, end: u64) -> io::Result<Vec<u8>> {
    let file = revision::open(&found.path)?;
    let changed = || {
        io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "the log changed while it was read",
        )
    };
    let wanted = usize::try_from(end - start).map_err(io::Error::other)?;
    if found.name.compression == Compression::None {
        let mut bytes = vec![0; wanted];
        file.read_exact_at(&mut bytes, start)?;
        return Ok(bytes);
    }
    let first = loaded
        .frames
        .partition_point(|frame| frame.plain <= start)
        .saturating_sub(1);
    let mut plain = Vec::with_capacity(wanted);
    let mut decoder = FrameDecoder::new();
    for (index, frame) in loaded.frames.iter().enumerate().skip(first) {
        if frame.plain >= end {
            break;
        }
        let frame_end = loaded
            .frames
            .get(index + 1)
            .map_or(loaded.revision.size, |next| next.file);
        let mut bytes = vec![0; usize::try_from(frame_end - frame.file).map_err(io::Error::other)?];
        file.read_exact_at(&mut bytes, frame.file)?;
        let mut at = frame.plain;
        let decoded = decoder.decode(&bytes, |piece| {
            let piece_end = at + piece.len() as u64;
            let from = start.clamp(at, piece_end) - at;
            let to = end.clamp(at, piece_end) - at;
            plain.extend_from_slice(&piece[from as usize..to as usize]);
            at = piece_end;
            if piece_end >= end { Err(()) } else { Ok(()) }
        });
        match decoded {
            Err(DecodeError::Damaged) if index + 1 < loaded.frames.len() => return Err(changed()),
            // Enough was read, or the last frame is a torn one.
            Ok(()) | Err(_) => {}
        }
    }
    if plain.len() == wanted {
        Ok(plain)
    } else {
        Err(changed())
    }
}
