//! The fold of a log's surface: which messages the model sees now, and which were replaced (SPEC-sessions 5).

use std::collections::HashMap;

use super::fingerprint::Fingerprint;
use super::kinds::Format;
use super::mark::{Sources, SurfaceOp};
use super::types::Surface;

/// What an event is to the surface.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Part {
    /// Its type never stands on the surface.
    None,
    /// A type that this reader does not know and may ignore. Format 4 does not look at its markers.
    Opaque,
    /// Format 4's system prompt; the first node, when it is one, is protected.
    System,
    /// An answer of the model.
    Answer,
    /// A tool result.
    Result {
        fingerprint: Fingerprint,
        upgraded: bool,
    },
    /// Any other message.
    Message,
}

/// Why an event cannot be folded.
#[derive(Debug, PartialEq)]
pub enum Misfit {
    /// The log is corrupt.
    Corrupt(String),
    /// A result that changes more than content: format 4 finds that only when the surface is asked for, and reads the log.
    Rewrite(String),
}

/// The state of the fold. An event's number is its place in `surfaces`.
#[derive(Debug, Default, Clone)]
pub struct Fold {
    nodes: Vec<u32>,
    surfaces: Vec<Surface>,
    results: HashMap<u32, Fingerprint>,
    head: Option<u32>,
}

impl Fold {
    /// How the event stands now.
    pub fn surface(&self, seq: usize) -> Surface {
        self.surfaces.get(seq).copied().unwrap_or(Surface::LogOnly)
    }

    /// The heap that the fold holds, in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.nodes.capacity() * 4 + self.surfaces.capacity() + self.results.capacity() * 32
    }

    /// Adds an event that never stands on the surface.
    pub fn skip(&mut self) {
        self.surfaces.push(Surface::LogOnly);
    }

    /// Adds the next event.
    ///
    /// # Errors
    /// A [`Misfit`]; after [`Misfit::Rewrite`] the event was folded all the same.
    pub fn push(
        &mut self,
        name: &str,
        part: Part,
        op: &SurfaceOp,
        sources: &Sources,
        format: Format,
    ) -> Result<(), Misfit> {
        let corrupt = |text: String| Err(Misfit::Corrupt(text));
        let seq = self.surfaces.len() as u32;
        self.surfaces.push(Surface::LogOnly);
        if part == Part::None || part == Part::Opaque {
            let opaque = part == Part::Opaque && format == Format::V4;
            return match (op, sources) {
                _ if opaque => Ok(()),
                (SurfaceOp::Missing, Sources::Missing) => Ok(()),
                (SurfaceOp::Missing, _) => corrupt(format!(
                    "session event \"{name}\" is not surface-eligible and cannot carry sourceEventSeqs"
                )),
                _ => corrupt(format!(
                    "session event \"{name}\" is not surface-eligible and cannot carry surfaceOp"
                )),
            };
        }
        let sources = match sources {
            Sources::Missing => &[][..],
            Sources::Invalid(why) => return corrupt(why.clone()),
            Sources::List(_) if part == Part::Answer && format == Format::V4 => {
                return corrupt("assistant/message cannot carry sourceEventSeqs".to_owned());
            }
            Sources::List(list) if list.is_empty() && part != Part::Answer => {
                return corrupt(
                    "sourceEventSeqs must not be empty except on assistant/message".to_owned(),
                );
            }
            Sources::List(list) => list,
        };
        let (start, end) = match op {
            SurfaceOp::Missing => {
                return corrupt(format!(
                    "session event \"{name}\" is surface-eligible and requires a surfaceOp marker"
                ));
            }
            SurfaceOp::Invalid(how) => {
                return corrupt(format!("session event \"{name}\" carries {how}"));
            }
            SurfaceOp::Append => {
                self.append(seq, part)?;
                return Ok(());
            }
            SurfaceOp::Replace { start, end } => {
                (self.position("start", *start)?, self.position("end", *end)?)
            }
        };
        if start > end {
            return corrupt(format!(
                "surface replace: start (index {start}) is after end (index {end})"
            ));
        }
        self.replace(seq, part, start, end, sources)
    }

    fn append(&mut self, seq: u32, part: Part) -> Result<(), Misfit> {
        if part == Part::System {
            if self.nodes.is_empty() {
                self.head = Some(seq);
            } else if self.head.is_none() {
                return Err(Misfit::Corrupt(
                    "system/message requires a protected first surface head".to_owned(),
                ));
            }
        }
        self.place(seq, part);
        self.nodes.push(seq);
        Ok(())
    }

    fn place(&mut self, seq: u32, part: Part) {
        if let Some(surface) = self.surfaces.get_mut(seq as usize) {
            *surface = Surface::Current;
        }
        if let Part::Result { fingerprint, .. } = part {
            self.results.insert(seq, fingerprint);
        }
    }

    fn position(&self, which: &str, seq: u64) -> Result<usize, Misfit> {
        let found = u32::try_from(seq)
            .ok()
            .and_then(|seq| self.nodes.iter().position(|node| *node == seq));
        found.ok_or_else(|| {
            Misfit::Corrupt(format!(
                "surface replace: {which} seq {seq} not found in surface"
            ))
        })
    }

    fn replace(
        &mut self,
        seq: u32,
        part: Part,
        start: usize,
        end: usize,
        sources: &[u64],
    ) -> Result<(), Misfit> {
        let removed = self.nodes.get(start..=end).unwrap_or_default().to_vec();
        let mut cited: Vec<u64> = sources.to_vec();
        cited.sort_unstable();
        if let Some(missing) = removed
            .iter()
            .find(|node| cited.binary_search(&u64::from(**node)).is_err())
        {
            return Err(Misfit::Corrupt(format!(
                "surface replace: sourceEventSeqs must include every shadowed surface node; missing {missing}"
            )));
        }
        if let Some(head) = self.head.filter(|head| removed.contains(head)) {
            if part != Part::System || removed.len() != 1 {
                return Err(Misfit::Corrupt(
                    "surface replacement cannot shadow the protected system head".to_owned(),
                ));
            }
            debug_assert_eq!(removed, [head]);
            self.head = Some(seq);
        } else if part == Part::System && self.head.is_none() {
            return Err(Misfit::Corrupt(
                "system/message requires a protected first surface head".to_owned(),
            ));
        }
        let rewrite = self.rewrite(part, &removed);
        for node in &removed {
            if let Some(surface) = self.surfaces.get_mut(*node as usize) {
                *surface = Surface::Shadowed;
            }
            self.results.remove(node);
        }
        self.place(seq, part);
        self.nodes.splice(start..=end, [seq]);
        rewrite
    }

    fn rewrite(&self, part: Part, removed: &[u32]) -> Result<(), Misfit> {
        let Part::Result {
            fingerprint,
            upgraded,
        } = part
        else {
            return Ok(());
        };
        let fault = match removed {
            [original] => match self.results.get(original) {
                None => "tool/result surface replacement must target a current tool/result",
                // An upgraded result took its id from the original.
                Some(old)
                    if old.rest == fingerprint.rest && (upgraded || old.id == fingerprint.id) =>
                {
                    return Ok(());
                }
                Some(_) => "tool/result surface replacement may change only content",
            },
            _ => "tool/result surface replacement must rewrite exactly one current node",
        };
        Err(Misfit::Rewrite(fault.to_owned()))
    }
}
