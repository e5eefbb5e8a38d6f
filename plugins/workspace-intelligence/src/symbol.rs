//! One found symbol, as it is answered (SPEC 10.1).

use std::borrow::Cow;

use serde::ser::{Serialize, SerializeStruct, Serializer};

/// A zero-based position; columns count UTF-16 code units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Position {
    /// The line, from 0.
    pub line: u32,
    /// The column, from 0.
    pub character: u32,
}

/// From `start` up to, not including, `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Range {
    /// The first position.
    pub start: Position,
    /// The position after the last.
    pub end: Position,
}

/// A symbol of one server, normalised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// The name as the server writes it.
    pub name: String,
    /// LSP's `SymbolKind`, at least 1.
    pub kind: u32,
    /// The canonical URI (SPEC 9).
    pub uri: String,
    /// Where in the document; some servers do not say.
    pub range: Option<Range>,
    /// What the symbol belongs to, for people.
    pub container_name: Option<String>,
}

/// `SymbolKind` 1 to 26, in order.
const KINDS: [&str; 26] = [
    "File",
    "Module",
    "Namespace",
    "Package",
    "Class",
    "Method",
    "Property",
    "Field",
    "Constructor",
    "Enum",
    "Interface",
    "Function",
    "Variable",
    "Constant",
    "String",
    "Number",
    "Boolean",
    "Array",
    "Object",
    "Key",
    "Null",
    "EnumMember",
    "Struct",
    "Event",
    "Operator",
    "TypeParameter",
];

/// The readable name of a kind; kinds of a later protocol are `Unknown(n)`.
pub fn kind_name(kind: u32) -> Cow<'static, str> {
    let index = usize::try_from(kind)
        .ok()
        .and_then(|kind| kind.checked_sub(1));
    match index.and_then(|index| KINDS.get(index)) {
        Some(name) => Cow::Borrowed(name),
        None => format!("Unknown({kind})").into(),
    }
}

impl Serialize for Symbol {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Symbol", 5)?;
        out.serialize_field("name", &self.name)?;
        out.serialize_field("kind", &kind_name(self.kind))?;
        out.serialize_field("uri", &self.uri)?;
        if let Some(range) = &self.range {
            out.serialize_field("range", range)?;
        }
        if let Some(container) = &self.container_name {
            out.serialize_field("containerName", container)?;
        }
        out.end()
    }
}
