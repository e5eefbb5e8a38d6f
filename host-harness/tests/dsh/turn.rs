//! One turn of a real DSH with the plugin in it.

use crate::builds::Build;
use crate::model::Model;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// How long anything may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(150);

/// A home, a workspace and a composition for one DSH.
pub struct Stage {
    build: Build,
    /// Everything lies in here, so that processes of this test are known by it.
    place: tempfile::TempDir,
    patch: Vec<Value>,
    /// A patch as people write it, in the place of `patch`.
    yaml: Option<String>,
}

impl Stage {
    pub fn new(build: Build) -> Self {
        let place = tempfile::Builder::new()
            .prefix("dsh-stage-")
            .tempdir()
            .unwrap();
        for directory in ["home", "work", "tmp"] {
            std::fs::create_dir(place.path().join(directory)).unwrap();
        }
        // A name of its own makes the host's processes known in the process table.
        std::os::unix::fs::symlink(
            env!("CARGO_BIN_EXE_dsh-host"),
            place.path().join("dsh-host"),
        )
        .unwrap();
        let patch = match build {
            Build::Runtime => vec![
                json!({"id": "session-log-deepseek", "disabled": true}),
                json!({"id": "plugin-package-inventory-deepseek", "disabled": true}),
            ],
            Build::Npm => Vec::new(),
        };
        Self {
            build,
            place,
            patch,
            yaml: None,
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// The path as DSH gets it.
    pub fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Writes a file of the workspace.
    pub fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path("work").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Writes an executable beside the workspace.
    pub fn program(&self, name: &str, content: &str) -> String {
        use std::os::unix::fs::PermissionsExt;
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        self.text(name)
    }

    /// Adds our plugin with these rows.
    pub fn components(&mut self, rows: Value) -> &mut Self {
        self.components_with(json!({ "rows": rows }))
    }

    /// Adds our plugin with this configuration and the host of this build.
    pub fn components_with(&mut self, mut config: Value) -> &mut Self {
        config["command"] = self.text("dsh-host").into();
        self.row("dsh-components", &plugin("index.js"), config)
    }

    /// Adds a row of the composition.
    pub fn row(&mut self, id: &str, name: &str, config: Value) -> &mut Self {
        self.patch
            .push(json!({"insert": [{"id": id, "name": name, "config": config}]}));
        self
    }

    /// Adds a patch as people write it.
    pub fn yaml(&mut self, text: &str) {
        self.yaml = Some(text.to_owned());
    }

    /// Adds a small plugin, written for the test. It gets the stage's folder as its configuration's `place`.
    pub fn script(&mut self, name: &str, text: &str) -> &mut Self {
        let path = self.path(&format!("{name}.mjs"));
        std::fs::write(&path, text).unwrap();
        let config = json!({"place": self.place.path(), "plugin": plugin("index.js"), "command": self.text("dsh-host")});
        let path = path.to_str().unwrap().to_owned();
        self.row(name, &path, config)
    }

    /// The command of one turn.
    pub fn command(&self, model: &Model, task: &str) -> Command {
        // JSON is YAML.
        std::fs::write(self.path("patch.yml"), json!(self.patch).to_string()).unwrap();
        let mut command = self.build.front("headless");
        command.arg("--patch").arg(self.path("patch.yml"));
        if let Some(yaml) = &self.yaml {
            std::fs::write(self.path("more.yml"), yaml).unwrap();
            command.arg("--patch").arg(self.path("more.yml"));
        }
        command
            .arg(task)
            .current_dir(self.path("work"))
            .env("DSH_HOME", self.path("home"))
            .env("TMPDIR", self.path("tmp"))
            .env("DEEPSEEK_BASE_URL", model.url())
            .env("DEEPSEEK_API_KEY", "sk-test")
            .env("DSH_HOST_COMMAND", self.path("dsh-host"))
            .env(
                "DSH_HOST_CACHE_DIR",
                Path::new(env!("CARGO_TARGET_TMPDIR")).join("code"),
            )
            .env_remove("DSH_HOST_LOG")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs one turn to its end, and checks that nothing of it is left.
    pub fn turn(&self, model: &Model, task: &str) -> Output {
        let output = run(self.command(model, task));
        self.nothing_left();
        output
    }

    /// The processes that name the stage in their command line.
    pub fn processes(&self, named: &str) -> Vec<u32> {
        let place = self.place.path().join(named);
        let place = place.to_str().unwrap();
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        entries
            .filter_map(|entry| {
                let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
                let line = std::fs::read(entry.path().join("cmdline")).ok()?;
                String::from_utf8_lossy(&line)
                    .contains(place)
                    .then_some(pid)
            })
            .collect()
    }

    /// Waits until no process names the stage.
    pub fn nothing_left(&self) {
        self.until("every process of the stage is gone", || {
            self.processes("").is_empty()
        });
    }

    pub fn until(&self, what: &str, mut reached: impl FnMut() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !reached() {
            assert!(Instant::now() < deadline, "{what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What a script of the test wrote, one JSON value a line.
    pub fn notes(&self, name: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path(name)).unwrap_or_default();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

/// A file of our plugin.
pub fn plugin(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("dsh-plugin")
        .join(name);
    path.to_str().unwrap().to_owned()
}

/// Runs a command to its end within our patience.
pub fn run(mut command: Command) -> Output {
    let child = command.spawn().unwrap();
    let pid = child.id();
    let (done, waiting) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(child.wait_with_output()));
    match waiting.recv_timeout(PATIENCE) {
        Ok(output) => output.unwrap(),
        Err(_) => {
            signal(pid, rustix::process::Signal::KILL);
            panic!("DSH did not end in time");
        }
    }
}

/// Sends a signal to a process that this test started.
pub fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    // It may have ended meanwhile.
    let _ = rustix::process::kill_process(pid, signal);
}

/// Checks that the turn came to its end as the model wanted.
pub fn finished(output: &Output) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success() && text(&output.stdout).contains("done"),
        "{}\n{}\n{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
}
