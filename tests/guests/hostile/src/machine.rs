//! Attacks on the machine behind the host: files, programs, the spill files of others.

use crate::bindings::dsh::ctx::abort::AbortSignal;
use crate::bindings::dsh::ctx::call::Caller;
use crate::bindings::dsh::ctx::subprocess::{self, EnvEntry, Process, SpawnSpec};
use crate::bindings::dsh::ctx::types::Failure;
use crate::bindings::dsh::ctx::{fs, spill};
use crate::bindings::exports::dsh::ctx::tool_provider::ToolError;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::pin::pin;
use std::task::Poll;

thread_local! {
    /// Processes that are kept, so that the host has to end them.
    static HELD: RefCell<Vec<Process>> = const { RefCell::new(Vec::new()) };
    /// A target that was resolved earlier, to be used when something else may be there.
    static RESOLVED: RefCell<Option<fs::Target>> = const { RefCell::new(None) };
}

/// Tries what is asked, and tells what the host made of it; none when the verb is not of this kind.
pub async fn attempt(
    verb: &str,
    arguments: &Value,
    caller: &Caller,
    signal: &AbortSignal,
) -> Option<Result<Value, ToolError>> {
    let text = |name: &str| arguments[name].as_str().unwrap_or_default().to_owned();
    Some(match verb {
        "read-text" => read_text(text("path")).await,
        "list-dir" => list_dir(text("path")).await,
        "lstat" => match fs::lstat(text("path"), None).await {
            Ok(info) => Ok(json!({"size": info.map(|info| info.size)})),
            Err(error) => Err(refused(error)),
        },
        "resolve" => match fs::resolve(text("path"), None).await {
            Ok(target) => {
                RESOLVED.set(Some(target));
                Ok(json!({}))
            }
            Err(error) => Err(refused(error)),
        },
        "look-around" => Ok(look_around()),
        "hoard" => {
            let mut hoard = Vec::new();
            for _ in 0..arguments["count"].as_u64().unwrap_or_default() {
                match fs::resolve(text("path"), None).await {
                    Ok(target) => hoard.push(target),
                    Err(error) => return Some(Err(refused(error))),
                }
            }
            Ok(json!({"held": hoard.len()}))
        }
        "read-resolved" => read_resolved().await,
        "spawn" => spawn(spec(arguments)).await,
        "spawn-many" => {
            let mut started = 0_u64;
            let refusal = loop {
                if started == arguments["count"].as_u64().unwrap_or_default() {
                    break Value::Null;
                }
                match subprocess::spawn(spec(arguments)).await {
                    Ok(process) => HELD.with_borrow_mut(|held| held.push(process)),
                    Err(failure) => break failure.code.into(),
                }
                started += 1;
            };
            Ok(json!({"started": started, "refusal": refusal}))
        }
        "stuff" => stuff(spec(arguments), signal).await,
        "authorize" => match spill::authorize(caller, text("path")).await {
            Ok(access) => Ok(json!({"access": format!("{access:?}")})),
            Err(failure) => Err(ToolError::Failed(failure)),
        },
        _ => return None,
    })
}

/// What WASI itself gives away, without any function of the host.
fn look_around() -> Value {
    let places = ["/", ".", "..", "/etc", "/proc/self", "/tmp"];
    let reached = places.iter().filter(|place| {
        let file = format!("{place}/dsh-hostile-guest");
        std::fs::read_dir(place).is_ok()
            || std::fs::metadata(place).is_ok()
            || std::fs::write(&file, "").is_ok()
    });
    json!({
        "variables": std::env::vars_os().count(),
        "arguments": std::env::args_os().count(),
        "reached": reached.collect::<Vec<_>>(),
    })
}

async fn read_text(path: String) -> Result<Value, ToolError> {
    let target = fs::resolve(path, None).await.map_err(refused)?;
    read(&target).await
}

async fn read_resolved() -> Result<Value, ToolError> {
    match RESOLVED.take() {
        Some(target) => read(&target).await,
        None => Ok(json!({})),
    }
}

async fn read(target: &fs::Target) -> Result<Value, ToolError> {
    // As much as there is: the host's own bound is the one that counts.
    let text = fs::read_text(target, u64::MAX).await.map_err(refused)?;
    Ok(json!({"text": text}))
}

async fn list_dir(path: String) -> Result<Value, ToolError> {
    let target = fs::resolve(path, None).await.map_err(refused)?;
    let children = fs::list_dir(&target).await.map_err(refused)?;
    let names: Vec<String> = children.into_iter().map(|child| child.name).collect();
    Ok(json!({"names": names}))
}

async fn spawn(spec: SpawnSpec) -> Result<Value, ToolError> {
    let process = subprocess::spawn(spec).await.map_err(ToolError::Failed)?;
    let pid = process.pid();
    let mut stdout = process.take_stdout();
    let mut said = Vec::new();
    while let Some(byte) = stdout.next().await {
        said.push(byte);
    }
    let exit = process.done().await.map_err(ToolError::Failed)?;
    let said = String::from_utf8_lossy(&said).into_owned();
    Ok(json!({"pid": pid, "said": said, "code": exit.code}))
}

/// Writes to a process that never reads, until the call is aborted.
async fn stuff(spec: SpawnSpec, signal: &AbortSignal) -> Result<Value, ToolError> {
    let process = subprocess::spawn(spec).await.map_err(ToolError::Failed)?;
    let (mut writer, reader) = crate::bindings::wit_stream::new();
    let written = process.write_stdin(reader);
    let mut work = pin!(async move {
        loop {
            let rest = writer.write_all(vec![b'x'; 1 << 20]).await;
            if !rest.is_empty() {
                break;
            }
        }
        drop(writer);
        written.await
    });
    let mut wait = pin!(signal.wait());
    std::future::poll_fn(|context| {
        if wait.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(ToolError::Aborted));
        }
        match work.as_mut().poll(context) {
            Poll::Ready(Ok(())) => Poll::Ready(Ok(json!({"written": true}))),
            Poll::Ready(Err(failure)) => Poll::Ready(Err(ToolError::Failed(failure))),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

fn spec(arguments: &Value) -> SpawnSpec {
    let words = arguments["argv"].as_array().into_iter().flatten();
    let env = arguments["env"].as_object().into_iter().flatten();
    SpawnSpec {
        argv: words.filter_map(Value::as_str).map(String::from).collect(),
        cwd: arguments["cwd"].as_str().unwrap_or("/").into(),
        stdin: arguments["stdin"].as_bool().unwrap_or_default(),
        stderr_max_bytes: 4096,
        grace_ms: arguments["grace"].as_u64().unwrap_or(100) as u32,
        env: env
            .map(|(name, value)| EnvEntry {
                name: name.clone(),
                value: value.as_str().map(String::from),
            })
            .collect(),
    }
}

fn refused(error: fs::FsError) -> ToolError {
    ToolError::Failed(Failure {
        name: Some("FsError".into()),
        code: Some(format!("{:?}", error.code)),
        message: error.message,
    })
}
