//! Upgrades of format 0 events that were written before messages had identities (SPEC-sessions 4.7).

use serde_json::{Map, Value, json};

use super::js::is_safe_integer;

/// An event in its present shape.
#[derive(Debug, PartialEq)]
pub struct Upgraded {
    pub kind: &'static str,
    pub data: Value,
}

/// The id that an old message gets.
pub fn message_id(session_id: &str, seq: u64) -> String {
    format!("legacy-message:{session_id}:{seq}")
}

/// Upgrades `data` of an event; none when it has its present shape already. `inherited` is the message id of the event that
/// this one replaces on the surface, when it replaces one: an old result keeps the identity of the result that it shortens.
///
/// # Errors
/// The text of the refusal when the event has neither an old nor a present shape.
pub fn upgrade(
    kind: &str,
    data: &Value,
    session_id: &str,
    seq: u64,
    inherited: Option<&str>,
) -> Result<Option<Upgraded>, String> {
    let malformed = || {
        format!("session \"{session_id}\" contains malformed pre-react-loop {kind} at seq {seq}")
    };
    let id = || Value::String(message_id(session_id, seq));
    let Value::Object(members) = data else {
        return if kind == "steering/message" {
            Err(malformed())
        } else {
            Ok(None)
        };
    };
    match kind {
        "steering/message" => steering(members, id()).map(Some).ok_or_else(malformed),
        "turn/start" => turn_start(members).map_err(|()| malformed()),
        "turn/end" => turn_end(members).map_err(|()| malformed()),
        "user/message" => Ok(user_message(members, id())),
        "assistant/message" => Ok(assistant_message(members, id())),
        "tool/result" => Ok(tool_result(members, inherited.map_or_else(id, Value::from))),
        _ => Ok(None),
    }
}

fn only(members: &Map<String, Value>, required: &[&str], optional: &[&str]) -> bool {
    members
        .keys()
        .all(|name| required.contains(&name.as_str()) || optional.contains(&name.as_str()))
        && required.iter().all(|name| members.contains_key(*name))
}

fn integer(value: Option<&Value>, least: f64) -> bool {
    value
        .and_then(Value::as_f64)
        .is_some_and(|number| is_safe_integer(number) && number >= least)
}

fn without(members: &Map<String, Value>, names: &[&str]) -> Map<String, Value> {
    members
        .iter()
        .filter(|(name, _)| !names.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn steering(members: &Map<String, Value>, id: Value) -> Option<Upgraded> {
    let any_integer = integer(members.get("turn"), f64::MIN);
    let data = match members.get("message") {
        Some(message @ Value::Object(_))
            if any_integer && only(members, &["turn", "message"], &[]) =>
        {
            message.clone()
        }
        _ if any_integer && only(members, &["turn", "content", "source"], &[]) => {
            let mut message = without(members, &["turn"]);
            message.insert("id".to_owned(), id);
            message.insert("role".to_owned(), "user".into());
            Value::Object(message)
        }
        _ => return None,
    };
    Some(Upgraded {
        kind: "user/message",
        data,
    })
}

fn turn_start(members: &Map<String, Value>) -> Result<Option<Upgraded>, ()> {
    let Some(trigger) = members.get("trigger") else {
        return Ok(None);
    };
    let named = trigger
        .get("kind")
        .and_then(Value::as_str)
        .is_some_and(|kind| !kind.is_empty());
    if !integer(members.get("turn"), 1.0) || !only(members, &["turn", "trigger"], &[]) || !named {
        return Err(());
    }
    Ok(Some(Upgraded {
        kind: "turn/start",
        data: json!({ "turn": members["turn"] }),
    }))
}

fn turn_end(members: &Map<String, Value>) -> Result<Option<Upgraded>, ()> {
    let Some(Value::Object(reason)) = members.get("reason") else {
        return Err(());
    };
    let Some(kind) = reason.get("kind").and_then(Value::as_str) else {
        return Err(());
    };
    if !integer(members.get("turn"), 1.0) || !only(members, &["turn", "reason"], &[]) {
        return Err(());
    }
    let bare = only(reason, &["kind"], &[]);
    let upgraded = match kind {
        "completed" | "blocked" | "max-tokens" | "interrupted" => {
            return if bare { Ok(None) } else { Err(()) };
        }
        "aborted" if reason.contains_key("reason") => return Ok(None),
        "aborted" if bare => json!({ "kind": "aborted", "reason": { "kind": "legacy" } }),
        "disposed" if bare => json!({ "kind": "aborted", "reason": { "kind": "disposed" } }),
        "aborted" | "disposed" => return Err(()),
        "error" if reason.contains_key("error") => return Ok(None),
        "error" => json!({ "kind": "error", "error": old_error(reason).ok_or(())? }),
        _ => return Ok(None),
    };
    Ok(Some(Upgraded {
        kind: "turn/end",
        data: json!({ "turn": members["turn"], "reason": upgraded }),
    }))
}

fn old_error(reason: &Map<String, Value>) -> Option<Value> {
    if !integer(reason.get("step"), 0.0) {
        return None;
    }
    let absent_or = |value: Option<&Value>, test: fn(&Value) -> bool| value.is_none_or(test);
    if let Some(Value::Object(failure)) = reason.get("failure") {
        let sound = only(reason, &["kind", "step", "failure"], &[])
            && only(
                failure,
                &["message", "code"],
                &["status", "providerRetryAfterMs", "requestId"],
            )
            && failure["message"].is_string()
            && failure["code"].is_string()
            && absent_or(failure.get("status"), Value::is_number)
            && absent_or(failure.get("providerRetryAfterMs"), Value::is_number)
            && absent_or(failure.get("requestId"), Value::is_string);
        if sound {
            return Some(Value::Object(failure.clone()));
        }
    }
    let sound = only(reason, &["kind", "step", "message"], &["code"])
        && reason["message"].is_string()
        && absent_or(reason.get("code"), Value::is_string);
    let code = reason
        .get("code")
        .cloned()
        .unwrap_or_else(|| "UNKNOWN".into());
    sound.then(|| json!({ "message": reason["message"], "code": code }))
}

fn user_message(members: &Map<String, Value>, id: Value) -> Option<Upgraded> {
    let old = !["id", "role", "message"]
        .iter()
        .any(|name| members.contains_key(*name))
        && members.contains_key("content")
        && members.contains_key("source");
    old.then(|| {
        let mut message = members.clone();
        message.insert("id".to_owned(), id);
        message.insert("role".to_owned(), "user".into());
        Upgraded {
            kind: "user/message",
            data: Value::Object(message),
        }
    })
}

fn assistant_message(members: &Map<String, Value>, id: Value) -> Option<Upgraded> {
    let old = !members.contains_key("message")
        && members.contains_key("content")
        && members.contains_key("provenance");
    old.then(|| {
        let mut source = members["provenance"].as_object().cloned().unwrap_or_default();
        source.insert("kind".to_owned(), "model".into());
        let mut data = without(members, &["content", "provenance"]);
        let message = json!({ "id": id, "role": "assistant", "content": members["content"], "source": source });
        data.insert("message".to_owned(), message);
        Upgraded { kind: "assistant/message", data: Value::Object(data) }
    })
}

fn tool_result(members: &Map<String, Value>, id: Value) -> Option<Upgraded> {
    let old = !members.contains_key("message")
        && ["callId", "content", "isError"]
            .iter()
            .all(|name| members.contains_key(*name));
    old.then(|| {
        let call_id = &members["callId"];
        let mut data = without(members, &["callId", "content", "isError"]);
        let message = json!({
            "id": id,
            "role": "user",
            "content": [{
                "type": "tool-result",
                "toolCallId": call_id,
                "content": members["content"],
                "isError": members["isError"],
            }],
            "source": { "kind": "tool", "callId": call_id },
        });
        data.insert("message".to_owned(), message);
        Upgraded {
            kind: "tool/result",
            data: Value::Object(data),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn_end_of(reason: Value) -> Result<Option<Value>, String> {
        upgrade(
            "turn/end",
            &json!({ "turn": 1, "reason": reason }),
            "s",
            5,
            None,
        )
        .map(|upgraded| upgraded.map(|upgraded| upgraded.data["reason"].clone()))
    }

    #[test]
    fn old_ends_of_turns() {
        for present in [
            json!({"kind":"completed"}),
            json!({"kind":"aborted","reason":{"kind":"user"}}),
            json!({"kind":"error","error":{"message":"m"}}),
            json!({"kind":"new-kind","more":1}),
        ] {
            assert_eq!(turn_end_of(present), Ok(None));
        }
        assert_eq!(
            turn_end_of(json!({"kind":"disposed"})),
            Ok(Some(json!({"kind":"aborted","reason":{"kind":"disposed"}})))
        );
        assert_eq!(
            turn_end_of(json!({"kind":"error","step":1,"message":"m"})),
            Ok(Some(
                json!({"kind":"error","error":{"message":"m","code":"UNKNOWN"}})
            ))
        );
        assert_eq!(
            turn_end_of(
                json!({"kind":"error","step":0,"failure":{"message":"m","code":"c","status":500}})
            ),
            Ok(Some(
                json!({"kind":"error","error":{"message":"m","code":"c","status":500}})
            ))
        );
        for broken in [
            json!(null),
            json!({}),
            json!({"kind":"completed","more":1}),
            json!({"kind":"disposed","more":1}),
            json!({"kind":"error","message":"m"}),
            json!({"kind":"error","step":1,"message":"m","more":1}),
            json!({"kind":"error","step":1,"failure":{"message":"m"}}),
        ] {
            let refused = turn_end_of(broken.clone());
            assert_eq!(
                refused,
                Err("session \"s\" contains malformed pre-react-loop turn/end at seq 5".to_owned()),
                "{broken}"
            );
        }
    }

    #[test]
    fn a_shortened_result_keeps_the_identity_of_the_original() {
        let old = json!({"turn":1,"step":1,"callId":"c","content":[],"isError":false,"meta":{}});
        let id = |inherited| {
            let upgraded = upgrade("tool/result", &old, "s", 7, inherited)
                .expect("sound")
                .expect("old");
            assert_eq!(upgraded.data["meta"], json!({}));
            upgraded.data["message"]["id"].clone()
        };
        assert_eq!(id(None), "legacy-message:s:7");
        assert_eq!(id(Some("legacy-message:s:6")), "legacy-message:s:6");
    }

    #[test]
    fn present_shapes_and_other_types_are_left_alone() {
        for (kind, data) in [
            (
                "user/message",
                json!({"id":"m","role":"user","content":[],"source":{"kind":"user"}}),
            ),
            (
                "user/message",
                json!({"role":"user","content":[],"source":{"kind":"user"}}),
            ),
            (
                "assistant/message",
                json!({"message":{},"content":[],"provenance":{}}),
            ),
            (
                "tool/result",
                json!({"message":{},"callId":"c","content":[],"isError":false}),
            ),
            ("turn/start", json!({"turn":1})),
            ("session/title", json!({"trigger":1})),
            ("turn/end", json!(null)),
        ] {
            assert_eq!(
                upgrade(kind, &data, "s", 0, None),
                Ok(None),
                "{kind} {data}"
            );
        }
        for (kind, data) in [
            ("steering/message", json!(null)),
            ("steering/message", json!({"turn":1,"content":[]})),
            ("turn/start", json!({"turn":0,"trigger":{"kind":"user"}})),
            ("turn/start", json!({"turn":1,"trigger":{"kind":""}})),
        ] {
            assert!(upgrade(kind, &data, "s", 0, None).is_err(), "{kind} {data}");
        }
    }
}
