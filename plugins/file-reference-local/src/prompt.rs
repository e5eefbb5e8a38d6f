//! The contribution to the system prompt (SPEC 6).

/// Name of the section.
pub const NAME: &str = "context:file-reference";

/// Position of the section.
pub const ORDER: i32 = 99;

/// The tool without which the section is pointless.
pub const TOOL: &str = "read";

/// The text of the section.
pub const TEXT: &str = "Paths prefixed with @ are files explicitly referenced by the user. \
    Use the read tool when their contents are needed; \
    do not claim to have inspected a file before reading it.";
