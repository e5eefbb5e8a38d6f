//! Packed rows of format 0: one line that stands for several `assistant/chunk` events (SPEC-sessions 4.3).

use serde::de::MapAccess;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::js::is_safe_integer;
use super::row::{self, Row};
use super::view::{Lax, List, Scalar, View};
use crate::json;

/// What a packed row packs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkKind {
    Text,
    Reasoning,
    ToolCall,
}

impl ChunkKind {
    /// The kind of a row of that type; none when the row is an ordinary event.
    pub fn of(name: &str) -> Option<Self> {
        match name {
            "text-chunks" => Some(Self::Text),
            "reasoning-chunks" => Some(Self::Reasoning),
            "tool-call-chunks" => Some(Self::ToolCall),
            _ => None,
        }
    }
}

/// The sequence numbers and times of a row's members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Members {
    pub first_seq: u64,
    /// One time for each member.
    pub times: Vec<i64>,
}

#[derive(Debug, Default)]
struct Data<'a> {
    turn: Scalar<'a>,
    step: Scalar<'a>,
    index: Scalar<'a>,
    id: Scalar<'a>,
    name: Scalar<'a>,
    dt: List<Scalar<'a>>,
    texts: List<Scalar<'a>>,
    args: List<Scalar<'a>>,
    has_texts: bool,
    has_args: bool,
    has_dt: bool,
    unexpected: bool,
}

impl<'de> View<'de> for Data<'de> {
    fn member<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "turn" => self.turn = map.next_value()?,
            "step" => self.step = map.next_value()?,
            "index" => self.index = map.next_value()?,
            "id" => self.id = map.next_value()?,
            "name" => self.name = map.next_value()?,
            "dt" => {
                self.has_dt = true;
                self.dt = map.next_value()?;
            }
            "texts" => {
                self.has_texts = true;
                self.texts = map.next_value()?;
            }
            "args" => {
                self.has_args = true;
                self.args = map.next_value()?;
            }
            _ => {
                self.unexpected = true;
                super::view::skip(map)?;
            }
        }
        Ok(())
    }
}

/// Checks a packed row and gives its members; none when it breaks a rule of SPEC-sessions 4.3.
pub fn members(row: &Row<'_>, kind: ChunkKind) -> Option<Members> {
    let foreign = row.seq.is_some()
        || row.time.is_some()
        || row.surface_op.is_some()
        || row.sources.is_some()
        || row.ignorable.is_some()
        || row.unexpected.is_some();
    let first_seq = row::number(row.seq0).filter(|seq| is_safe_integer(*seq) && *seq >= 0.0)?;
    let first_time = row::number(row.time0).filter(|time| is_safe_integer(*time))?;
    let Lax(Some(data)) = serde_json::from_str::<Lax<Data<'_>>>(row.data?.get()).ok()? else {
        return None;
    };
    let is_number = |scalar: &Scalar<'_>| matches!(scalar, Scalar::Number(_));
    let (payload, exact) = match kind {
        ChunkKind::ToolCall => (
            data.args.0?,
            data.has_args
                && !data.has_texts
                && data.id.as_str().is_some()
                && (!data.name.is_present() || data.name.as_str().is_some()),
        ),
        ChunkKind::Text | ChunkKind::Reasoning => (
            data.texts.0?,
            data.has_texts && !data.has_args && !data.id.is_present() && !data.name.is_present(),
        ),
    };
    let sound = !foreign
        && exact
        && data.has_dt
        && !data.unexpected
        && [&data.turn, &data.step, &data.index]
            .into_iter()
            .all(is_number)
        && payload.iter().all(|text| text.as_str().is_some());
    let gaps = data.dt.0?;
    if !sound || payload.is_empty() || gaps.len() != payload.len() - 1 {
        return None;
    }
    if !is_safe_integer(first_seq + (payload.len() - 1) as f64) {
        return None;
    }
    let mut time = first_time;
    let mut times = Vec::with_capacity(payload.len());
    times.push(time as i64);
    for gap in gaps {
        match gap {
            Scalar::Number(gap) if is_safe_integer(gap) => time += gap,
            _ => return None,
        }
        if !is_safe_integer(time) {
            return None;
        }
        times.push(time as i64);
    }
    Some(Members {
        first_seq: first_seq as u64,
        times,
    })
}

/// The `data` of one member, as the event that was packed had it.
pub fn member_data(data: &RawValue, kind: ChunkKind, member: usize) -> Option<Value> {
    let data = json::parse(data.get()).ok()?;
    let index = &data["index"];
    let chunk = match kind {
        ChunkKind::Text => {
            json!({ "type": "text-delta", "index": index, "text": data["texts"].get(member)? })
        }
        ChunkKind::Reasoning => {
            json!({ "type": "reasoning-delta", "index": index, "text": data["texts"].get(member)? })
        }
        ChunkKind::ToolCall => {
            let mut chunk = json!({ "type": "tool-call-delta", "index": index, "id": data["id"] });
            if let Some(name) = data.get("name") {
                chunk["name"] = name.clone();
            }
            chunk["argumentsDelta"] = data["args"].get(member)?.clone();
            chunk
        }
    };
    Some(json!({ "turn": data["turn"], "step": data["step"], "chunk": chunk }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Members> {
        let row::Line::Row(row) = row::parse(text) else {
            return None;
        };
        let kind = ChunkKind::of(&row::string(row.kind)?)?;
        members(&row, kind)
    }

    #[test]
    fn members_have_consecutive_numbers_and_summed_times() {
        let members = read(
            r#"{"type":"text-chunks","seq0":3,"time0":100,"data":{"turn":1,"step":1,"index":0,"dt":[12,-2],"texts":["a","b","c"]}}"#,
        );
        assert_eq!(
            members,
            Some(Members {
                first_seq: 3,
                times: vec![100, 112, 110]
            })
        );
        let one = r#"{"type":"tool-call-chunks","seq0":0,"time0":1,"data":{"turn":1,"step":1,"index":0,"id":"c","name":"n","dt":[],"args":["{"]}}"#;
        assert_eq!(read(one).map(|members| members.times.len()), Some(1));
    }

    #[test]
    fn every_departure_from_the_exact_shape_is_refused() {
        let good = r#"{"type":"text-chunks","seq0":3,"time0":100,"data":{"turn":1,"step":1,"index":0,"dt":[1],"texts":["a","b"]}}"#;
        assert!(read(good).is_some());
        for (from, to) in [
            ("\"seq0\":3", "\"seq0\":-1"),
            ("\"seq0\":3", "\"seq0\":3.5"),
            ("\"seq0\":3,", ""),
            ("\"seq0\":3", "\"seq0\":3,\"seq\":3"),
            ("\"time0\":100", "\"time0\":\"100\""),
            ("\"time0\":100", "\"time0\":9007199254740991"),
            ("[1]", "[1,2]"),
            ("[1]", "[]"),
            ("[1]", "[0.5]"),
            ("[1]", "[\"1\"]"),
            ("[1]", "1"),
            ("[\"a\",\"b\"]", "[\"a\",1]"),
            ("\"texts\":[\"a\",\"b\"]", "\"args\":[\"a\",\"b\"]"),
            ("\"turn\":1", "\"turn\":\"1\""),
            ("\"turn\":1", "\"turn\":1,\"id\":\"x\""),
            ("\"turn\":1", "\"turn\":1,\"more\":1"),
        ] {
            let bad = good.replacen(from, to, 1);
            assert_ne!(bad, good);
            assert_eq!(read(&bad), None, "{bad}");
        }
    }

    #[test]
    fn a_member_gets_its_own_data_back() {
        let raw: &RawValue = serde_json::from_str(
            r#"{"turn":2,"step":1,"index":0,"id":"c","dt":[4],"args":["{","}"]}"#,
        )
        .expect("JSON");
        assert_eq!(
            member_data(raw, ChunkKind::ToolCall, 1),
            Some(
                json!({"turn":2,"step":1,"chunk":{"type":"tool-call-delta","index":0,"id":"c","argumentsDelta":"}"}})
            )
        );
        assert_eq!(member_data(raw, ChunkKind::ToolCall, 2), None);
    }
}
