//! Fakes of everything that a call may use, and the log that the cases of SPEC 8 speak of.
//!
//! They never wait for time: a call that does not settle when it is polled once would wait for ever, and its test says so.

mod fake_process;
mod fake_session;
pub mod grep_calls;
pub mod rg_output;

pub use fake_process::{FakeSubprocess, Run};
pub use fake_session::{FakeSession, event};

use dsh_context_proxy::config::Config;
use dsh_context_proxy::driver::execute;
use dsh_context_proxy::errors::{CallError, Failure};
use dsh_context_proxy::services::{Access, Caller, Services, Signal, Spill};
use futures::FutureExt;
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

/// A switch that tests and fakes may throw.
#[derive(Default, Clone)]
pub struct FakeSignal(Rc<(Cell<bool>, RefCell<Vec<Waker>>)>);

impl FakeSignal {
    pub fn abort(&self) {
        self.0.0.set(true);
        self.0.1.borrow_mut().drain(..).for_each(Waker::wake);
    }
}

impl Signal for FakeSignal {
    fn aborted(&self) -> bool {
        self.0.0.get()
    }

    async fn wait(&self) {
        poll_fn(|context| {
            if self.aborted() {
                return Poll::Ready(());
            }
            self.0.1.borrow_mut().push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

/// A judge that answers what it was told to, and remembers what it was asked.
pub struct FakeSpill {
    pub answer: Result<Access, Failure>,
    pub asked: RefCell<Vec<String>>,
}

impl Spill for FakeSpill {
    async fn authorize(&self, path: &str) -> Result<Access, Failure> {
        self.asked.borrow_mut().push(path.to_owned());
        self.answer.clone()
    }
}

/// Everything around a call. The defaults are a live host over the log of SPEC 8 and a spill file that may be searched.
pub struct World {
    pub session: FakeSession,
    pub spill: FakeSpill,
    pub subprocess: FakeSubprocess,
    pub signal: FakeSignal,
    pub caller: Caller,
    pub config: Config,
}

pub const SPILL_PATH: &str = "/spill/session-0123456789ab/a-bash.txt";

impl Default for World {
    fn default() -> Self {
        World {
            session: FakeSession::fixture(),
            spill: FakeSpill {
                answer: Ok(Access::Granted(SPILL_PATH.to_owned())),
                asked: RefCell::default(),
            },
            subprocess: FakeSubprocess::default(),
            signal: FakeSignal::default(),
            caller: Caller {
                has_session: true,
                cwd: Some("/work/app".to_owned()),
                current_step: None,
            },
            config: Config::default(),
        }
    }
}

impl World {
    pub fn with_session(session: FakeSession) -> Self {
        World {
            session,
            ..World::default()
        }
    }

    /// A world in which ripgrep does this, run by run.
    pub fn with_runs(runs: impl IntoIterator<Item = Run>) -> Self {
        World {
            subprocess: FakeSubprocess::with_runs(runs),
            ..World::default()
        }
    }

    pub async fn call_async(&self, tool: &str, arguments: &str) -> Result<String, CallError> {
        let services = Services {
            session_query: &self.session,
            spill: &self.spill,
            subprocess: &self.subprocess,
            signal: &self.signal,
        };
        execute(tool, arguments, self.config, &self.caller, &services).await
    }

    /// The call's outcome.
    pub fn call(&self, tool: &str, arguments: impl ToString) -> Result<String, CallError> {
        let arguments = arguments.to_string();
        let outcome = self.call_async(tool, &arguments).now_or_never();
        outcome.unwrap_or_else(|| panic!("{tool} {arguments} waits for something that never comes"))
    }

    /// The answer's text of a call that succeeds.
    pub fn text(&self, tool: &str, arguments: impl ToString) -> String {
        let text = self.call(tool, arguments).unwrap();
        // Every answer is one compact JSON value that DSH can parse and write again without a difference (case 68).
        let value: Value = serde_json::from_str(&text).unwrap();
        assert!(!text.contains(['\n', '\r']));
        assert_eq!(serde_json::to_string(&value).unwrap().len(), text.len());
        text
    }

    /// The answer of a call that succeeds.
    pub fn answer(&self, tool: &str, arguments: impl ToString) -> Value {
        serde_json::from_str(&self.text(tool, arguments)).unwrap()
    }

    /// Code and message of a call that fails.
    pub fn failure(&self, tool: &str, arguments: impl ToString) -> (String, String) {
        match self.call(tool, arguments).unwrap_err() {
            CallError::Failed(error) => {
                let failure = Failure::from(&error);
                (failure.code.unwrap(), failure.message)
            }
            CallError::Aborted => panic!("the call was aborted"),
        }
    }

    pub fn assert_failure(&self, tool: &str, arguments: impl ToString, code: &str, message: &str) {
        let found = self.failure(tool, arguments);
        assert_eq!((found.0.as_str(), found.1.as_str()), (code, message));
    }
}

/// The `seq` of each match or item.
pub fn seqs(answer: &Value) -> Vec<u64> {
    let list = answer.get("matches").or(answer.get("items")).unwrap();
    let list = list.as_array().unwrap();
    list.iter()
        .map(|item| item["seq"].as_u64().unwrap())
        .collect()
}

/// The `citation` of each match or item.
pub fn citations(answer: &Value) -> Vec<&str> {
    let list = answer.get("matches").or(answer.get("items")).unwrap();
    let list = list.as_array().unwrap();
    list.iter()
        .map(|item| item["citation"].as_str().unwrap())
        .collect()
}
