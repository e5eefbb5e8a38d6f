//! What is kept of each event, and what can be wrong with a log.

/// Why a log cannot be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogFault {
    /// The lines are damaged.
    Physical(String),
    /// The log needs a reader that knows more.
    Unsupported(String),
    /// The lines are whole and break a rule.
    Invalid(String),
}

/// One event. Its sequence number is its place in the list.
#[derive(Debug, Clone, Copy)]
pub struct Record {
    pub time: i64,
    /// Where its line lies in the plain text.
    pub line_start: u64,
    pub line_len: u32,
    /// Its place in a packed row; [`Record::WHOLE`] for an ordinary line.
    pub member: u32,
    /// Where its text lies: in which of the log's texts, and there.
    pub text_piece: u32,
    pub text_start: u32,
    pub text_len: u32,
    /// Its type in the log's table.
    pub kind: u32,
}

impl Record {
    /// The line is the event.
    pub const WHOLE: u32 = u32::MAX;
}
