//! Running the command on a small tree.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// What one run of the command came to.
#[derive(Debug)]
pub struct Run {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    pub fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("only text is printed");
        Self {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// Standard output of a run that succeeded without a word on standard error.
    pub fn success(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""), "{self:?}");
        self.stdout
    }

    pub fn json(self) -> Value {
        serde_json::from_str(&self.success()).unwrap()
    }

    /// Checks that the run was refused as wrong usage, and named what is wrong.
    pub fn refused(&self, what: &str, named: &[&str]) {
        assert_eq!(self.code, Some(2), "{what}: {self:?}");
        assert_eq!(self.stdout, "", "{what}");
        assert!(self.stderr.starts_with("error: "), "{what}: {self:?}");
        for name in named {
            assert!(
                self.stderr.contains(name),
                "{what}: {name} is not named: {}",
                self.stderr
            );
        }
    }
}

/// A directory to work in, with a small tree.
pub struct Place(tempfile::TempDir);

impl Place {
    /// `src/main.rs`, `src/map.rs`, `docs/`, `node_modules/x.js` and `README.md`.
    pub fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        for directory in ["src", "docs", "node_modules"] {
            std::fs::create_dir(place.path().join(directory)).unwrap();
        }
        for file in [
            "src/main.rs",
            "src/map.rs",
            "node_modules/x.js",
            "README.md",
        ] {
            place.write(file, b"");
        }
        place
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn write(&self, name: &str, content: &[u8]) {
        std::fs::write(self.path().join(name), content).unwrap();
    }

    /// The command, about to run here, without the colours and logs that the surroundings may ask for.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dsh-host"));
        // Compiled code is kept for the whole run of the tests, and away from the user's own, as are sessions.
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("code");
        command
            .args(arguments)
            .current_dir(self.path())
            .env("DSH_HOST_CACHE_DIR", cache)
            .env("DSH_HOME", self.path().join(".dsh"))
            .stdin(Stdio::null());
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "DSH_HOST_LOG"] {
            command.env_remove(name);
        }
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Run {
        Run::of(self.command(arguments).output().unwrap())
    }

    /// Runs with this text as `profile.yaml`.
    pub fn run_with_profile(&self, profile: &str, arguments: &[&str]) -> Run {
        self.write("profile.yaml", profile.as_bytes());
        self.run(&[arguments, &["--profile", "profile.yaml"]].concat())
    }
}
