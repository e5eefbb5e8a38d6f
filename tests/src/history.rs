//! A host with the history plugin in it, on sessions and spill files of the test's own.

use crate::golden;
use crate::hosts::{HISTORY, Log, host_and_log, row};
use crate::rows;
use crate::workspaces::PATIENCE;
use dsh_host::{AbortSignal, AgentSpec, CallRequest, Host, PluginRow, ToolResult};
use dsh_services::session_query::{LocalOptions, LocalSessionQuery, SessionQuery};
use dsh_services::spill::{SpillGuard, SpillRoots};
use dsh_services::subprocess::LocalSubprocess;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The directory of the vectors of session queries.
pub fn golden_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/sessions")
}

/// The log that most cases speak of (SPEC 8 of the plugin), as its header and rows. Three chunks are packed in one row.
pub fn example() -> (Value, Vec<Value>) {
    let path =
        golden_directory().join("v0/example-4-4/sessions/--work-app--/session-1/session.jsonl");
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    (lines.next().unwrap(), lines.collect())
}

/// What was asked of a tool and what came of it.
#[derive(Debug)]
pub struct Answer(pub ToolResult);

impl Answer {
    /// The value of a success, which is also the text that the model reads.
    pub fn value(self) -> Value {
        match self.0 {
            ToolResult::Success(output) => {
                let read: Value = serde_json::from_str(&output.content).unwrap();
                assert_eq!(read, output.value.value());
                read
            }
            other => panic!("no success: {other:?}"),
        }
    }

    /// Code and text of an error.
    pub fn error(self) -> (String, String) {
        assert!(self.0.is_error(), "no error: {:?}", self.0);
        let code = self.0.code().unwrap_or_default().to_owned();
        (code, self.0.text())
    }

    /// The sequence numbers of the matches.
    pub fn seqs(self) -> Vec<u64> {
        let value = self.value();
        let matches = value["matches"].as_array().unwrap();
        matches
            .iter()
            .map(|found| found["seq"].as_u64().unwrap())
            .collect()
    }

    /// Citation and text of the matches.
    pub fn citations(self) -> Vec<(String, String)> {
        let value = self.value();
        let text = |found: &Value, key: &str| found[key].as_str().unwrap().to_owned();
        let matches = value["matches"].as_array().unwrap();
        matches
            .iter()
            .map(|found| (text(found, "citation"), text(found, "text")))
            .collect()
    }
}

/// A directory with `sessions`, `spill` and `tmp`, and a host on them. When it is dropped it proves that the plugin has written nothing.
pub struct Place {
    directory: tempfile::TempDir,
    /// The host, with the plugin mounted.
    pub host: Host,
    /// What was logged.
    pub log: Arc<Log>,
    sealed: Mutex<Option<Snapshot>>,
}

impl Place {
    /// With the default configuration and the environment of the test.
    pub async fn new() -> Self {
        Self::with(Value::Null).await
    }

    /// With the example session.
    pub async fn with_example() -> Self {
        let place = Self::new().await;
        let (header, rows) = example();
        place.write_at("--work-app--", &header, &rows);
        place
    }

    /// With this configuration of the plugin.
    pub async fn with(config: Value) -> Self {
        Self::mounted(|host| row(host, HISTORY, config), None).await
    }

    /// With this row, and programs that inherit this environment.
    pub async fn mounted(
        row: impl FnOnce(&Host) -> PluginRow,
        env: Option<Vec<(OsString, OsString)>>,
    ) -> Self {
        let (host, log) = host_and_log();
        let place = Self {
            directory: tempfile::tempdir().unwrap(),
            host,
            log,
            sealed: Mutex::default(),
        };
        for name in ["sessions", "spill", "tmp"] {
            fs::create_dir(place.path(name)).unwrap();
        }
        place.use_sessions(Arc::new(place.service()));
        let subprocess = LocalSubprocess::new(None);
        let subprocess = match env {
            Some(env) => subprocess.with_base_env(env),
            None => subprocess,
        };
        place
            .host
            .services()
            .set_subprocess(Some(Arc::new(subprocess)));
        place.host.mount(row(&place.host)).await.unwrap();
        place
    }

    /// Another host on the same files, as after a restart.
    pub fn service(&self) -> LocalSessionQuery {
        LocalSessionQuery::new(LocalOptions::new(self.path("sessions")))
    }

    /// Replaces the session service, and with it the judge of spill files.
    pub fn use_sessions(&self, service: Arc<dyn SessionQuery>) {
        let roots = SpillRoots {
            sessions: vec![self.path("spill")],
            temporary: vec![self.path("tmp")],
            subprocess: vec![self.path("tmp")],
        };
        let guard = SpillGuard::new(roots, service.clone());
        let services = self.host.services();
        services.set_spill_guard(Some(Arc::new(guard)));
        services.set_session_query(Some(service));
    }

    /// A path inside, with links resolved, as a granted path is.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    /// Writes the log of a session that works in no directory.
    pub fn write(&self, id: &str, rows: &[Value]) -> PathBuf {
        self.write_at("_no-cwd", &rows::header(id), rows)
    }

    /// Writes the log of a session under a project's key.
    pub fn write_at(&self, project: &str, header: &Value, rows: &[Value]) -> PathBuf {
        let text = format!("{header}\n{}", rows::lines(rows));
        let id = header["id"].as_str().unwrap();
        self.write_file(
            &format!("sessions/{project}/{id}/session.jsonl"),
            text.as_bytes(),
        )
    }

    /// Writes a spill file of a session.
    pub fn spill(&self, session: &str, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let directory = format!("spill/session-{}", rows::short_hash(session));
        self.write_file(&format!("{directory}/{name}"), content)
    }

    /// Writes any file.
    pub fn write_file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        self.reseal();
        path
    }

    /// Changes the files as `change` does, which is not the plugin's doing.
    pub fn change(&self, change: impl FnOnce()) {
        self.check_unchanged();
        change();
        self.reseal();
    }

    /// From now on the test itself writes beside the plugin, so nothing can be said of who wrote what.
    pub fn unseal(&self) {
        *self.sealed.lock().unwrap() = None;
    }

    fn reseal(&self) {
        *self.sealed.lock().unwrap() = Some(snapshot(&self.path("")));
    }

    fn check_unchanged(&self) {
        if let Some(before) = &*self.sealed.lock().unwrap() {
            assert_eq!(*before, snapshot(&self.path("")), "something was written");
        }
    }

    /// One call of a session's agent, which is made when it is missing.
    pub async fn call(&self, session: &str, tool: &str, arguments: Value) -> Answer {
        self.call_text(session, tool, &arguments.to_string()).await
    }

    /// The same with the arguments as the model wrote them.
    pub async fn call_text(&self, session: &str, tool: &str, arguments: &str) -> Answer {
        let request = self
            .request(session, tool, arguments, AbortSignal::never())
            .await;
        Answer(soon(self.host.call(request)).await)
    }

    /// A call that is still to be made.
    pub async fn request(
        &self,
        session: &str,
        tool: &str,
        arguments: &str,
        signal: AbortSignal,
    ) -> CallRequest {
        let agent = AgentSpec {
            id: session.into(),
            cwd: None,
            session: Some(session.into()),
        };
        // There may be one already.
        let _taken = self.host.create_agent(agent).await;
        CallRequest {
            agent: Some(session.into()),
            signal,
            ..CallRequest::new(tool, arguments)
        }
    }

    /// A query of a session.
    pub async fn query(&self, session: &str, arguments: Value) -> Answer {
        self.call(session, "context_query", arguments).await
    }

    /// One event of a session.
    pub async fn slice(&self, session: &str, seq: u64) -> Answer {
        self.call(session, "context_slice", json!({ "seq": seq }))
            .await
    }

    /// A search in a file.
    pub async fn grep(&self, session: &str, path: &Path, pattern: &str) -> Answer {
        let arguments = json!({"pattern": pattern, "path": path.to_str().unwrap()});
        self.call(session, "context_grep", arguments).await
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.check_unchanged();
        }
    }
}

/// Waits for what must come.
pub async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what)
        .await
        .expect("this hangs")
}

/// Waits for a state that must come.
pub async fn eventually(what: &str, mut reached: impl FnMut() -> bool) {
    let state = async {
        while !reached() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    let came = tokio::time::timeout(PATIENCE, state).await;
    assert!(came.is_ok(), "never came true: {what}");
}

/// Of every file and directory: inode, mode, length, times of the last change in nanoseconds.
type Snapshot = BTreeMap<PathBuf, [i64; 7]>;

fn snapshot(root: &Path) -> Snapshot {
    let mut found = Snapshot::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(path) = waiting.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        if metadata.is_dir() {
            let entries = fs::read_dir(&path).unwrap();
            waiting.extend(entries.map(|entry| entry.unwrap().path()));
        }
        let state = [
            metadata.ino().cast_signed(),
            metadata.mode().into(),
            metadata.len().cast_signed(),
            metadata.mtime(),
            metadata.mtime_nsec(),
            metadata.ctime(),
            metadata.ctime_nsec(),
        ];
        found.insert(path, state);
    }
    found
}

/// The recorded answers of the published engines, for one format.
pub fn golden_cases(format: &str) -> Vec<golden::Case> {
    golden::cases(&golden_directory(), format)
}
