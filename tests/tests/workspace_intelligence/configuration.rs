//! What a configuration names and sets, with the lookup and the environment of this machine.

use dsh_host::grants::Programs;
use dsh_host::{Failure, RowState};
use dsh_tests::hosts::{SYMBOLS, tool_names};
use dsh_tests::symbols::{Desk, answering, names, scripted_server};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;

async fn refusal(desk: &Desk, server: Value) -> Failure {
    let refused = desk
        .mount(&[("ok", json!({"command": "/bin/sh"})), ("server", server)])
        .await;
    let failure = refused.expect_err("it is no program");
    assert!(desk.host.row(SYMBOLS).await.is_none());
    assert_eq!(tool_names(&desk.host), Vec::<String>::new());
    failure
}

#[tokio::test]
async fn case_135_what_is_no_program_is_a_load_error() {
    let desk = Desk::new().await;
    let plain = desk.path().join("plain");
    std::fs::write(&plain, "#!/bin/sh\n").unwrap();
    for (command, reason) in [
        ("./server".to_owned(), "relative"),
        ("bin/server".to_owned(), "relative"),
        (
            "no-such-language-server".to_owned(),
            "was not found on PATH",
        ),
        (
            desk.path().join("absent").display().to_string(),
            "is not an executable file",
        ),
        (
            desk.path().display().to_string(),
            "is not an executable file",
        ),
        (plain.display().to_string(), "is not an executable file"),
    ] {
        let failure = refusal(&desk, json!({"command": command})).await;
        let text = failure.to_string();
        assert!(
            text.starts_with("workspace-intelligence: servers.server.command: "),
            "{text}"
        );
        assert!(text.contains(reason) && text.contains(&command), "{text}");
    }
}

#[tokio::test]
async fn case_135_the_path_of_the_server_is_searched_and_no_other() {
    let desk = Desk::new().await;
    let bin = desk.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let program = bin.join("my-language-server");
    std::os::unix::fs::symlink(scripted_server(), &program).unwrap();
    let mut server = desk.server("server", json!([answering(&["Gear"])]));
    server["command"] = json!("my-language-server");
    let failure = refusal(&desk, server.clone()).await;
    assert!(
        failure.message.contains("was not found on PATH"),
        "{failure}"
    );
    server["env"] = json!({"PATH": format!("/nonexistent:{}", bin.display())});
    assert_eq!(
        desk.mount(&[("server", server)]).await,
        Ok(RowState::Active)
    );
    assert_eq!(names(desk.ask("Gear").await), ["Gear"]);
    desk.unmount().await.unwrap();

    // Found, and no program any more when it is looked at again.
    std::fs::remove_file(&program).unwrap();
    std::fs::write(&program, "").unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o644)).unwrap();
    let failure = refusal(&desk, json!({"command": program})).await;
    assert!(
        failure.message.contains("is not an executable file"),
        "{failure}"
    );
}

#[tokio::test]
async fn case_136_the_configured_environment_arrives_and_credentials_of_the_host_do_not() {
    let desk = Desk::with_environment(&[
        ("PATH", "/usr/bin:/bin"),
        ("HOME", "/home/me"),
        ("AMBIENT_TOKEN", "secret"),
        ("DSH_HOME", "/home/me/.dsh"),
        ("dsh_lower", "x"),
        ("MONKEY_X", "x"),
        ("LANG", "C"),
    ])
    .await;
    let mut server = desk.server("server", json!([answering(&["Gear"])]));
    server["env"] = json!({"DSH_X": "1", "MY_TOKEN": "2", "LANG": "de_DE.UTF-8", "EMPTY": "", "ODD": "a=b\nc $HOME"});
    let script = server["args"][0].clone();
    server["args"] = json!([script, "--stdio", "$HOME", "a b", "", "ü"]);
    desk.mount(&[("server", server)]).await.unwrap();
    assert_eq!(names(desk.ask("Gear").await), ["Gear"]);
    let start = desk.journal("server").of("start");
    let mut env: Vec<(String, String)> = serde_json::from_value(start[0]["env"].clone()).unwrap();
    env.sort();
    let expected = [
        ("DSH_X", "1"),
        ("EMPTY", ""),
        ("HOME", "/home/me"),
        ("LANG", "de_DE.UTF-8"),
        ("MY_TOKEN", "2"),
        ("ODD", "a=b\nc $HOME"),
        ("PATH", "/usr/bin:/bin"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(env, expected);
    assert_eq!(
        start[0]["args"],
        json!(["--stdio", "$HOME", "a b", "", "ü"])
    );
    desk.unmount().await.unwrap();
}

#[tokio::test]
async fn only_what_the_row_was_granted_can_be_started() {
    let desk = Desk::new().await;
    let mut row = desk.row(&[(
        "server",
        desk.server("server", json!([answering(&["Gear"])])),
    )]);
    row.programs = Programs::None;
    let refused = desk.host.mount(row).await.expect_err("nothing is granted");
    assert!(
        refused.message.contains("servers.server.command"),
        "{refused}"
    );
    assert_eq!(desk.journal("server").entries(), Vec::<Value>::new());
}
