//! A plugin that wants to run what it may not, or too much of what it may.
#![cfg(target_os = "linux")]

use dsh_host::grants::{ArgumentRule, ProgramRequest};
use dsh_host::{AgentSpec, CallRequest, Failure, codes};
use dsh_services::spill::{SpillGuard, SpillRoots};
use dsh_services::subprocess::LocalSubprocess;
use dsh_tests::hostile::{Stage, failure, one_event_each, soon, value};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// Processes that one plugin may have at one time.
const MOST_LIVE: u64 = 64;
const SLEEP: &str = "/usr/bin/sleep";

/// A stage with an agent in a directory of its own, and a plugin that may run `/usr/bin/sleep SECONDS` there. The seconds tell the processes of
/// this test from all others on the machine.
struct Scene {
    stage: Stage,
    home: TempDir,
    seconds: String,
}

impl Scene {
    async fn new(mark: u32) -> Self {
        Self::running(mark, SLEEP, |seconds| vec![seconds.to_owned()]).await
    }

    /// The same with another program that sleeps.
    async fn running(
        mark: u32,
        command: &str,
        arguments: impl FnOnce(&str) -> Vec<String>,
    ) -> Self {
        let (stage, home) = (Stage::new(), tempfile::tempdir().unwrap());
        stage
            .host
            .services()
            .set_subprocess(Some(Arc::new(LocalSubprocess::new(None))));
        let cwd = home.path().to_str().unwrap();
        let spec = AgentSpec::new("a", cwd);
        soon(stage.host.create_agent(spec)).await.unwrap();
        let seconds = format!(
            "{}",
            1_000_000 + u64::from(std::process::id()) * 100 + u64::from(mark)
        );
        let program = ProgramRequest {
            command: command.into(),
            path: None,
            arguments: ArgumentRule::Exact(arguments(&seconds)),
            env: Vec::new(),
            ending: std::time::Duration::ZERO,
        };
        stage.mount_bystander().await;
        stage.mount_with_programs("bad", vec![program]).await;
        Self {
            stage,
            home,
            seconds,
        }
    }

    fn request(&self, verb: &str, argv: &[&str]) -> Value {
        json!({"do": verb, "argv": argv, "cwd": self.home.path()})
    }

    /// Why a start was refused.
    async fn refusal(&self, arguments: Value) -> Failure {
        let failure = failure(self.stage.call("act", arguments.clone()).await);
        assert_eq!(
            failure.code.as_deref(),
            Some("SUBPROCESS_DENIED"),
            "{arguments}: {failure}"
        );
        failure
    }

    /// The processes that this test has started and that are still there, zombies included.
    fn alive(&self) -> usize {
        let all = fs::read_dir("/proc").unwrap().flatten();
        all.filter(|entry| {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            line.split(|byte| *byte == 0)
                .any(|word| word == self.seconds.as_bytes())
        })
        .count()
    }

    async fn until_alive(&self, count: usize) {
        soon(async {
            while self.alive() != count {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }

    async fn bystander_serves(&self) {
        self.stage.echo("bystander").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_without_a_grant_starts_nothing() {
    let scene = Scene::new(1).await;
    soon(scene.stage.host.unmount("bad")).await.unwrap();
    scene.stage.mount_with_programs("bad", Vec::new()).await;
    let denied = scene
        .refusal(scene.request("spawn", &[SLEEP, &scene.seconds]))
        .await;
    assert!(denied.message.contains("no program at all"), "{denied}");
    assert_eq!(scene.alive(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_program_is_refused_by_every_spelling() {
    let scene = Scene::new(2).await;
    let home = scene.home.path();
    let own = home.join("sleep");
    fs::write(&own, "#!/bin/sh\ntouch \"$PWD/escaped\"\n").unwrap();
    fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).unwrap();
    symlink("/bin/sh", home.join("link")).unwrap();
    symlink(SLEEP, home.join("to-sleep")).unwrap();
    let seconds = scene.seconds.as_str();
    let spelled = |path: &Path| path.to_str().unwrap().to_owned();
    let spellings = [
        "/bin/sh".to_owned(),
        "sh".into(),
        "sleep".into(),
        "./sleep".into(),
        "../usr/bin/sleep".into(),
        "/usr/bin/../bin/sleep".into(),
        "/usr//bin/sleep".into(),
        "/usr/bin/sleep/".into(),
        "/usr/bin/sleep\0".into(),
        "/proc/self/exe".into(),
        "/proc/self/root/usr/bin/sleep".into(),
        String::new(),
        spelled(&own),
        spelled(&home.join("link")),
        spelled(&home.join("to-sleep")),
    ];
    for program in &spellings {
        let denied = scene
            .refusal(scene.request("spawn", &[program, seconds]))
            .await;
        assert!(denied.message.contains("sleep"), "{denied}");
    }
    // The granted program with anything but the granted arguments, and nothing at all.
    for argv in [
        &[SLEEP][..],
        &[SLEEP, "1"],
        &[SLEEP, seconds, "1"],
        &[SLEEP, "--", seconds],
        &[SLEEP, &format!("{seconds} ")],
        &[],
    ] {
        scene.refusal(scene.request("spawn", argv)).await;
    }
    // The first word is the program: there is no second name that could lie about it.
    scene
        .refusal(scene.request("spawn", &["sleep", SLEEP, seconds]))
        .await;
    assert!(!home.join("escaped").exists());
    assert_eq!(scene.alive(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_environment_cannot_make_a_granted_program_another_one() {
    let scene = Scene::new(3).await;
    for (name, value) in [
        ("LD_PRELOAD", "./evil.so"),
        ("LD_LIBRARY_PATH", "."),
        ("PATH", "."),
        ("BASH_ENV", "./evil.sh"),
        ("NODE_OPTIONS", "--require ./evil.js"),
        ("GCONV_PATH", "."),
        ("A", "harmless"),
    ] {
        let mut arguments = scene.request("spawn", &[SLEEP, &scene.seconds]);
        arguments["env"] = json!({name: value});
        let denied = scene.refusal(arguments).await;
        assert!(denied.message.contains(name), "{denied}");
    }
    assert_eq!(scene.alive(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_granted_program_runs_nowhere_but_where_the_agents_work() {
    let scene = Scene::new(4).await;
    symlink("/", scene.home.path().join("out")).unwrap();
    let home = scene.home.path().to_str().unwrap().to_owned();
    for cwd in [
        "/".to_owned(),
        "/proc/self/cwd".into(),
        ".".into(),
        String::new(),
        format!("{home}/out"),
        format!("{home}/.."),
        format!("{home}/out/tmp"),
    ] {
        let mut arguments = scene.request("spawn", &[SLEEP, &scene.seconds]);
        arguments["cwd"] = cwd.into();
        scene.refusal(arguments).await;
    }
    assert_eq!(scene.alive(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_processes_end_at_the_limit_and_all_go_with_a_trap() {
    let scene = Scene::new(5).await;
    let mut arguments = scene.request("spawn-many", &[SLEEP, &scene.seconds]);
    arguments["count"] = 10_000.into();
    assert_eq!(
        value(scene.stage.call("act", arguments).await),
        json!({"started": MOST_LIVE, "refusal": "SUBPROCESS_LIMIT"})
    );
    scene.until_alive(usize::try_from(MOST_LIVE).unwrap()).await;
    scene.bystander_serves().await;

    let panicked = failure(scene.stage.call("act", json!({"do": "panic"})).await);
    assert!(panicked.is(codes::PLUGIN_TRAPPED));
    assert_eq!(scene.alive(), 0, "they are gone when the failure is told");
    scene.bystander_serves().await;

    // The places are free again, and unloading takes what is running along.
    let mut arguments = scene.request("spawn-many", &[SLEEP, &scene.seconds]);
    arguments["count"] = 3.into();
    assert_eq!(
        value(scene.stage.call("act", arguments).await)["started"],
        3
    );
    scene.until_alive(3).await;
    soon(scene.stage.host.unmount("bad")).await.unwrap();
    assert_eq!(scene.alive(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_ignores_the_request_to_end_is_gone_when_the_end_is_told() {
    const SHELL: &str = "/bin/sh";
    let script = |seconds: &str| format!("trap '' TERM; exec {SLEEP} {seconds}");
    let scene = Scene::running(7, SHELL, |seconds| vec!["-c".into(), script(seconds)]).await;
    let script = script(&scene.seconds);
    let start = async || {
        let mut arguments = scene.request("spawn-many", &[SHELL, "-c", &script]);
        arguments["count"] = 3.into();
        let answer = value(scene.stage.call("act", arguments).await);
        assert_eq!(answer["started"], 3);
        // Now the shell has become the program, which has taken over what it ignores.
        scene.until_alive(3).await;
    };
    scene.stage.log.panic_at("xxxx");
    for misdeed in [
        json!({"do": "panic"}),
        json!({"do": "exit"}),
        // The host itself panics.
        json!({"do": "log-large", "bytes": 4}),
    ] {
        start().await;
        let trapped = failure(scene.stage.call("act", misdeed.clone()).await);
        assert!(trapped.is(codes::PLUGIN_TRAPPED), "{misdeed}");
        assert_eq!(scene.alive(), 0, "{misdeed}");
    }
    start().await;
    soon(scene.stage.host.unmount("bad")).await.unwrap();
    assert_eq!(scene.alive(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_call_may_search_is_out_of_reach_after_it() {
    const ECHO: &str = "/usr/bin/echo";
    let (stage, base) = (Stage::new(), tempfile::tempdir().unwrap());
    let spill = base.path().canonicalize().unwrap();
    let services = stage.host.services();
    services.set_subprocess(Some(Arc::new(LocalSubprocess::new(None))));
    let roots = SpillRoots {
        sessions: vec![spill.clone()],
        ..SpillRoots::default()
    };
    services.set_spill_guard(Some(Arc::new(SpillGuard::new(roots, one_event_each()))));
    stage.agent("a").await;
    // The directory of a session is named by a hash of its id.
    let file = spill.join("session-ca978112ca1b/0123456789ab-bash.txt");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "its own").unwrap();
    // Any program will do in the place of ripgrep: what counts here is what it is given.
    let search = ProgramRequest {
        command: ECHO.into(),
        path: None,
        arguments: ArgumentRule::SearchOneFile,
        env: Vec::new(),
        ending: Duration::ZERO,
    };
    stage.mount_with_programs("bad", vec![search]).await;
    let path = file.to_str().unwrap();
    let argv = [
        ECHO,
        "--no-config",
        "--json",
        "--text",
        "--regexp=x",
        "--",
        path,
    ];
    let ask = async |verb: &str| {
        let arguments = json!({"do": verb, "path": path, "argv": argv, "cwd": "/"});
        let mut request = CallRequest::new("act", &arguments.to_string());
        request.agent = Some("a".into());
        stage.request(request).await
    };
    assert!(failure(ask("spawn").await).is("SUBPROCESS_DENIED"));
    // The call keeps its caller, too.
    let found = value(ask("search-and-keep").await);
    assert_eq!(found["code"], 0, "{found}");
    assert!(failure(ask("spawn").await).is("SUBPROCESS_DENIED"));
    assert_eq!(stage.echo("act").await["calls"], 4, "it is one instance");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_never_reads_holds_up_one_call_and_its_memory_is_bounded() {
    let scene = Scene::new(6).await;
    let mut arguments = scene.request("stuff", &[SLEEP, &scene.seconds]);
    arguments["stdin"] = true.into();
    let mut request = CallRequest::new("act", &arguments.to_string());
    request.timeout_ms = Some(500);
    let stuffing = scene.stage.begin_request(request);
    scene.until_alive(1).await;
    // Both plugins serve while the pipe is full.
    scene.stage.echo("act").await;
    scene.bystander_serves().await;
    assert!(failure(soon(stuffing).await.unwrap()).is(codes::TOOL_TIMEOUT));
    scene.until_alive(0).await;
    assert_eq!(
        scene.stage.echo("act").await["calls"],
        3,
        "it is one instance"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_comes_while_a_trapped_instance_is_cleaned_up_waits_for_a_fresh_one() {
    // It writes down that it was asked to end, and does not.
    const STUBBORN: &str = "trap '>told' TERM; >up; while :; do sleep 0.05; done";
    let scene = Scene::running(8, "/bin/sh", |seconds| {
        ["-c", STUBBORN, seconds].map(String::from).to_vec()
    })
    .await;
    let exists = async |name: &str| {
        let path = scene.home.path().join(name);
        soon(async {
            while !path.exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    };
    let mut request = scene.request("spawn-many", &["/bin/sh", "-c", STUBBORN, &scene.seconds]);
    request["count"] = 1.into();
    request["grace"] = 1_000.into();
    value(scene.stage.call("act", request).await);
    exists("up").await;

    let panicking = scene.stage.begin("act", json!({"do": "panic"}));
    exists("told").await;
    let echo = scene.stage.echo("act").await;
    assert_eq!(scene.alive(), 0, "the old instance is wholly gone by then");
    assert_eq!(echo["calls"], 1, "and this is another one");
    assert!(failure(soon(panicking).await.unwrap()).is(codes::PLUGIN_TRAPPED));
}
