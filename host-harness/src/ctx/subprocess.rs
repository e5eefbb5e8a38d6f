//! `dsh:ctx/subprocess`: child processes behind streams.

use crate::bindings::dsh::ctx::subprocess as wit;
use crate::bindings::dsh::ctx::types;
use crate::ctx::PluginEnv;
use crate::ctx::lanes::{Lanes, Request};
use crate::store::PluginState;
use dsh_services::subprocess::{
    self as local, ChildStdin, ChildStdout, EnvChange, Subprocess as _, SubprocessError,
};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::oneshot;
use wasmtime::component::{
    Access, Accessor, Destination, FutureReader, HasSelf, Resource, Source, StreamConsumer,
    StreamProducer, StreamReader, StreamResult,
};
use wasmtime::{Result, StoreContextMut, bail};

/// One child process. Dropping it ends the tree.
pub type Process = Arc<dyn local::Process>;

/// Bytes handed to the guest at once.
const CHUNK: usize = 64 << 10;

impl wit::HostProcess for PluginState {
    fn pid(&mut self, process: Resource<Process>) -> Result<Option<u32>> {
        Ok(self.table.get(&process)?.pid())
    }

    fn stderr_tail(&mut self, process: Resource<Process>) -> Result<String> {
        Ok(self.table.get(&process)?.stderr_tail())
    }

    fn terminate(&mut self, process: Resource<Process>) -> Result<()> {
        self.table.get(&process)?.terminate();
        Ok(())
    }

    fn drop(&mut self, process: Resource<Process>) -> Result<()> {
        // A pending `done` may still hold a reference, so the end of the tree is asked for here and not left to the last reference.
        self.table.delete(process)?.terminate();
        Ok(())
    }
}

impl wit::Host for PluginState {
    fn available(&mut self) -> Result<bool> {
        Ok(self.env.services.subprocess().is_some())
    }
}

impl wit::HostProcessWithStore<PluginState> for HasSelf<PluginState> {
    fn write_stdin(
        mut access: Access<PluginState, Self>,
        process: Resource<Process>,
        data: StreamReader<u8>,
    ) -> Result<FutureReader<Result<(), types::Failure>>> {
        let Some(stdin) = access.get().table.get(&process)?.take_stdin() else {
            bail!(
                "the standard input of this process is not to be had: it was taken, not asked for, or the process never started"
            )
        };
        let (settle, settled) = oneshot::channel();
        data.pipe(
            &mut access,
            Stdin {
                pipe: stdin,
                failed: Some(settle),
            },
        )?;
        FutureReader::new(&mut access, async move {
            // The sender is dropped with the pipe when everything was written.
            wasmtime::error::Ok(settled.await.map_or(Ok(()), |message: String| {
                Err(types::Failure {
                    name: None,
                    code: Some("EPIPE".into()),
                    message,
                })
            }))
        })
    }

    fn take_stdout(
        mut access: Access<PluginState, Self>,
        process: Resource<Process>,
    ) -> Result<StreamReader<u8>> {
        let Some(stdout) = access.get().table.get(&process)?.take_stdout() else {
            bail!(
                "the standard output of this process is not to be had: it was taken, or the process never started"
            )
        };
        StreamReader::new(&mut access, Stdout(stdout))
    }

    async fn done(
        accessor: &Accessor<PluginState, Self>,
        process: Resource<Process>,
    ) -> Result<Result<wit::Exit, types::Failure>> {
        let (done, _pending) = waiting(accessor, &process, |process| process.done())?;
        Ok(done
            .await
            .map(|exit| wit::Exit {
                code: exit.code,
                signal: exit.signal,
            })
            .map_err(convert_error))
    }

    async fn wait_for_exit(
        accessor: &Accessor<PluginState, Self>,
        process: Resource<Process>,
        timeout_ms: Option<u32>,
    ) -> Result<bool> {
        let timeout = timeout_ms.map(|ms| Duration::from_millis(u64::from(ms)));
        let (gone, _pending) =
            waiting(accessor, &process, |process| process.wait_for_exit(timeout))?;
        Ok(gone.await)
    }
}

impl wit::HostWithStore<PluginState> for HasSelf<PluginState> {
    async fn resolve_executable(
        accessor: &Accessor<PluginState, Self>,
        command: String,
        env: Vec<wit::EnvEntry>,
    ) -> Result<Result<String, types::Failure>> {
        let (plugin, lanes) = surroundings(accessor);
        let env = convert_env(env);
        let _lane = lanes.enter(command.len() + env_bytes(&env)).await?;
        let Some(service) = plugin.subprocess().await else {
            return Ok(Err(unavailable()));
        };
        Ok(service
            .resolve_executable(&command, &env, None)
            .await
            .map_err(convert_error))
    }

    async fn spawn(
        accessor: &Accessor<PluginState, Self>,
        spec: wit::SpawnSpec,
    ) -> Result<Result<Resource<Process>, types::Failure>> {
        let (plugin, lanes) = surroundings(accessor);
        let spec = local::SpawnSpec {
            argv: spec.argv,
            cwd: spec.cwd,
            stdin: spec.stdin,
            stderr_max_bytes: spec.stderr_max_bytes,
            grace_ms: spec.grace_ms,
            env: convert_env(spec.env),
            signal: None,
        };
        let words: usize = spec
            .argv
            .iter()
            .map(|word| size_of::<String>() + word.len())
            .sum();
        let _lane = lanes.enter(words + env_bytes(&spec.env)).await?;
        let Some(service) = plugin.subprocess().await else {
            return Ok(Err(unavailable()));
        };
        match service.spawn(spec).await {
            Ok(process) => {
                let process: Process = Arc::from(process);
                Ok(Ok(
                    accessor.with(|mut access| access.get().table.push(process))?
                ))
            }
            Err(error) => Ok(Err(convert_error(error))),
        }
    }
}

fn surroundings(accessor: &Accessor<PluginState, HasSelf<PluginState>>) -> (Arc<PluginEnv>, Lanes) {
    accessor.with(|mut access| {
        let state = access.get();
        (state.env.clone(), state.lanes.clone())
    })
}

/// Something of a process to wait for, counted as pending.
fn waiting<R>(
    accessor: &Accessor<PluginState, HasSelf<PluginState>>,
    process: &Resource<Process>,
    what: impl FnOnce(&Process) -> R,
) -> Result<(R, Request)> {
    accessor.with(|mut access| {
        let state = access.get();
        Ok((what(state.table.get(process)?), state.lanes.wait(0)?))
    })
}

fn env_bytes(env: &[EnvChange]) -> usize {
    let value = |entry: &EnvChange| entry.value.as_ref().map_or(0, String::len);
    env.iter()
        .map(|entry| size_of::<EnvChange>() + entry.name.len() + value(entry))
        .sum()
}

fn unavailable() -> types::Failure {
    types::Failure {
        name: None,
        code: None,
        message: "subprocess backend unavailable".into(),
    }
}

fn convert_env(env: Vec<wit::EnvEntry>) -> Vec<EnvChange> {
    env.into_iter()
        .map(|entry| EnvChange {
            name: entry.name,
            value: entry.value,
        })
        .collect()
}

fn convert_error(error: SubprocessError) -> types::Failure {
    types::Failure {
        name: Some("SubprocessError".into()),
        code: error.code().map(String::from),
        message: error.to_string(),
    }
}

/// A child's standard output as a guest stream.
struct Stdout(ChildStdout);

impl<D> StreamProducer<D> for Stdout {
    type Item = u8;
    type Buffer = bytes::BytesMut;

    fn poll_produce<'a>(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut store: StoreContextMut<'a, D>,
        destination: Destination<'a, u8, bytes::BytesMut>,
        finish: bool,
    ) -> Poll<Result<StreamResult>> {
        // A read of length zero asks only whether there would be something.
        if destination.remaining(&mut store) == Some(0) {
            return Poll::Ready(Ok(StreamResult::Completed));
        }
        let mut destination = destination.as_direct(store, CHUNK);
        let mut buffer = ReadBuf::new(destination.remaining());
        match Pin::new(&mut self.0).poll_read(context, &mut buffer) {
            Poll::Ready(Ok(())) => {
                let read = buffer.filled().len();
                destination.mark_written(read);
                Poll::Ready(Ok(if read == 0 {
                    StreamResult::Dropped
                } else {
                    StreamResult::Completed
                }))
            }
            Poll::Ready(Err(_)) => Poll::Ready(Ok(StreamResult::Dropped)),
            Poll::Pending if finish => Poll::Ready(Ok(StreamResult::Cancelled)),
            Poll::Pending => Poll::Pending,
        }
    }
}

/// A guest stream as a child's standard input. Dropping it closes the pipe.
struct Stdin {
    pipe: ChildStdin,
    failed: Option<oneshot::Sender<String>>,
}

impl<D> StreamConsumer<D> for Stdin {
    type Item = u8;

    fn poll_consume(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        store: StoreContextMut<D>,
        source: Source<'_, u8>,
        finish: bool,
    ) -> Poll<Result<StreamResult>> {
        let mut source = source.as_direct(store);
        let bytes = source.remaining();
        if bytes.is_empty() {
            return Poll::Ready(Ok(StreamResult::Completed));
        }
        let problem = match Pin::new(&mut self.pipe).poll_write(context, bytes) {
            Poll::Ready(Ok(0)) => "the pipe takes no more".to_owned(),
            Poll::Ready(Ok(written)) => {
                source.mark_read(written);
                return Poll::Ready(Ok(StreamResult::Completed));
            }
            Poll::Ready(Err(error)) => error.to_string(),
            Poll::Pending if finish => return Poll::Ready(Ok(StreamResult::Cancelled)),
            Poll::Pending => return Poll::Pending,
        };
        if let Some(failed) = self.failed.take() {
            // Nobody listening means that the guest dropped the future; then nobody needs to know.
            let _ = failed.send(problem);
        }
        Poll::Ready(Ok(StreamResult::Dropped))
    }
}
