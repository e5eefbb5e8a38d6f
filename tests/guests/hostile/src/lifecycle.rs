//! Mounting, unmounting, agents and prompt sections, as the configuration says.

use crate::Component;
use crate::bindings::dsh::ctx::logger::{self, Level};
use crate::bindings::dsh::ctx::timers;
use crate::bindings::dsh::ctx::types::Failure;
use crate::bindings::dsh::ctx::workspace::Directory;
use crate::bindings::exports::dsh::ctx::lifecycle::Manifest;
use crate::bindings::exports::dsh::ctx::{agent_events, lifecycle, prompt_sections};
use crate::misdeeds::{commit, commit_async};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hint::black_box;

/// How `describe` behaves. It is asked before there is any configuration, so the tests write another word of six letters over this one
/// in the component's bytes.
static DESCRIBE: &str = "dsh-hostile-describe:answer";

thread_local! {
    static CONFIG: RefCell<Value> = const { RefCell::new(Value::Null) };
    static AGENTS: RefCell<BTreeMap<String, Directory>> = const { RefCell::new(BTreeMap::new()) };
}

/// The configuration that was applied.
pub fn config() -> Value {
    CONFIG.with_borrow(Value::clone)
}

/// The agents that were announced.
pub fn agents() -> Vec<String> {
    AGENTS.with_borrow(|agents| agents.keys().cloned().collect())
}

/// Takes the directory of an agent away from those known.
pub fn take_directory(agent: &str) -> Option<Directory> {
    AGENTS.with_borrow_mut(|agents| agents.remove(agent))
}

/// What the configuration wants done at this point.
fn wanted(config: &Value, point: &str) -> String {
    config[point].as_str().unwrap_or_default().to_owned()
}

fn refused() -> Failure {
    Failure {
        name: Some("ConfigError".into()),
        code: Some("CONFIG_REFUSED".into()),
        message: "refused as it was told".into(),
    }
}

impl lifecycle::Guest for Component {
    fn describe() -> Manifest {
        let mode = black_box(DESCRIBE).rsplit(':').next().unwrap_or_default();
        match mode {
            "panics" => commit("panic"),
            "spins-" => commit("spin"),
            "blocks" => commit("block"),
            _ => {}
        }
        let required = match mode {
            "needs-" => vec!["sessionQuery".into()],
            _ => vec!["tools".into()],
        };
        let schema = match mode {
            "nojson" => "{",
            _ => r#"{"type":"object"}"#,
        };
        Manifest {
            name: "dsh-hostile-guest".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            summary: env!("CARGO_PKG_DESCRIPTION").into(),
            required,
            optional: Vec::new(),
            config_schema: schema.into(),
        }
    }

    async fn apply(config: String) -> Result<(), Failure> {
        let config: Value = serde_json::from_str(&config).map_err(|error| Failure {
            name: None,
            code: None,
            message: error.to_string(),
        })?;
        CONFIG.set(config.clone());
        match &*wanted(&config, "apply") {
            "refuse" => return Err(refused()),
            misdeed => commit_async(misdeed).await,
        }
        logger::log(Level::Info, "applied");
        Ok(())
    }

    async fn dispose() -> Result<(), Failure> {
        logger::log(Level::Info, "disposing");
        match &*wanted(&config(), "dispose") {
            "refuse" => return Err(refused()),
            "linger" => {
                // A task that goes on after `dispose` has come back.
                drop(wit_bindgen::spawn_local(async {
                    loop {
                        logger::log(Level::Info, "lingering");
                        timers::sleep(10).await;
                    }
                }));
                timers::sleep(1).await;
            }
            misdeed => commit_async(misdeed).await,
        }
        logger::log(Level::Info, "disposed");
        Ok(())
    }
}

impl agent_events::Guest for Component {
    fn agent_created(agent: String, directory: Directory) {
        commit(&wanted(&config(), "agentCreated"));
        AGENTS.with_borrow_mut(|agents| agents.insert(agent, directory));
    }

    fn agent_disposed(agent: String) {
        AGENTS.with_borrow_mut(|agents| agents.remove(&agent));
    }

    fn session_event(_: Option<String>, event_type: String) {
        commit(&event_type);
    }
}

impl prompt_sections::Guest for Component {
    fn sections(agent: String) -> Vec<prompt_sections::Section> {
        let config = config();
        commit(&wanted(&config, "sections"));
        let sections = config["sections"].as_array().cloned().unwrap_or_default();
        let section = |section: Value| prompt_sections::Section {
            name: section["name"].as_str().unwrap_or_default().into(),
            order: section["order"].as_i64().unwrap_or_default() as i32,
            text: section["text"]
                .as_str()
                .unwrap_or_default()
                .replace("{agent}", &agent),
        };
        sections.into_iter().map(section).collect()
    }
}
