//! Views of the messages that events carry (SPEC-sessions 4.5).

use serde::de::MapAccess;
use serde_json::value::RawValue;

use super::view::{Lax, List, Scalar, View, skip};

/// One content block.
#[derive(Debug, Default)]
pub struct Block<'a> {
    pub kind: Scalar<'a>,
    pub text: Scalar<'a>,
    pub id: Scalar<'a>,
    pub name: Scalar<'a>,
    pub arguments: Scalar<'a>,
    pub tool_call_id: Scalar<'a>,
    pub content: Blocks<'a>,
}

/// Content blocks; `None` when the content is no array.
pub type Blocks<'a> = List<Lax<Block<'a>>>;

impl<'de> View<'de> for Block<'de> {
    fn member<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "type" => self.kind = map.next_value()?,
            "text" => self.text = map.next_value()?,
            "id" => self.id = map.next_value()?,
            "name" => self.name = map.next_value()?,
            "arguments" => self.arguments = map.next_value()?,
            "toolCallId" => self.tool_call_id = map.next_value()?,
            "content" => self.content = map.next_value()?,
            _ => skip(map)?,
        }
        Ok(())
    }
}

/// Who made a message.
#[derive(Debug, Default)]
pub struct Source<'a> {
    pub kind: Scalar<'a>,
    pub provider: Scalar<'a>,
    pub model: Scalar<'a>,
    pub call_id: Scalar<'a>,
}

impl<'de> View<'de> for Source<'de> {
    fn member<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "kind" => self.kind = map.next_value()?,
            "provider" => self.provider = map.next_value()?,
            "model" => self.model = map.next_value()?,
            "callId" => self.call_id = map.next_value()?,
            _ => skip(map)?,
        }
        Ok(())
    }
}

/// A message.
#[derive(Debug, Default)]
pub struct Message<'a> {
    pub id: Scalar<'a>,
    pub role: Scalar<'a>,
    pub source: Lax<Source<'a>>,
    pub content: Blocks<'a>,
    /// Format 4 tool messages name their call here.
    pub tool_call_id: Scalar<'a>,
    pub is_error: Scalar<'a>,
    /// The names that tell an old shape from a broken one.
    pub has: Has,
}

/// Which members an object has, whatever their values.
#[derive(Debug, Default, Clone, Copy)]
pub struct Has {
    pub content: bool,
    pub source: bool,
    pub message: bool,
}

impl<'de> View<'de> for Message<'de> {
    fn member<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "id" => self.id = map.next_value()?,
            "role" => self.role = map.next_value()?,
            "toolCallId" => self.tool_call_id = map.next_value()?,
            "isError" => self.is_error = map.next_value()?,
            "source" => {
                self.has.source = true;
                self.source = map.next_value()?;
            }
            "content" => {
                self.has.content = true;
                self.content = map.next_value()?;
            }
            "message" => {
                self.has.message = true;
                skip(map)?;
            }
            _ => skip(map)?,
        }
        Ok(())
    }
}

/// `data` of an event that wraps a message: `assistant/message`, `tool/result`, and format 4's `system/message` and
/// `developer/message`.
#[derive(Debug, Default)]
pub struct Wrapped<'a> {
    pub turn: Option<&'a RawValue>,
    pub step: Option<&'a RawValue>,
    pub message: Lax<Message<'a>>,
    pub error: Lax<Failure<'a>>,
    pub has_error: bool,
    pub has_message: bool,
    /// Members of the shapes before messages had identities.
    pub has_content: bool,
    pub has_provenance: bool,
    pub has_call_id: bool,
    pub has_is_error: bool,
}

impl<'de> View<'de> for Wrapped<'de> {
    fn member<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "turn" => self.turn = Some(map.next_value()?),
            "step" => self.step = Some(map.next_value()?),
            "message" => {
                self.has_message = true;
                self.message = map.next_value()?;
            }
            "error" => {
                self.has_error = true;
                self.error = map.next_value()?;
            }
            "content" => {
                self.has_content = true;
                skip(map)?;
            }
            "provenance" => {
                self.has_provenance = true;
                skip(map)?;
            }
            "callId" => {
                self.has_call_id = true;
                skip(map)?;
            }
            "isError" => {
                self.has_is_error = true;
                skip(map)?;
            }
            _ => skip(map)?,
        }
        Ok(())
    }
}

/// An error's name, code and message.
#[derive(Debug, Default)]
pub struct Failure<'a> {
    pub name: Scalar<'a>,
    pub code: Scalar<'a>,
    pub message: Scalar<'a>,
}

impl<'de> View<'de> for Failure<'de> {
    fn member<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "name" => self.name = map.next_value()?,
            "code" => self.code = map.next_value()?,
            "message" => self.message = map.next_value()?,
            _ => skip(map)?,
        }
        Ok(())
    }
}

/// `data` of `tool/call`.
#[derive(Debug, Default)]
pub struct Call<'a> {
    pub call_id: Scalar<'a>,
    pub name: Scalar<'a>,
    pub arguments: Scalar<'a>,
}

impl<'de> View<'de> for Call<'de> {
    fn member<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "callId" => self.call_id = map.next_value()?,
            "name" => self.name = map.next_value()?,
            "arguments" => self.arguments = map.next_value()?,
            _ => skip(map)?,
        }
        Ok(())
    }
}

/// `data` of `todo/write`.
#[derive(Debug, Default)]
pub struct Todos<'a> {
    pub todos: List<Lax<Todo<'a>>>,
}

impl<'de> View<'de> for Todos<'de> {
    fn member<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "todos" => self.todos = map.next_value()?,
            _ => skip(map)?,
        }
        Ok(())
    }
}

/// One entry of a todo list.
#[derive(Debug, Default)]
pub struct Todo<'a> {
    pub status: Scalar<'a>,
    pub content: Scalar<'a>,
}

impl<'de> View<'de> for Todo<'de> {
    fn member<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "status" => self.status = map.next_value()?,
            "content" => self.content = map.next_value()?,
            _ => skip(map)?,
        }
        Ok(())
    }
}

/// `data` of the events that open and close turns and steps.
#[derive(Debug, Default)]
pub struct Boundary<'a> {
    pub turn: Option<&'a RawValue>,
    pub step: Option<&'a RawValue>,
    pub reason: Lax<Reason<'a>>,
    pub has_trigger: bool,
    /// Format 4: whether an end of seed marks what a fork inherited.
    pub inherited: Scalar<'a>,
}

impl<'de> View<'de> for Boundary<'de> {
    fn member<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "turn" => self.turn = Some(map.next_value()?),
            "step" => self.step = Some(map.next_value()?),
            "reason" => self.reason = map.next_value()?,
            "inherited" => self.inherited = map.next_value()?,
            "trigger" => {
                self.has_trigger = true;
                skip(map)?;
            }
            _ => skip(map)?,
        }
        Ok(())
    }
}

/// Why a turn ended.
#[derive(Debug, Default)]
pub struct Reason<'a> {
    pub kind: Scalar<'a>,
    pub error: Lax<Failure<'a>>,
}

impl<'de> View<'de> for Reason<'de> {
    fn member<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "kind" => self.kind = map.next_value()?,
            "error" => self.error = map.next_value()?,
            _ => skip(map)?,
        }
        Ok(())
    }
}
