//! What is answered when the server asks (SPEC 8). Every request gets an answer, in every state: servers wait for it.

use crate::jsonrpc::{INVALID_PARAMS, METHOD_NOT_FOUND, RpcError, object};
use serde_json::Value;

/// Most configuration items in one request: each is answered with a copy of the configured value.
const MAX_ITEMS: usize = 1_000;

/// The method whose dynamic registration is remembered.
const SYMBOL_METHOD: &str = "workspace/symbol";

/// What the answers are made of.
#[derive(Debug)]
pub struct Answers {
    /// The deployer's `configuration`.
    pub configuration: Value,
    /// As in `initialize`.
    pub workspace_folders: Value,
}

impl Answers {
    /// The answer to one request.
    pub fn to(&self, method: &str, params: &Value) -> Result<Value, RpcError> {
        match method {
            "workspace/configuration" => self.configuration_items(params),
            "workspace/workspaceFolders" => Ok(self.workspace_folders.clone()),
            "client/registerCapability"
            | "client/unregisterCapability"
            | "window/workDoneProgress/create"
            | "window/showMessageRequest" => Ok(Value::Null),
            "window/showDocument" => Ok(object([("success", false.into())])),
            "workspace/applyEdit" => Err(refused(method, "edits are never applied")),
            _ if method.starts_with("workspace/") && method.ends_with("/refresh") => {
                Ok(Value::Null)
            }
            _ => Err(refused(method, "unsupported")),
        }
    }

    fn configuration_items(&self, params: &Value) -> Result<Value, RpcError> {
        let count = params
            .get("items")
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
        if count > MAX_ITEMS {
            return Err(RpcError {
                code: Some(INVALID_PARAMS),
                message: format!("more than {MAX_ITEMS} configuration items"),
            });
        }
        Ok(Value::Array(vec![self.configuration.clone(); count]))
    }
}

fn refused(method: &str, why: &str) -> RpcError {
    RpcError {
        code: Some(METHOD_NOT_FOUND),
        message: format!("{why}: {method}"),
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
}
