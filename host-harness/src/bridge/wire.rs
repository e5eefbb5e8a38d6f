//! The frames of the protocol.

use crate::failure::Failure;
use dsh_services::json::Tree;
use serde::Deserialize;
use serde_json::{Value, json};

/// The version of the protocol that this host speaks.
pub const PROTOCOL: u64 = 1;

/// Codes of failures of the bridge itself.
pub(super) mod codes {
    /// A request that the protocol does not allow here, or of another version of it.
    pub(crate) const PROTOCOL: &str = "BRIDGE_PROTOCOL";
    /// Too many requests at once.
    pub(crate) const BUSY: &str = "BRIDGE_BUSY";
    /// What should be sent does not fit into a line.
    pub(crate) const TOO_LARGE: &str = "BRIDGE_TOO_LARGE";
    /// The other side is gone.
    pub(crate) const CLOSED: &str = "BRIDGE_CLOSED";
}

/// One line from the other side.
#[derive(Debug, PartialEq)]
pub(super) enum Frame {
    Request {
        id: u64,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// A piece of an answer that takes several lines.
    Part {
        id: u64,
        value: Value,
    },
    Answer {
        id: u64,
        outcome: Result<Value, Failure>,
    },
}

#[derive(Deserialize)]
struct Members {
    id: Option<u64>,
    method: Option<String>,
    #[serde(default)]
    params: Tree,
    #[serde(default)]
    result: Tree,
    part: Option<Tree>,
    error: Option<Error>,
}

#[derive(Deserialize)]
struct Error {
    name: Option<String>,
    code: Option<String>,
    message: String,
}

impl Frame {
    /// Reads one line; the error says why it is no frame.
    pub(super) fn parse(line: &[u8]) -> Result<Self, String> {
        let members: Members = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        match (members.id, members.method) {
            (Some(id), Some(method)) => Ok(Self::Request {
                id,
                method,
                params: members.params.0,
            }),
            (None, Some(method)) => Ok(Self::Notification {
                method,
                params: members.params.0,
            }),
            (Some(id), None) => Ok(match (members.part, members.error) {
                (_, Some(error)) => Self::Answer {
                    id,
                    outcome: Err(Failure {
                        name: error.name,
                        code: error.code,
                        message: error.message,
                    }),
                },
                (Some(Tree(value)), None) => Self::Part { id, value },
                (None, None) => Self::Answer {
                    id,
                    outcome: Ok(members.result.0),
                },
            }),
            (None, None) => Err("neither id nor method".into()),
        }
    }
}

/// A failure as a frame carries it.
pub(super) fn failure_to_json(failure: &Failure) -> Value {
    let mut error = json!({ "message": failure.message });
    for (key, value) in [("name", &failure.name), ("code", &failure.code)] {
        if let Some(value) = value {
            error[key] = value.as_str().into();
        }
    }
    error
}

/// A member of the parameters. For one that may be anything, `T` has to be a [`Tree`]: in a [`Value`] not every key would be read.
pub(super) fn member<T: serde::de::DeserializeOwned>(
    params: &Value,
    key: &str,
) -> Result<T, Failure> {
    serde_json::from_value(params.get(key).cloned().unwrap_or(Value::Null))
        .map_err(|error| Failure::host(codes::PROTOCOL, format!("params.{key}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Frame, String> {
        Frame::parse(text.as_bytes())
    }

    #[test]
    fn each_kind_of_frame_is_told_by_its_members() {
        let request = parse(r#"{"id":3,"method":"call","params":{"a":1},"other":[]}"#).unwrap();
        let expected = Frame::Request {
            id: 3,
            method: "call".into(),
            params: json!({"a": 1}),
        };
        assert_eq!(request, expected);
        let Ok(Frame::Notification { method, params }) = parse(r#"{"method":"cancel"}"#) else {
            panic!("a notification has no id");
        };
        assert_eq!((method.as_str(), params), ("cancel", Value::Null));
        let answer = parse(r#"{"id":3,"result":null}"#).unwrap();
        let expected = Frame::Answer {
            id: 3,
            outcome: Ok(Value::Null),
        };
        assert_eq!(answer, expected);
        assert_eq!(
            parse(r#"{"id":3,"part":[1]}"#).unwrap(),
            Frame::Part {
                id: 3,
                value: json!([1])
            }
        );
        let Ok(Frame::Answer {
            outcome: Err(failure),
            ..
        }) = parse(r#"{"id":3,"error":{"code":"X","message":"m"}}"#)
        else {
            panic!("an error is an answer");
        };
        assert_eq!(
            failure_to_json(&failure),
            json!({"code": "X", "message": "m"})
        );
    }

    #[test]
    fn no_key_of_a_frame_is_special() {
        for member in ["5", "\"5\"", "{}"] {
            let text = format!(r#"{{"$serde_json::private::RawValue":{member}}}"#);
            let value = json!({ "$serde_json::private::RawValue": serde_json::from_str::<Value>(member).unwrap() });
            let request = Frame::Request {
                id: 1,
                method: "call".into(),
                params: value.clone(),
            };
            let part = Frame::Part {
                id: 1,
                value: value.clone(),
            };
            let answer = Frame::Answer {
                id: 1,
                outcome: Ok(value),
            };
            for (frame, expected) in [
                (
                    format!(r#"{{"id":1,"method":"call","params":{text}}}"#),
                    request,
                ),
                (format!(r#"{{"id":1,"part":{text}}}"#), part),
                (format!(r#"{{"id":1,"result":{text}}}"#), answer),
            ] {
                assert_eq!(parse(&frame), Ok(expected), "{frame}");
            }
        }
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        for text in [
            "",
            "x",
            "[]",
            "{}",
            "5",
            r#"{"id":-1,"method":"x"}"#,
            r#"{"id":"1"}"#,
            r#"{"id":1,"error":5}"#,
            r#"{"method":5}"#,
            "{\"method\":\"\u{0}\"}",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
        assert!(Frame::parse(b"{\"method\":\"\xff\"}").is_err());
    }
}
