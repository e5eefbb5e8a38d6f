use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use super::argv_rule::ArgvRule;
use super::contract::{EnvChange, SpawnSpec, Subprocess};
use super::error::SubprocessError;

/// How many live processes an owner may have unless its grants say otherwise.
pub const DEFAULT_MAX_LIVE: usize = 64;

/// The longest part of a refused request that is repeated to its author, in characters.
const MAX_QUOTED: usize = 300;

/// What one owner may start, and where. The default allows nothing.
#[derive(Debug, Clone)]
pub struct Grants {
    /// The programs.
    pub programs: Vec<ProgramGrant>,
    /// The working directories.
    pub directories: Directories,
    /// How many processes may live at once.
    pub max_live: usize,
}

impl Default for Grants {
    fn default() -> Self {
        Self {
            programs: Vec::new(),
            directories: Directories::Within(Vec::new()),
            max_live: DEFAULT_MAX_LIVE,
        }
    }
}

/// The working directories that an owner's processes may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Directories {
    /// Any.
    Any,
    /// These and whatever lies under them, links resolved.
    Within(Vec<PathBuf>),
    /// The same for a set that changes, such as the directories of the agents that there are.
    Shared(SharedRoots),
}

/// Directories that may be added and removed while processes run. Clones are the same set.
#[derive(Debug, Clone, Default)]
pub struct SharedRoots(Arc<RwLock<Vec<PathBuf>>>);

impl SharedRoots {
    /// Adds a directory. One that was added twice has to be removed twice.
    pub fn add(&self, directory: PathBuf) {
        self.0
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .push(directory);
    }

    /// Removes a directory. Processes that run there go on.
    pub fn remove(&self, directory: &Path) {
        let mut roots = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = roots.iter().position(|root| root == directory) {
            roots.swap_remove(index);
        }
    }

    /// The directories now.
    pub fn now(&self) -> Vec<PathBuf> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl PartialEq for SharedRoots {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for SharedRoots {}

impl Directories {
    /// The roots now; none when any directory will do.
    pub(super) fn roots(&self) -> Option<Vec<PathBuf>> {
        match self {
            Self::Any => None,
            Self::Within(roots) => Some(roots.clone()),
            Self::Shared(roots) => Some(roots.now()),
        }
    }
}

/// One program that an owner may start.
#[derive(Debug, Clone)]
pub struct ProgramGrant {
    command: String,
    path: Result<String, SubprocessError>,
    arguments: ArgvRule,
    env: Vec<EnvChange>,
}

impl ProgramGrant {
    /// Grants `command`, as a configuration names it, together with the environment `env` that the configuration sets.
    /// The program is looked up now, once: neither the owner nor a later `PATH` can put another in its place. When it is
    /// not found the grant stays without effect, and says why whenever the owner asks for it.
    pub async fn resolve(
        provider: &dyn Subprocess,
        command: impl Into<String>,
        env: Vec<EnvChange>,
        arguments: ArgvRule,
    ) -> Self {
        let command = command.into();
        let wanted = command.clone();
        Self::resolve_at(provider, command, &wanted, env, arguments).await
    }

    /// The same for an owner that asks for `command`, a name, and gets the program `wanted`, which the deployer has put in its
    /// place.
    pub async fn resolve_at(
        provider: &dyn Subprocess,
        command: impl Into<String>,
        wanted: &str,
        env: Vec<EnvChange>,
        arguments: ArgvRule,
    ) -> Self {
        let path = provider.resolve_executable(wanted, &env, None).await;
        Self {
            command: command.into(),
            path,
            arguments,
            env,
        }
    }

    /// The command as the configuration names it.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// The program's path, or why it was not found.
    ///
    /// # Errors
    /// What the lookup answered.
    pub fn path(&self) -> Result<&str, &SubprocessError> {
        self.path.as_deref()
    }

    /// The rule for its arguments.
    pub fn arguments(&self) -> &ArgvRule {
        &self.arguments
    }
}

impl Grants {
    /// The path of a granted program, asked for by its configured name or by that path.
    pub(super) fn find(&self, command: &str, env: &[EnvChange]) -> Result<String, SubprocessError> {
        let mut refusal = None;
        for grant in &self.programs {
            if grant.command != command && grant.path.as_deref() != Ok(command) {
                continue;
            }
            match foreign_entry(env, &grant.env) {
                None => return grant.path.clone(),
                Some(entry) => refusal = Some(env_denied(entry)),
            }
        }
        Err(refusal.unwrap_or_else(|| self.denied(format!("executable {}", quoted(command)))))
    }

    /// Judges everything but the working directory. Spellings are compared as they are: another spelling of a granted
    /// program is another program.
    pub(super) fn check_program(&self, spec: &SpawnSpec) -> Result<(), SubprocessError> {
        let mut refusal = None;
        if let Some((program, arguments)) = spec.argv.split_first() {
            for grant in &self.programs {
                if grant.path.as_ref() != Ok(program) || !grant.arguments.allows(arguments) {
                    continue;
                }
                match foreign_entry(&spec.env, &grant.env) {
                    None => return Ok(()),
                    Some(entry) => refusal = Some(env_denied(entry)),
                }
            }
        }
        Err(refusal.unwrap_or_else(|| {
            self.denied(format!("argv {}", quoted(&format!("{:?}", spec.argv))))
        }))
    }

    fn denied(&self, asked: String) -> SubprocessError {
        let allowed: Vec<String> = self.programs.iter().map(ToString::to_string).collect();
        SubprocessError::Denied {
            asked,
            allowed: match allowed.is_empty() {
                true => "no program at all".into(),
                false => allowed.join("; "),
            },
        }
    }
}

/// The first entry that the configuration did not set itself. Variables can make any program load or run another one
/// (`LD_PRELOAD`, `DYLD_INSERT_LIBRARIES`, `NODE_OPTIONS`, `BASH_ENV`, `PATH`), and no list of such names is ever complete,
/// so what is not granted is refused. Removing a variable is harmless.
fn foreign_entry<'a>(asked: &'a [EnvChange], granted: &[EnvChange]) -> Option<&'a EnvChange> {
    asked
        .iter()
        .find(|entry| entry.value.is_some() && !granted.contains(entry))
}

fn env_denied(entry: &EnvChange) -> SubprocessError {
    SubprocessError::Denied {
        asked: format!("env {}", quoted(&entry.name)),
        allowed: "the variables that the configuration sets, with their values, and removing any"
            .into(),
    }
}

fn quoted(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTED) {
        Some((end, _)) => format!("`{}`…", &text[..end]),
        None => format!("`{text}`"),
    }
}

impl fmt::Display for ProgramGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Ok(path) => write!(f, "{path} {}", self.arguments),
            Err(error) => write!(f, "{} ({error})", self.command),
        }
    }
}

impl fmt::Display for Directories {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.roots() {
            None => f.write_str("any directory"),
            Some(roots) if roots.is_empty() => f.write_str("no directory at all"),
            Some(roots) => {
                let roots: Vec<_> = roots
                    .iter()
                    .map(|root| root.display().to_string())
                    .collect();
                write!(f, "within {}", roots.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn grants(arguments: ArgvRule, env: Vec<EnvChange>) -> Grants {
        Grants {
            programs: vec![ProgramGrant {
                command: "tool".into(),
                path: Ok("/opt/bin/tool".into()),
                arguments,
                env,
            }],
            ..Grants::default()
        }
    }

    fn spec(argv: &[&str], env: Vec<EnvChange>) -> SpawnSpec {
        SpawnSpec {
            argv: strings(argv),
            cwd: "/".into(),
            stdin: false,
            stderr_max_bytes: 0,
            grace_ms: 1,
            env,
            signal: None,
        }
    }

    #[test]
    fn the_default_allows_nothing_and_says_so() {
        let error = Grants::default()
            .check_program(&spec(&["/bin/sh"], vec![]))
            .unwrap_err();
        assert_eq!(error.code(), Some("SUBPROCESS_DENIED"));
        assert_eq!(
            error.to_string(),
            "not granted: argv `[\"/bin/sh\"]`; allowed: no program at all"
        );
        let error = Grants::default().find("sh", &[]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "not granted: executable `sh`; allowed: no program at all"
        );
    }

    #[test]
    fn a_program_is_granted_by_its_exact_path_alone() {
        let grants = grants(ArgvRule::Exact(vec![]), vec![]);
        assert_eq!(
            grants.check_program(&spec(&["/opt/bin/tool"], vec![])),
            Ok(())
        );
        for program in [
            "tool",
            "./tool",
            "opt/bin/tool",
            "/opt/bin/../bin/tool",
            "/opt/bin/./tool",
            "/opt//bin/tool",
            "//opt/bin/tool",
            "/opt/bin/tool/",
            "/opt/bin/tool2",
            "/opt/bin/TOOL",
            "/proc/self/root/opt/bin/tool",
            "",
        ] {
            let error = grants.check_program(&spec(&[program], vec![])).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!(
                    "not granted: argv `[{program:?}]`; allowed: /opt/bin/tool with exactly []"
                )
            );
        }
        assert!(grants.check_program(&spec(&[], vec![])).is_err());
    }

    #[test]
    fn a_name_is_granted_as_configured_or_as_found() {
        let grants = grants(ArgvRule::Exact(vec![]), vec![]);
        assert_eq!(grants.find("tool", &[]).as_deref(), Ok("/opt/bin/tool"));
        assert_eq!(
            grants.find("/opt/bin/tool", &[]).as_deref(),
            Ok("/opt/bin/tool")
        );
        for command in ["", "tool2", "./tool", "/bin/tool", "TOOL"] {
            assert_eq!(
                grants.find(command, &[]).unwrap_err().code(),
                Some("SUBPROCESS_DENIED"),
                "{command}"
            );
        }
    }

    #[test]
    fn variables_are_refused_unless_the_configuration_sets_them_alike() {
        let granted = vec![
            EnvChange::set("PATH", "/opt/bin"),
            EnvChange::set("LD_LIBRARY_PATH", "/opt/lib"),
        ];
        let grants = grants(ArgvRule::Exact(vec![]), granted.clone());
        let check = |env| grants.check_program(&spec(&["/opt/bin/tool"], env));
        assert_eq!(check(granted), Ok(()));
        assert_eq!(
            check(vec![EnvChange::remove("HOME"), EnvChange::remove("PATH")]),
            Ok(())
        );
        for name in [
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "LD_AUDIT",
            "DYLD_INSERT_LIBRARIES",
            "GCONV_PATH",
            "NODE_OPTIONS",
            "BASH_ENV",
            "PYTHONPATH",
            "PATH",
            "path",
            "HARMLESS",
        ] {
            let entry = EnvChange::set(name, "/tmp/evil");
            let error = check(vec![EnvChange::remove("HOME"), entry.clone()]).unwrap_err();
            assert_eq!(error.code(), Some("SUBPROCESS_DENIED"));
            assert!(
                error.to_string().contains(&format!("env `{name}`")),
                "{error}"
            );
            assert!(grants.find("tool", &[entry]).is_err());
        }
    }

    #[test]
    fn a_refusal_repeats_a_bounded_part_of_the_request() {
        let long = "é".repeat(100_000);
        let error = Grants::default().find(&long, &[]).unwrap_err();
        assert!(error.to_string().len() < 1000);
    }
}
