//! A plugin that wants to read what it may not.
#![cfg(target_os = "linux")]

use dsh_host::{AgentSpec, CallRequest, ToolResult, codes};
use dsh_services::fs::LocalFileSystem;
use dsh_services::spill::{SpillGuard, SpillRoots};
use dsh_tests::hostile::{Stage, assert_failure, failure, one_event_each, soon, value};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;

const SECRET: &str = "the secret of somebody else";

/// An agent's directory with `inside.txt` in it, a secret beside it, and a plugin that may read the agent's files.
struct Scene {
    stage: Stage,
    base: TempDir,
}

impl Scene {
    async fn new() -> Self {
        let (stage, base) = (Stage::new(), tempfile::tempdir().unwrap());
        let home = base.path().join("home");
        fs::create_dir(&home).unwrap();
        fs::write(home.join("inside.txt"), "inside").unwrap();
        fs::create_dir(base.path().join("private")).unwrap();
        fs::write(base.path().join("private/secret.txt"), SECRET).unwrap();
        let files = LocalFileSystem::new(home.clone()).unwrap();
        stage.host.services().set_local_file_system(files);
        let spec = AgentSpec::new("a", home.to_str().unwrap());
        soon(stage.host.create_agent(spec)).await.unwrap();
        stage.mount_bystander().await;
        stage.mount("bad", json!({})).await.unwrap();
        Self { stage, base }
    }

    fn home(&self) -> PathBuf {
        self.base.path().join("home")
    }

    fn secret(&self) -> PathBuf {
        self.base.path().join("private/secret.txt")
    }

    async fn ask(&self, verb: &str, path: &str) -> Result<Value, String> {
        match self
            .stage
            .call("act", json!({"do": verb, "path": path}))
            .await
        {
            ToolResult::Success(output) => Ok(output.value.value()),
            other => Err(failure(other).code.unwrap_or_default()),
        }
    }

    /// The instance that answered all of this is the first one, and the other plugin serves.
    async fn nothing_happened(&self, calls: usize) {
        assert_eq!(self.stage.echo("act").await["calls"], calls + 1);
        self.stage.echo("bystander").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_spelling_leads_out_of_the_agents_directory() {
    let scene = Scene::new().await;
    let (home, secret) = (scene.home(), scene.secret());
    symlink(&secret, home.join("file-link")).unwrap();
    symlink(
        scene.base.path().join("private"),
        home.join("directory-link"),
    )
    .unwrap();
    // The class of GHSA-hp8f-xmx4-4qrg: the text of the link ends in a slash.
    symlink(
        format!("{}/", scene.base.path().join("private").display()),
        home.join("slash-link"),
    )
    .unwrap();
    symlink("../private/", home.join("relative-slash-link")).unwrap();
    symlink("/proc/self/root", home.join("root-link")).unwrap();
    let text = |path: PathBuf| path.to_str().unwrap().to_owned();
    let spellings = [
        text(secret.clone()),
        text(home.join("../private/secret.txt")),
        "../private/secret.txt".into(),
        "./../home/../private/secret.txt".into(),
        "file-link".into(),
        "directory-link/secret.txt".into(),
        "slash-link/secret.txt".into(),
        "relative-slash-link/secret.txt".into(),
        "relative-slash-link//secret.txt".into(),
        format!("root-link{}", secret.display()),
        "/etc/passwd".into(),
        "/proc/self/environ".into(),
        "/proc/self/root/etc/passwd".into(),
        "/dev/fd/0".into(),
    ];
    for path in &spellings {
        assert_eq!(
            scene.ask("read-text", path).await,
            Err("FsErrorCode::SandboxDenied".into()),
            "{path}"
        );
    }
    for path in [
        "..",
        "/",
        "/proc/self",
        "directory-link",
        "slash-link",
        "relative-slash-link",
        "slash-link/",
    ] {
        assert_eq!(
            scene.ask("list-dir", path).await,
            Err("FsErrorCode::SandboxDenied".into()),
            "{path}"
        );
    }
    for path in [
        "inside.txt\0",
        "inside.txt\0/../../private/secret.txt",
        "\0",
    ] {
        let answer = scene.ask("read-text", path).await;
        assert!(answer.is_err(), "{path:?}: {answer:?}");
    }
    assert_eq!(
        scene.ask("read-text", "inside.txt").await,
        Ok(json!({"text": "inside"}))
    );
    scene.nothing_happened(spellings.len() + 7 + 3 + 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wasi_shows_no_file_no_variable_and_no_argument() {
    let scene = Scene::new().await;
    assert!(std::env::vars_os().count() > 0 && std::env::args_os().count() > 0);
    assert_eq!(
        value(scene.stage.call("act", json!({"do": "look-around"})).await),
        json!({"variables": 0, "arguments": 0, "reached": []})
    );
    scene.nothing_happened(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_would_block_or_never_end_is_no_file() {
    let scene = Scene::new().await;
    let fifo = std::ffi::CString::new(scene.home().join("fifo").to_str().unwrap()).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        0o644.into(),
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(scene.home().join("socket")).unwrap();
    fs::write(scene.home().join("large.txt"), "x".repeat(2 << 20)).unwrap();
    for (path, code) in [
        ("fifo", "FsErrorCode::NotRegularFile"),
        ("socket", "FsErrorCode::NotRegularFile"),
        (".", "FsErrorCode::NotRegularFile"),
        ("large.txt", "FsErrorCode::TooLarge"),
        ("/dev/zero", "FsErrorCode::SandboxDenied"),
    ] {
        assert_eq!(
            scene.ask("read-text", path).await,
            Err(code.into()),
            "{path}"
        );
    }
    scene.nothing_happened(5).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_is_planted_after_the_check_leads_nowhere() {
    let scene = Scene::new().await;
    let inside = scene.home().join("inside.txt");
    assert_eq!(scene.ask("resolve", "inside.txt").await, Ok(json!({})));
    fs::remove_file(&inside).unwrap();
    symlink(scene.secret(), &inside).unwrap();
    assert_eq!(
        scene.ask("read-resolved", "").await,
        Err("FsErrorCode::SandboxDenied".into())
    );
    scene.nothing_happened(2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_spill_files_of_another_session_are_denied_whether_they_exist_or_not() {
    let scene = Scene::new().await;
    let services = scene.stage.host.services();
    services.set_session_query(Some(one_event_each()));
    let spill = scene.base.path().join("spill");
    let roots = SpillRoots {
        sessions: vec![spill.clone()],
        ..SpillRoots::default()
    };
    services.set_spill_guard(Some(Arc::new(SpillGuard::new(roots, one_event_each()))));
    // The directory of a session is named by a hash of its id; this is the one of `victim`.
    let of_victim = spill.join("session-1bdd5b5b92e2");
    fs::create_dir_all(&of_victim).unwrap();
    fs::write(of_victim.join("0123456789ab-bash.txt"), SECRET).unwrap();
    let own = spill.join("session-ca978112ca1b");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("0123456789ab-bash.txt"), "its own").unwrap();
    symlink(
        of_victim.join("0123456789ab-bash.txt"),
        own.join("link.txt"),
    )
    .unwrap();
    let ask = async |path: PathBuf| {
        let arguments = json!({"do": "authorize", "path": path});
        let mut request = CallRequest::new("act", &arguments.to_string());
        request.agent = Some("a".into());
        value(scene.stage.request(request).await)["access"].clone()
    };
    let granted = ask(own.join("0123456789ab-bash.txt")).await;
    assert!(
        granted.as_str().unwrap().starts_with("Access::Granted"),
        "{granted}"
    );
    for path in [
        own.join("link.txt"),
        own.join("../session-1bdd5b5b92e2/0123456789ab-bash.txt"),
        of_victim.join("0123456789ab-bash.txt"),
        of_victim.join("no-such-file.txt"),
        of_victim.clone(),
        spill.join("session-1bdd5b5b92e2/../session-1bdd5b5b92e2/0123456789ab-bash.txt"),
        scene.secret(),
        scene.home().join("inside.txt"),
        "/etc/passwd".into(),
        "/proc/self/environ".into(),
    ] {
        let shown = path.display().to_string();
        assert_eq!(ask(path).await, "Access::Denied", "{shown}");
    }
    scene.nothing_happened(11).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_plugin_holds_of_the_host_is_bounded() {
    let scene = Scene::new().await;
    let hoard = |count: u32| json!({"do": "hoard", "path": "inside.txt", "count": count});
    assert_eq!(
        value(scene.stage.call("act", hoard(9_900)).await),
        json!({"held": 9_900})
    );
    assert_failure(
        &failure(scene.stage.call("act", hoard(10_001)).await),
        codes::PLUGIN_TRAPPED,
        "plugin \"bad\" stopped: it holds more than 10000 things of the host",
    );
    // What was dropped is free again, and so is all that a trap leaves.
    for _ in 0..3 {
        assert_eq!(
            value(scene.stage.call("act", hoard(5_000)).await),
            json!({"held": 5_000})
        );
    }
    scene.nothing_happened(3).await;
}
