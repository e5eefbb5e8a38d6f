//! What is answered when the server asks (SPEC 8). Every request gets an answer, in every state: servers wait for it.

use crate::jsonrpc::{INVALID_PARAMS, METHOD_NOT_FOUND, RpcError, VALUE_ROOM, shortened};
use dsh_guest_support::js_json;
use serde_json::Value;

/// Most configuration items in one request: each is answered with a copy of the configured value.
const MAX_ITEMS: usize = 1_000;

/// The method whose dynamic registration is remembered.
const SYMBOL_METHOD: &str = "workspace/symbol";

/// The longest method that a refusal names, and the longest id of a registration that is remembered, in bytes (SPEC 6.6).
const MAX_NAME_BYTES: usize = 1_024;

/// What the answers are made of: texts of JSON values.
#[derive(Debug)]
pub struct Answers {
    configuration: String,
    workspace_folders: String,
}

impl Answers {
    /// The deployer's `configuration`, and the folders as in `initialize`.
    pub fn new(configuration: &Value, workspace_folders: &Value) -> Self {
        Self {
            configuration: js_json::stringify(configuration),
            workspace_folders: js_json::stringify(workspace_folders),
        }
    }

    /// The answer to one request; a result is the text of a JSON value.
    pub fn to(&self, method: &str, params: &Value) -> Result<String, RpcError> {
        match method {
            "workspace/configuration" => self.configuration_items(params),
            "workspace/workspaceFolders" => Ok(self.workspace_folders.clone()),
            "client/registerCapability"
            | "client/unregisterCapability"
            | "window/workDoneProgress/create"
            | "window/showMessageRequest" => Ok("null".to_owned()),
            "window/showDocument" => Ok("{\"success\":false}".to_owned()),
            "workspace/applyEdit" => Err(refused(method, "edits are never applied")),
            _ if method.starts_with("workspace/") && method.ends_with("/refresh") => {
                Ok("null".to_owned())
            }
            _ => Err(refused(method, "unsupported")),
        }
    }

    fn configuration_items(&self, params: &Value) -> Result<String, RpcError> {
        let count = params
            .get("items")
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
        if count > MAX_ITEMS {
            return Err(invalid(format!(
                "more than {MAX_ITEMS} configuration items"
            )));
        }
        let bytes = count * (self.configuration.len() + 1);
        if bytes > VALUE_ROOM {
            return Err(invalid(format!(
                "{count} configuration items would take {bytes} bytes; at most {VALUE_ROOM} are answered"
            )));
        }
        Ok(format!(
            "[{}]",
            vec![self.configuration.as_str(); count].join(",")
        ))
    }
}

/// The parameters cannot be used.
pub fn invalid(message: String) -> RpcError {
    RpcError {
        code: Some(INVALID_PARAMS),
        message,
    }
}

fn refused(method: &str, why: &str) -> RpcError {
    RpcError {
        code: Some(METHOD_NOT_FOUND),
        message: format!("{why}: {}", shortened(method, MAX_NAME_BYTES)),
    }
}

/// The ids of the registrations of `workspace/symbol` in a `client/registerCapability` request.
pub fn registered_symbol_ids(params: &Value) -> impl Iterator<Item = &str> {
    symbol_ids(params.get("registrations"))
}

/// The ids of the registrations of `workspace/symbol` that a `client/unregisterCapability` request takes back.
pub fn unregistered_symbol_ids(params: &Value) -> impl Iterator<Item = &str> {
    // The misspelt name is the one that the protocol defines.
    symbol_ids(params.get("unregisterations"))
}

fn symbol_ids(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter(|entry| entry.get("method").and_then(Value::as_str) == Some(SYMBOL_METHOD))
        .filter_map(|entry| entry.get("id").and_then(Value::as_str))
        .filter(|id| id.len() <= MAX_NAME_BYTES)
}
