//! Which programs a plugin may run: what the deployer's own configuration of the plugin names, and nothing else.

use dsh_services::subprocess::{
    ArgvRule, AuthorizedPaths, Directories, EnvChange, Grants, ProgramGrant, SharedRoots,
    Subprocess,
};
use serde_json::Value;
use std::fmt;
use std::time::Duration;

/// One program that a plugin may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramRequest {
    /// The command as the configuration names it: an absolute path, or a name to be found on `PATH`.
    pub command: String,
    /// Where it is, when the deployer says so; the plugin still asks for it by `command`.
    pub path: Option<String>,
    /// What it may be given.
    pub arguments: ArgumentRule,
    /// The environment that the configuration sets.
    pub env: Vec<(String, String)>,
    /// The longest time that the configuration gives the plugin to end it.
    pub ending: Duration,
}

/// Which arguments a program may be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentRule {
    /// Exactly these.
    Exact(Vec<String>),
    /// A search by ripgrep in one file that the host has authorised for the running call.
    SearchOneFile,
}

impl fmt::Display for ProgramRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.arguments {
            ArgumentRule::Exact(arguments) => {
                write!(f, "{}", self.command)?;
                arguments
                    .iter()
                    .try_for_each(|argument| write!(f, " {argument}"))?;
                write!(f, ", in the agents' directories")
            }
            ArgumentRule::SearchOneFile => {
                let program = self.path.as_deref().unwrap_or(&self.command);
                write!(
                    f,
                    "{program}, to search one spill file of the calling session"
                )
            }
        }
    }
}

/// Where the programs of a mounted plugin come from. They are worked out at every mount, so that a reload with another configuration has the
/// programs of that one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Programs {
    /// It may run none.
    #[default]
    None,
    /// What its configuration names, see [`requests`]; the text is the name of the bundled component, or of the file.
    OfConfiguration(String),
    /// These.
    Only(Vec<ProgramRequest>),
}

impl Programs {
    /// The programs under this configuration.
    pub fn under(&self, config: &Value) -> Vec<ProgramRequest> {
        match self {
            Self::None => Vec::new(),
            Self::OfConfiguration(plugin) => requests(plugin, config),
            Self::Only(programs) => programs.clone(),
        }
    }
}

/// What the configuration of a plugin asks for. The plugin is known by the name of its bundled component; a component from a file gets the
/// programs that its configuration lists in the same form, under `servers`.
pub fn requests(plugin: &str, config: &Value) -> Vec<ProgramRequest> {
    match plugin {
        "dsh-context-proxy" => vec![ProgramRequest {
            command: "rg".into(),
            path: config
                .get("rgPath")
                .and_then(Value::as_str)
                .map(String::from),
            arguments: ArgumentRule::SearchOneFile,
            env: Vec::new(),
            ending: Duration::ZERO,
        }],
        _ => servers(config),
    }
}

/// The programs under `servers`, each with `command`, `args` and `env`. Entries of another shape are left to the plugin, which refuses them.
fn servers(config: &Value) -> Vec<ProgramRequest> {
    let servers = config.get("servers").and_then(Value::as_object);
    let request = |server: &Value| {
        let args = match server.get("args") {
            None | Some(Value::Null) => Vec::new(),
            Some(args) => args
                .as_array()?
                .iter()
                .map(|arg| arg.as_str().map(String::from))
                .collect::<Option<_>>()?,
        };
        let env = match server.get("env") {
            None | Some(Value::Null) => Vec::new(),
            Some(env) => {
                let pair = |(name, value): (&String, &Value)| {
                    Some((name.clone(), value.as_str()?.to_owned()))
                };
                env.as_object()?.iter().map(pair).collect::<Option<_>>()?
            }
        };
        let command = server.get("command")?.as_str()?.to_owned();
        Some(ProgramRequest {
            command,
            path: None,
            arguments: ArgumentRule::Exact(args),
            env,
            ending: ending(server),
        })
    };
    servers
        .into_iter()
        .flat_map(|servers| servers.values())
        .filter_map(request)
        .collect()
}

/// A cancelled query has its grace, the server has its time to shut down, and its process tree has the grace once more. Values that are no
/// numbers are left to the plugin, which refuses them.
fn ending(server: &Value) -> Duration {
    let of = |key: &str, default: u64| server.get(key).and_then(Value::as_u64).unwrap_or(default);
    let grace = of("killGraceMs", 2_000);
    Duration::from_millis(of("shutdownTimeoutMs", 5_000).saturating_add(grace.saturating_mul(2)))
}

/// Looks the programs up, once, and makes the grants of one mounted plugin.
pub(crate) async fn resolve(
    provider: &dyn Subprocess,
    requests: &[ProgramRequest],
    authorized: &AuthorizedPaths,
    roots: &SharedRoots,
) -> Grants {
    let mut programs = Vec::new();
    let mut searches = false;
    for request in requests {
        let env = request
            .env
            .iter()
            .map(|(name, value)| EnvChange::set(name, value))
            .collect();
        let rule = match &request.arguments {
            ArgumentRule::Exact(arguments) => ArgvRule::Exact(arguments.clone()),
            ArgumentRule::SearchOneFile => {
                searches = true;
                ArgvRule::Ripgrep(authorized.clone())
            }
        };
        let wanted = request.path.as_deref().unwrap_or(&request.command);
        let grant = ProgramGrant::resolve_at(provider, &request.command, wanted, env, rule);
        programs.push(grant.await);
    }
    // A search reads the one file that was authorised, wherever it runs; a language server works where the agents work.
    let directories = if searches {
        Directories::Any
    } else {
        Directories::Shared(roots.clone())
    };
    Grants {
        programs,
        directories,
        ..Grants::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_the_configuration_names_is_granted() {
        let config = json!({"servers": {
            "a": {"command": "/bin/a", "args": ["--stdio"], "env": {"X": "1"}},
            "b": {"command": "b"},
            "wrong": {"command": 5},
            "worse": {"command": "c", "args": [1]},
        }});
        let found = requests("dsh-workspace-intelligence", &config);
        let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "/bin/a --stdio, in the agents' directories",
                "b, in the agents' directories"
            ]
        );
        assert_eq!(found[0].env, [("X".to_owned(), "1".to_owned())]);
        assert_eq!(found[0].ending, Duration::from_secs(9));
        assert_eq!(requests("dsh-workspace-intelligence", &Value::Null), []);
        assert_eq!(
            requests("dsh-file-reference-local", &json!({"servers": []})),
            []
        );
        let ripgrep = |config: Value| requests("dsh-context-proxy", &config)[0].to_string();
        let rest = "to search one spill file of the calling session";
        assert_eq!(ripgrep(Value::Null), format!("rg, {rest}"));
        let configured = ripgrep(json!({"rgPath": "/opt/rg"}));
        assert_eq!(configured, format!("/opt/rg, {rest}"));
    }
}
