//! A log in memory: one compact record for each event, the texts as they were decoded, and the state that later lines continue.
//!
//! The lines themselves are not kept. They are read again when an event is asked for (see [`window`](super::window)).

use super::closing::Closing;
use super::decode::{Batch, Body, Context, Decoded, Event, Fact, Fault, Stage};
use super::header::LogHeader;
use super::js;
use super::kinds::{Format, KindTable};
use super::packed::Members;
use super::record::{LogFault, Record};
use super::surface::{Fold, Misfit, Part};
use super::turns::Turns;
use super::types::Surface;

/// A log in memory.
#[derive(Debug)]
pub struct Log {
    pub header: LogHeader,
    pub kinds: KindTable,
    records: Vec<Record>,
    /// The texts of all events, one string for each run of lines that was decoded together.
    texts: Vec<Box<str>>,
    text_bytes: usize,
    fold: Fold,
    turns: Turns,
    closing: Closing,
    /// Lines after the header seen so far.
    lines: u64,
    /// The first damage that may yet turn out to be a torn tail.
    damage: Option<String>,
    /// The fault of the earliest stage.
    fault: Option<Fault>,
    /// What makes the surface, but not the log, invalid.
    rewrite: Option<String>,
    inherited: Option<u64>,
}

impl Log {
    /// A log without events.
    pub fn new(header: LogHeader) -> Self {
        let fault = header.fault.clone().map(|text| Fault {
            stage: Stage::Late,
            text,
        });
        Self {
            header,
            fault,
            kinds: KindTable::default(),
            records: Vec::new(),
            texts: Vec::new(),
            text_bytes: 0,
            fold: Fold::default(),
            turns: Turns::default(),
            closing: Closing::default(),
            lines: 0,
            damage: None,
            rewrite: None,
            inherited: None,
        }
    }

    fn format(&self) -> Format {
        self.header.format
    }

    /// What the decoder must know.
    pub fn context(&self) -> Context<'_> {
        Context {
            format: self.header.format,
            session_id: &self.header.header.id,
        }
    }

    /// How many events there are, closing ones included.
    pub fn len(&self) -> usize {
        self.records.len() + self.closing.events.len()
    }

    /// How many events have a line in the file.
    pub fn stored_len(&self) -> usize {
        self.records.len()
    }

    /// An event's record and the line of a closing event, which is in no file.
    pub fn event(&self, seq: usize) -> Option<(Record, Option<&str>)> {
        if let Some(record) = self.records.get(seq) {
            return Some((*record, None));
        }
        let closer = self.closing.events.get(seq - self.records.len())?;
        Some((closer.record, Some(&closer.line)))
    }

    /// An event's text.
    pub fn text(&self, seq: usize) -> &str {
        match self.records.get(seq) {
            Some(record) => {
                let start = record.text_start as usize;
                let piece = self.texts.get(record.text_piece as usize);
                piece
                    .and_then(|text| text.get(start..start + record.text_len as usize))
                    .unwrap_or_default()
            }
            None => self
                .closing
                .events
                .get(seq - self.records.len())
                .map_or("", |closer| &closer.text),
        }
    }

    /// How an event stands to the model context.
    pub fn surface(&self, seq: usize) -> Surface {
        match self
            .closing
            .events
            .get(seq.wrapping_sub(self.records.len()))
        {
            Some(closer) => closer.surface,
            None => self.fold.surface(seq),
        }
    }

    /// What makes the surface invalid in a log that can be read otherwise.
    pub fn surface_fault(&self) -> Option<&str> {
        self.rewrite.as_deref()
    }

    /// How many leading events a fork inherited; format 4 only.
    pub fn inherited_event_count(&self) -> Option<u64> {
        (self.format() == Format::V4).then(|| self.inherited.unwrap_or_default())
    }

    /// Whether the lines after the ones seen so far continue this log. They do not when damage was taken for a torn tail.
    pub fn may_grow(&self) -> bool {
        self.damage.is_none()
    }

    /// The memory it holds, in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.records.capacity() * size_of::<Record>()
            + self.text_bytes
            + self.texts.capacity() * size_of::<Box<str>>()
            + self.fold.heap_bytes()
    }

    /// Adds decoded lines.
    ///
    /// # Errors
    /// Damage that cannot be a torn tail.
    pub fn push(&mut self, batch: Batch) -> Result<(), LogFault> {
        for line in batch.lines {
            self.lines += 1;
            self.line(line)?;
        }
        if !batch.text.is_empty() {
            self.text_bytes += batch.text.len();
            self.texts.push(batch.text.into_boxed_str());
        }
        Ok(())
    }

    fn line(&mut self, line: Decoded) -> Result<(), LogFault> {
        let number = self.lines;
        let place = (line.start, line.len);
        match line.body {
            Body::Unparsable => {
                self.damage.get_or_insert_with(|| {
                    format!("corrupt session log: unparsable committed event at line {number}")
                });
                Ok(())
            }
            Body::NotObject { null: true } if self.format() == Format::V0 => {
                Err(LogFault::Physical(format!(
                    "corrupt session log: null instead of an event at line {number}"
                )))
            }
            Body::NotObject { .. } => {
                let what = match self.format() {
                    Format::V0 => self.gap(number, "undefined"),
                    Format::V4 => format!(
                        "corrupt session log: invalid committed event at line {number}: it must be an object"
                    ),
                };
                self.damaged(what, false)
            }
            Body::Packed(members) => self.packed(&members, place, number),
            Body::Event(event) => self.stored(event, place, number),
        }
    }

    fn gap(&self, number: u64, got: &str) -> String {
        let expected = self.records.len();
        match self.format() {
            Format::V0 => format!(
                "corrupt session log: seq gap in committed region at line {number} (expected {expected}, got {got})"
            ),
            Format::V4 => format!(
                "corrupt session log: invalid committed event at line {number}: seq gap (expected {expected}, got {got})"
            ),
        }
    }

    /// Notes damage, or fails when the damage is known to lie before the end of a turn (SPEC-sessions 3.5).
    fn damaged(&mut self, what: String, ends_turn: bool) -> Result<(), LogFault> {
        let first = self.damage.get_or_insert(what);
        if ends_turn {
            Err(LogFault::Physical(first.clone()))
        } else {
            Ok(())
        }
    }

    fn packed(
        &mut self,
        members: &Members,
        (line_start, line_len): (u64, u32),
        number: u64,
    ) -> Result<(), LogFault> {
        if self.damage.is_some() {
            return Ok(());
        }
        if members.first_seq != self.records.len() as u64 {
            let what = self.gap(number, &members.first_seq.to_string());
            return self.damaged(what, false);
        }
        let kind = self.kinds.intern(super::kinds::Kind::of("assistant/chunk"));
        for (member, time) in members.times.iter().enumerate() {
            self.fold.skip();
            self.records.push(Record {
                time: *time,
                line_start,
                line_len,
                member: member as u32,
                text_piece: 0,
                text_start: 0,
                text_len: 0,
                kind,
            });
        }
        Ok(())
    }

    fn stored(&mut self, mut event: Event, place: (u64, u32), number: u64) -> Result<(), LogFault> {
        let ends_turn = event.kind.name() == "turn/end";
        if let Some(fault) = event
            .faults
            .iter()
            .find(|fault| fault.stage == Stage::Admission)
        {
            return Err(LogFault::Physical(fault.text.clone()));
        }
        if self.damage.is_some() {
            return self.damaged(String::new(), ends_turn);
        }
        if let Some(fault) = event.faults.iter().find(|fault| fault.stage == Stage::Row) {
            let what = format!(
                "corrupt session log: invalid committed event at line {number}: {}",
                fault.text
            );
            return self.damaged(what, ends_turn);
        }
        let seq = self.records.len();
        if event.seq != Some(seq as f64) {
            let got = event.seq.map_or_else(|| "undefined".to_owned(), js::number);
            let what = self.gap(number, &got);
            return self.damaged(what, ends_turn);
        }
        for fault in std::mem::take(&mut event.faults) {
            self.note(fault);
        }
        self.fold_surface(&event);
        self.turns
            .push(seq as u64, &event.fact, &event.op, self.header.format);
        if event.fact == (Fact::EndOfSeed { inherited: true }) {
            self.inherited = Some(seq as u64);
        }
        self.records.push(Record {
            time: event.time,
            line_start: place.0,
            line_len: place.1,
            member: Record::WHOLE,
            text_piece: self.texts.len() as u32,
            text_start: offset(event.text.start)?,
            text_len: offset(event.text.len())?,
            kind: self.kinds.intern(event.kind),
        });
        Ok(())
    }

    fn note(&mut self, fault: Fault) {
        if self
            .fault
            .as_ref()
            .is_none_or(|known| fault.stage < known.stage)
        {
            self.fault = Some(fault);
        }
    }

    fn fold_surface(&mut self, event: &Event) {
        let format = self.header.format;
        let name = event.kind.name();
        let part = match (&event.fact, name) {
            (
                Fact::Result {
                    fingerprint,
                    upgraded,
                    ..
                },
                _,
            ) => Part::Result {
                fingerprint: *fingerprint,
                upgraded: *upgraded,
            },
            (_, "assistant/message") => Part::Answer,
            (_, "user/message" | "tool/result") => Part::Message,
            (_, "developer/message") if format == Format::V4 => Part::Message,
            (_, "system/message") if format == Format::V4 => Part::System,
            _ if event.ignorable && !event.kind.is_known_to(format) => Part::Opaque,
            _ => Part::None,
        };
        match self
            .fold
            .push(name, part, &event.op, &event.sources, format)
        {
            Ok(()) => {}
            Err(Misfit::Rewrite(text)) if format == Format::V4 => {
                self.rewrite.get_or_insert(text);
            }
            Err(Misfit::Rewrite(text) | Misfit::Corrupt(text)) => {
                // Format 0 folds the surface last, format 4 before it looks for unknown types.
                let stage = if format == Format::V0 {
                    Stage::Late
                } else {
                    Stage::Early
                };
                self.note(Fault { stage, text });
            }
        }
    }

    /// Ends the reading for now: closes an interrupted turn, and says whether the log can be served.
    ///
    /// # Errors
    /// What is wrong with the log as a whole.
    pub fn settle(&mut self) -> Result<(), LogFault> {
        if self.format() == Format::V4
            && self.fault.is_none()
            && self.header.is_seeded != self.inherited.is_some()
        {
            let text = if self.header.is_seeded {
                "seeded Session lacks an inherited end-seed marker"
            } else {
                "unseeded Session contains an inherited end-seed marker"
            };
            return Err(LogFault::Invalid(text.to_owned()));
        }
        if let Some(fault) = &self.fault {
            let text = fault.text.clone();
            return Err(if fault.stage == Stage::Unknown {
                LogFault::Unsupported(text)
            } else {
                LogFault::Invalid(text)
            });
        }
        let time = self.records.last().map_or(0, |record| record.time);
        let lines = self
            .turns
            .closers(self.records.len() as u64, time, self.header.format);
        self.closing = Closing::new(
            lines,
            self.header.format,
            &self.header.header.id,
            &mut self.kinds,
        );
        Ok(())
    }

    /// Gives back the room that growing left over.
    pub fn shrink(&mut self) {
        self.records.shrink_to_fit();
        self.texts.shrink_to_fit();
    }

    /// The damage so far, which a complete compressed frame must not hold.
    pub fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }
}

/// Lines of 4 GiB are no log's.
fn offset(bytes: usize) -> Result<u32, LogFault> {
    u32::try_from(bytes).map_err(|_| {
        LogFault::Physical("corrupt session log: a line is longer than 4 GiB".to_owned())
    })
}
