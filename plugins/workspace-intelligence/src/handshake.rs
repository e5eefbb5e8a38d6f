//! The `initialize` exchange (SPEC 7).

use crate::jsonrpc::{object, shortened};
use serde_json::Value;

/// The name of the one workspace folder.
const FOLDER_NAME: &str = "workspace";
/// `SymbolKind` has the values 1 to 26.
const SYMBOL_KINDS: std::ops::RangeInclusive<u32> = 1..=26;

/// How much of a position encoding an error tells, in bytes.
const TOLD_BYTES: usize = 100;

/// Why a server that answered `initialize` cannot be used. The process is ended, and the next call starts a fresh one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// `initialize` was answered by an error.
    #[error("initialize was refused: {0}")]
    Refused(String),
    /// The result is not what LSP says.
    #[error("initialize was answered with a malformed result: {0}")]
    Malformed(&'static str),
    /// The server counts columns in another way than the one that was offered.
    #[error("position encoding {0:?} is not supported, only utf-16")]
    Encoding(String),
}

/// The folders of the workspace, for `initialize` and for `workspace/workspaceFolders`.
pub fn workspace_folders(root_uri: &str) -> Value {
    let folder = object([("uri", root_uri.into()), ("name", FOLDER_NAME.into())]);
    Value::Array(vec![folder])
}

/// The parameters of `initialize`. `progress` says whether the server may report its progress, which only the warm-up reads (SPEC 12).
pub fn initialize_params(root_uri: &str, options: &Value, progress: bool) -> Value {
    let kinds: Vec<Value> = SYMBOL_KINDS.map(Value::from).collect();
    // No resolveSupport: a conforming server must then give ranges at once.
    let symbol = object([
        ("dynamicRegistration", false.into()),
        ("symbolKind", object([("valueSet", kinds.into())])),
        ("tagSupport", object([("valueSet", vec![1].into())])),
    ]);
    let workspace = object([
        ("workspaceFolders", true.into()),
        ("configuration", true.into()),
        ("symbol", symbol),
    ]);
    let synchronization = object([("dynamicRegistration", false.into())]);
    let capabilities = object([
        (
            "general",
            object([("positionEncodings", vec!["utf-16"].into())]),
        ),
        ("workspace", workspace),
        ("window", object([("workDoneProgress", progress.into())])),
        (
            "textDocument",
            object([("synchronization", synchronization)]),
        ),
    ]);
    let mut params = object([
        // The server may run in another process namespace, where our number names a stranger.
        ("processId", Value::Null),
        ("rootUri", root_uri.into()),
        ("workspaceFolders", workspace_folders(root_uri)),
        ("capabilities", capabilities),
    ]);
    if let (Value::Object(params), false) = (&mut params, options.is_null()) {
        params.insert("initializationOptions".to_owned(), options.clone());
    }
    params
}

/// Reads the result of `initialize`: whether the server offers `workspace/symbol` (SPEC 7.3).
pub fn read_result(result: Option<&Value>) -> Result<bool, HandshakeError> {
    let result = result.ok_or(HandshakeError::Malformed("no result"))?;
    let capabilities = result
        .as_object()
        .ok_or(HandshakeError::Malformed("the result is not an object"))?
        .get("capabilities")
        .and_then(Value::as_object)
        .ok_or(HandshakeError::Malformed("capabilities are missing"))?;
    match capabilities.get("positionEncoding") {
        None | Some(Value::Null) => {}
        Some(Value::String(encoding)) if encoding == "utf-16" => {}
        Some(Value::String(encoding)) => {
            let encoding = shortened(encoding, TOLD_BYTES).to_owned();
            return Err(HandshakeError::Encoding(encoding));
        }
        Some(_) => {
            return Err(HandshakeError::Malformed(
                "positionEncoding is not a string",
            ));
        }
    }
    Ok(matches!(
        capabilities.get("workspaceSymbolProvider"),
        Some(Value::Bool(true) | Value::Object(_))
    ))
}
