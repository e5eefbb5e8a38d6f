//! `readEvent`: events as they stand in the log, read anew from their lines (SPEC-sessions 7.3).

use std::io;
use std::ops::RangeInclusive;

use super::READ_WINDOW_MAX;
use super::decode;
use super::discovery::Found;
use super::error::SessionQueryError;
use super::js;
use super::kinds::Format;
use super::legacy;
use super::load::Loaded;
use super::log::Log;
use super::mark::{self, Sources, SurfaceOp};
use super::packed::{self, ChunkKind};
use super::record::Record;
use super::repair;
use super::reread;
use super::row::{self, Line};
use super::types::{RawEvent, ReadRequest, Window};
use crate::json;

/// Judges `before` and `after`, before the log is looked for.
///
/// # Errors
/// [`SessionQueryError::InvalidWindow`].
pub fn check_request(request: &ReadRequest) -> Result<(), SessionQueryError> {
    for (name, value) in [("before", request.before), ("after", request.after)] {
        if value.fract() != 0.0 || !(0.0..=f64::from(READ_WINDOW_MAX)).contains(&value) {
            return Err(SessionQueryError::InvalidWindow {
                name,
                max: READ_WINDOW_MAX,
            });
        }
    }
    Ok(())
}

/// The numbers of the target and of the window around it; none when the log has no such event.
pub fn range(request: &ReadRequest, len: usize) -> Option<(usize, RangeInclusive<usize>)> {
    if !js::is_safe_integer(request.seq) || request.seq < 0.0 || request.seq >= len as f64 {
        return None;
    }
    let target = request.seq as usize;
    let start = target.saturating_sub(request.before as usize);
    let end = (target + request.after as usize).min(len - 1);
    Some((target, start..=end))
}

/// Reads a window.
///
/// # Errors
/// A file that is not what it was when the log was read.
pub fn read(
    found: &Found,
    loaded: &Loaded,
    log: &Log,
    target: usize,
    range: RangeInclusive<usize>,
) -> io::Result<Window> {
    let (start_seq, end_seq) = (*range.start() as u64, *range.end() as u64);
    let reader = Reader { found, loaded, log };
    let lines = reader.lines(range.clone())?;
    let events = range
        .map(|seq| reader.event(seq, &lines))
        .collect::<io::Result<Vec<_>>>()?;
    Ok(Window {
        session: log.header.header.clone(),
        inherited_event_count: log.inherited_event_count(),
        target: target as u64,
        start_seq,
        end_seq,
        events,
    })
}

struct Reader<'r> {
    found: &'r Found,
    loaded: &'r Loaded,
    log: &'r Log,
}

/// A part of the plain text.
struct Lines {
    start: u64,
    bytes: Vec<u8>,
}

fn changed() -> io::Error {
    io::Error::new(
        io::ErrorKind::UnexpectedEof,
        "the log changed while it was read",
    )
}

impl Reader<'_> {
    /// The lines of the events in the file among these.
    fn lines(&self, range: RangeInclusive<usize>) -> io::Result<Lines> {
        let last = (*range.end()).min(self.log.stored_len().wrapping_sub(1));
        let ends = self.log.stored_len() > *range.start();
        let (Some((first, None)), Some((last, None)), true) =
            (self.log.event(*range.start()), self.log.event(last), ends)
        else {
            return Ok(Lines {
                start: 0,
                bytes: Vec::new(),
            });
        };
        let end = last.line_start + u64::from(last.line_len);
        let bytes = reread::plain(self.found, self.loaded, first.line_start, end)?;
        Ok(Lines {
            start: first.line_start,
            bytes,
        })
    }

    fn event(&self, seq: usize, lines: &Lines) -> io::Result<RawEvent> {
        let (record, closer) = self.log.event(seq).ok_or_else(changed)?;
        let bytes = match closer {
            Some(line) => line.as_bytes(),
            None => {
                let start = (record.line_start - lines.start) as usize;
                lines
                    .bytes
                    .get(start..start + record.line_len as usize)
                    .ok_or_else(changed)?
            }
        };
        let text = decode::line_text(bytes);
        let Line::Row(row) = row::parse(&text) else {
            return Err(changed());
        };
        let data = row.data.ok_or_else(changed)?;
        let mut event = RawEvent {
            seq: seq as u64,
            event_type: self.log.kinds.name(record.kind).to_owned(),
            time: record.time,
            text: self.log.text(seq).to_owned(),
            data: String::new(),
            surface_op: row.surface_op.map(|op| op.get().to_owned()),
            source_event_seqs: None,
            ignorable: row::is_true(row.ignorable),
        };
        if record.member != Record::WHOLE {
            let kind = row::string(row.kind)
                .and_then(|name| ChunkKind::of(&name))
                .ok_or_else(changed)?;
            let member = record.member as usize;
            event.data = packed::member_data(data, kind, member)
                .ok_or_else(changed)?
                .to_string();
            return Ok(event);
        }
        if row::number(row.seq) != Some(seq as f64) {
            return Err(changed());
        }
        let format = self.log.header.format;
        if let Sources::List(list) = mark::sources(row.sources, format, seq as u64) {
            event.source_event_seqs = Some(list);
        }
        let data = repair::infinite_numbers(data.get());
        event.data = match self.upgraded(&row, &data, seq)? {
            Some(upgraded) => upgraded,
            None => data.into_owned(),
        };
        Ok(event)
    }

    /// The data of an old event in its present shape.
    fn upgraded(&self, row: &row::Row<'_>, data: &str, seq: usize) -> io::Result<Option<String>> {
        let format = self.log.header.format;
        let Some(name) = row::string(row.kind).filter(|_| format == Format::V0) else {
            return Ok(None);
        };
        let upgradable = matches!(
            &*name,
            "steering/message"
                | "turn/start"
                | "turn/end"
                | "user/message"
                | "assistant/message"
                | "tool/result"
        );
        if !upgradable {
            return Ok(None);
        }
        let Ok(value) = json::parse(data) else {
            return Ok(None);
        };
        let inherited = match mark::surface_op(row.surface_op, format) {
            SurfaceOp::Replace { start, .. }
                if name == "tool/result" && value.get("message").is_none() =>
            {
                self.message_id(start)?
            }
            _ => None,
        };
        let id = &self.log.header.header.id;
        let upgraded = legacy::upgrade(&name, &value, id, seq as u64, inherited.as_deref());
        Ok(upgraded
            .ok()
            .flatten()
            .map(|upgraded| upgraded.data.to_string()))
    }

    /// The message id of an event, which an old result that replaces it inherits: followed back to the first result.
    fn message_id(&self, mut seq: u64) -> io::Result<Option<String>> {
        loop {
            let at = usize::try_from(seq).map_err(io::Error::other)?;
            let lines = self.lines(at..=at)?;
            let text = decode::line_text(&lines.bytes);
            let Line::Row(row) = row::parse(&text) else {
                return Err(changed());
            };
            let data = row
                .data
                .and_then(|data| json::parse(data.get()).ok())
                .ok_or_else(changed)?;
            let message = if row::string(row.kind).as_deref() == Some("user/message") {
                &data
            } else {
                &data["message"]
            };
            if let Some(id) = message["id"].as_str() {
                return Ok(Some(id.to_owned()));
            }
            match mark::surface_op(row.surface_op, Format::V0) {
                // Always an earlier event, so this ends.
                SurfaceOp::Replace { start, .. } if start < seq => seq = start,
                _ => return Ok(Some(legacy::message_id(&self.log.header.header.id, seq))),
            }
        }
    }
}
