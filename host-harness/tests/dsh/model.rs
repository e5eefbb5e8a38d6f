//! A model on this machine: it asks for the tools that the test names, one after another, and then says that it is done.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What the model asks for, given the texts of the tool results so far.
type Arguments = Box<dyn Fn(&[String]) -> Value + Send>;

/// One step of the model.
pub struct Step {
    tool: String,
    arguments: Arguments,
}

impl Step {
    /// A call with these arguments.
    pub fn call(tool: &str, arguments: Value) -> Self {
        Self::then(tool, move |_| arguments.clone())
    }

    /// A call whose arguments depend on the results so far.
    pub fn then(tool: &str, arguments: impl Fn(&[String]) -> Value + Send + 'static) -> Self {
        Self {
            tool: tool.into(),
            arguments: Box::new(arguments),
        }
    }
}

/// A running model. Its thread ends with the process.
pub struct Model {
    port: u16,
    requests: Arc<Mutex<Vec<Value>>>,
}

impl Model {
    pub fn start(steps: Vec<Step>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (steps, seen) = (Arc::new(Mutex::new(steps)), requests.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (steps, seen) = (steps.clone(), seen.clone());
                // A client that hangs up in the middle is its own affair.
                std::thread::spawn(move || answer(stream, &steps, &seen).ok());
            }
        });
        Self { port, requests }
    }

    /// What DSH is told as its model's address.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The bodies of the requests that offered tools, in order.
    pub fn requests(&self) -> Vec<Value> {
        let all = self.requests.lock().unwrap();
        all.iter()
            .filter(|body| offers_tools(body))
            .cloned()
            .collect()
    }

    /// The definition of a tool as the model is offered it: name, description and schema, whatever the dialect.
    pub fn offered(&self, name: &str) -> Option<Value> {
        let first = self.requests().into_iter().next()?;
        let tools = first["tools"].as_array()?.clone();
        tools.into_iter().find_map(|tool| {
            let tool = match tool.get("function") {
                Some(function) => json!({"name": function["name"], "description": function["description"], "schema": function["parameters"]}),
                None => json!({"name": tool["name"], "description": tool["description"], "schema": tool["input_schema"]}),
            };
            (tool["name"] == name).then_some(tool)
        })
    }

    /// The texts of all tool results of the turn, in order.
    pub fn results(&self) -> Vec<String> {
        self.requests().last().map(results).unwrap_or_default()
    }

    /// The system prompt of the last request.
    pub fn system(&self) -> String {
        let last = self.requests().pop().expect("a request that offers tools");
        match last.get("system") {
            Some(system) => text_of(system),
            None => {
                let messages = last["messages"].as_array().unwrap().clone();
                let system = messages.iter().find(|message| message["role"] == "system");
                system
                    .map(|message| text_of(&message["content"]))
                    .unwrap_or_default()
            }
        }
    }
}

fn offers_tools(body: &Value) -> bool {
    body["tools"]
        .as_array()
        .is_some_and(|tools| !tools.is_empty())
}

/// The text of a content that is a string or a list of blocks.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks
            .iter()
            .filter_map(|block| block["text"].as_str())
            .collect::<Vec<_>>()
            .join(""),
        _ => String::new(),
    }
}

fn results(body: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for message in body["messages"].as_array().into_iter().flatten() {
        if message["role"] == "tool" {
            found.push(text_of(&message["content"]));
        }
        for block in message["content"].as_array().into_iter().flatten() {
            if block["type"] == "tool_result" {
                found.push(text_of(&block["content"]));
            }
        }
    }
    found
}

fn answer(
    stream: TcpStream,
    steps: &Mutex<Vec<Step>>,
    seen: &Mutex<Vec<Value>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim().split_once(':') else {
            break;
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body: Value = serde_json::from_slice(&body)?;
    let done = results(&body);
    let call = offers_tools(&body)
        .then(|| {
            let steps = steps.lock().unwrap();
            let step = steps.get(done.len())?;
            Some((step.tool.clone(), (step.arguments)(&done).to_string()))
        })
        .flatten();
    seen.lock().unwrap().push(body);
    let id = format!("call_{}", done.len());
    let text = if request.contains("/messages") {
        anthropic(&id, call)
    } else {
        open_ai(&id, call)
    };
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    (&stream).write_all(format!("{head}{text}").as_bytes())
}

fn anthropic(id: &str, call: Option<(String, String)>) -> String {
    let (block, delta, stop) = match call {
        Some((name, arguments)) => (
            json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
            json!({"type": "input_json_delta", "partial_json": arguments}),
            "tool_use",
        ),
        None => (
            json!({"type": "text", "text": ""}),
            json!({"type": "text_delta", "text": "done"}),
            "end_turn",
        ),
    };
    let usage = json!({"input_tokens": 1, "output_tokens": 1});
    [
        json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "model": "test", "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage}}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null}, "usage": {"output_tokens": 1}}),
        json!({"type": "message_stop"}),
    ]
    .iter()
    .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()))
    .collect()
}

fn open_ai(id: &str, call: Option<(String, String)>) -> String {
    let (delta, stop) = match call {
        Some((name, arguments)) => (
            json!({"role": "assistant", "tool_calls": [{"index": 0, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}]}),
            "tool_calls",
        ),
        None => (json!({"role": "assistant", "content": "done"}), "stop"),
    };
    let chunk = |delta: Value, stop: Option<&str>| json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "test", "choices": [{"index": 0, "delta": delta, "finish_reason": stop}]});
    format!(
        "data: {}\n\ndata: {}\n\ndata: [DONE]\n\n",
        chunk(delta, None),
        chunk(json!({}), Some(stop))
    )
}
