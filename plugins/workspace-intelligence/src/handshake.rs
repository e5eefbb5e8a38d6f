//! The `initialize` exchange (SPEC 7).

use serde_json::{Value, json};

/// The name of the one workspace folder.
const FOLDER_NAME: &str = "workspace";
/// `SymbolKind` has the values 1 to 26.
const SYMBOL_KINDS: std::ops::RangeInclusive<u32> = 1..=26;

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
    json!([{"uri": root_uri, "name": FOLDER_NAME}])
}

/// The parameters of `initialize`. `progress` says whether the server may report its progress, which only the warm-up reads (SPEC 12).
pub fn initialize_params(root_uri: &str, options: &Value, progress: bool) -> Value {
    let kinds: Vec<u32> = SYMBOL_KINDS.collect();
    let mut params = json!({
        // The server may run in another process namespace, where our number names a stranger.
        "processId": null,
        "rootUri": root_uri,
        "workspaceFolders": workspace_folders(root_uri),
        "capabilities": {
            "general": {"positionEncodings": ["utf-16"]},
            "workspace": {
                "workspaceFolders": true,
                "configuration": true,
                // No resolveSupport: a conforming server must then give ranges at once.
                "symbol": {
                    "dynamicRegistration": false,
                    "symbolKind": {"valueSet": kinds},
                    "tagSupport": {"valueSet": [1]},
                },
            },
            "window": {"workDoneProgress": progress},
            "textDocument": {"synchronization": {"dynamicRegistration": false}},
        },
    });
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
        Some(Value::String(encoding)) => return Err(HandshakeError::Encoding(encoding.clone())),
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
