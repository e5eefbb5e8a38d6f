//! Which files may be searched. No ripgrep is needed to be refused; that those who may do find something is in `real_rg`.

use dsh_tests::history::Place;
use dsh_tests::rows::{header, tool_call, tool_result, user};
use serde_json::{Value, json};
use std::os::unix::fs::symlink;
use std::path::Path;

const DENIED: (&str, &str) = (
    "CONTEXT_PROXY_PATH_DENIED",
    "Error: path is not a spill file of this session",
);

async fn denied(place: &Place, session: &str, path: &Path) {
    let error = place.grep(session, path, "x").await.error();
    let expected = (DENIED.0.to_owned(), DENIED.1.to_owned());
    assert_eq!(error, expected, "{session}: {}", path.display());
}

/// Whether the path passed the judgement. Programs are withdrawn, so that what follows is always the same error.
async fn granted(place: &Place, session: &str, path: &Path) -> bool {
    place.host.services().set_subprocess(None);
    let (_, text) = place.grep(session, path, "x").await.error();
    match text.as_str() {
        "Error: subprocess backend unavailable" => true,
        text if text == DENIED.1 => false,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn case_061_what_is_not_the_sessions_is_denied_alike_whether_it_exists_or_not() {
    let place = Place::new().await;
    place.write("s", &[user(0, "x")]);
    let own = place.spill("s", "own.txt", "x\n");
    let other = place.spill("other", "secret.txt", "x\n");
    let directory = own.parent().unwrap().to_owned();
    place.change(|| {
        symlink(&other, directory.join("link")).unwrap();
        symlink("/etc/passwd", directory.join("out")).unwrap();
        symlink(directory.join("absent"), directory.join("dangling")).unwrap();
        rustix::fs::mkfifoat(
            rustix::fs::CWD,
            directory.join("fifo"),
            rustix::fs::Mode::RUSR,
        )
        .unwrap();
    });
    let home = std::env::var("HOME").unwrap_or("/root".into());
    for path in [
        "/etc/passwd".into(),
        "/etc/absent".into(),
        Path::new(&home).join(".ssh/x"),
        "/proc/self/environ".into(),
        "/dev/stdin".into(),
        other.clone(),
        other.with_file_name("absent.txt"),
        directory.clone(),
        directory.join("link"),
        directory.join("out"),
        directory.join("dangling"),
        directory.join("fifo"),
        directory.join(format!(
            "../{}/secret.txt",
            other
                .parent()
                .unwrap()
                .file_name()
                .unwrap()
                .to_str()
                .unwrap()
        )),
        directory.join("../absent/x"),
        place.path("sessions/_no-cwd/s/session.jsonl"),
    ] {
        denied(&place, "s", &path).await;
    }
    for path in [
        "",
        " ",
        "own.txt",
        "./own.txt",
        "~/.ssh/x",
        "/a\0b",
        "/a\nb",
        "-f",
    ] {
        let error = place.grep("s", Path::new(path), "x").await.error();
        assert_eq!(error.0, "CONTEXT_PROXY_INVALID_PATH", "{path:?}");
    }
    assert!(granted(&place, "s", &own).await);
}

#[tokio::test]
async fn case_061_a_file_that_is_gone_is_answered_from_the_session() {
    let place = Place::new().await;
    place.write("s", &[user(0, "the needle"), user(1, "hay")]);
    let file = place.spill("s", "a.txt", "needle\n");
    place.change(|| std::fs::remove_file(&file).unwrap());
    let expected = json!({
        "source": "session",
        "matches": [{"text": "the needle", "citation": "session:0"}],
        "truncated": false,
        "note": "spill path not available; literal session scan used",
    });
    assert_eq!(place.grep("s", &file, "NEEDLE").await.value(), expected);
    // Its directory, or the whole root of a DSH process that is long gone.
    place.change(|| std::fs::remove_dir(file.parent().unwrap()).unwrap());
    assert_eq!(place.grep("s", &file, "NEEDLE").await.value(), expected);
    let hash = dsh_tests::rows::short_hash("s");
    let old = place.path(format!("tmp/dsh-spill-old/session-{hash}/a.txt"));
    assert_eq!(place.grep("s", &old, "NEEDLE").await.value(), expected);
    denied(&place, "other", &old).await;
}

#[tokio::test]
async fn case_062_a_fork_may_search_its_parents_files_and_not_its_siblings() {
    let place = Place::new().await;
    place.write("parent", &[user(0, "x")]);
    for fork in ["fork", "sibling"] {
        let mut header = header(fork);
        header["parentSession"] = "parent".into();
        place.write_at("_no-cwd", &header, &[user(0, "x")]);
    }
    let of = |session: &str| place.spill(session, "a.txt", "x\n");
    let (parents, forks, siblings) = (of("parent"), of("fork"), of("sibling"));
    for (session, path, may) in [
        ("fork", &forks, true),
        ("fork", &parents, true),
        ("fork", &siblings, false),
        ("parent", &forks, false),
    ] {
        assert_eq!(granted(&place, session, path).await, may, "{session}");
    }
}

#[tokio::test]
async fn case_063_output_of_a_command_is_for_those_whose_tools_named_it() {
    let place = Place::new().await;
    let file = place.write_file("tmp/dsh-subprocess-abc/out-stdout.log", "x\n");
    let name = file.to_str().unwrap();
    let said: [(&str, Value, bool); 4] = [
        (
            "printed",
            tool_result(0, "c", &format!("[output truncated; full output: {name}]")),
            true,
        ),
        (
            "asked",
            tool_call(0, "c", "context_grep", &json!({"path": name}).to_string()),
            false,
        ),
        ("told by a person", user(0, name), false),
        ("longer", tool_result(0, "c", &format!("{name}.gz")), false),
    ];
    for (session, row, may) in said {
        let session = session.replace(' ', "-");
        place.write(&session, &[row]);
        assert_eq!(granted(&place, &session, &file).await, may, "{session}");
    }
}
