//! The text of an event: what can be searched (SPEC-sessions 6).

use super::js;
use super::message::{Blocks, Call, Message, Reason, Todos, Wrapped};
use super::view::{Lax, Scalar};

/// Appends trimmed, non-empty parts to a buffer, joined by line feeds.
pub struct Joiner<'o> {
    out: &'o mut String,
    start: usize,
}

impl<'o> Joiner<'o> {
    /// A text that begins at the end of the buffer.
    pub fn new(out: &'o mut String) -> Self {
        let start = out.len();
        Self { out, start }
    }

    fn part(&mut self, part: &str) {
        let part = js::trim(part);
        if part.is_empty() {
            return;
        }
        if self.out.len() > self.start {
            self.out.push('\n');
        }
        self.out.push_str(part);
    }

    /// Something that should be a string. What is not one is left out, where the published service stops with an error that
    /// has no code.
    fn scalar(&mut self, part: &Scalar<'_>) {
        if let Some(text) = part.as_str() {
            self.part(text);
        }
    }

    fn blocks(&mut self, blocks: &Blocks<'_>) {
        for Lax(block) in blocks.0.iter().flatten() {
            let Some(block) = block else { continue };
            match block.kind.as_str() {
                Some("text") => self.scalar(&block.text),
                Some("tool-call") => {
                    self.scalar(&block.name);
                    self.scalar(&block.arguments);
                }
                // Format 4 has no such blocks: its messages were refused before they get here.
                Some("tool-result") => self.blocks(&block.content),
                _ => {}
            }
        }
    }

    /// The text of a message's content.
    pub fn message(&mut self, message: &Message<'_>) {
        self.blocks(&message.content);
    }

    /// The text of `tool/result`.
    pub fn tool_result(&mut self, data: &Wrapped<'_>) {
        if let Some(message) = &data.message.0 {
            self.message(message);
        }
        if let Some(error) = &data.error.0 {
            self.scalar(&error.name);
            self.scalar(&error.code);
        }
    }

    /// The text of `tool/call`.
    pub fn tool_call(&mut self, call: &Call<'_>) {
        self.scalar(&call.name);
        self.scalar(&call.arguments);
    }

    /// The text of `todo/write`.
    pub fn todos(&mut self, todos: &Todos<'_>) {
        for todo in todos
            .todos
            .0
            .iter()
            .flatten()
            .filter_map(|todo| todo.0.as_ref())
        {
            self.scalar(&todo.status);
            self.scalar(&todo.content);
        }
    }

    /// The text of `turn/end`.
    pub fn turn_end(&mut self, reason: &Reason<'_>) {
        match reason.kind.as_str() {
            Some("error") => {
                self.part("error");
                if let Some(error) = &reason.error.0 {
                    self.scalar(&error.message);
                }
            }
            Some(kind @ ("aborted" | "max-tokens" | "interrupted")) => self.part(kind),
            _ => {}
        }
    }
}
