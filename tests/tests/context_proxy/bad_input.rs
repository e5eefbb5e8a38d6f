//! What a stranger, a crash or an enemy may put before the tools: nothing of it may hang them, trap them, or be believed.

use dsh_host::{CallRequest, codes};
use dsh_tests::history::{Answer, Place};
use dsh_tests::rows::{event, header, lines, user};
use serde_json::json;

/// Calls every tool and asserts that each answers properly, and that the plugin still serves afterwards.
async fn all_answer(place: &Place, session: &str, what: &str) {
    for (tool, arguments) in [
        ("context_query", json!({})),
        ("context_query", json!({"text": "x", "limit": 200})),
        (
            "context_slice",
            json!({"seq": 0, "before": 50, "after": 50}),
        ),
        ("context_grep", json!({"pattern": "x"})),
    ] {
        let answer = place.call(session, tool, arguments).await.0;
        proper(&answer, &format!("{what}: {tool}"));
    }
}

/// A success of bounded size, or an error with one of the documented codes.
fn proper(answer: &dsh_host::ToolResult, what: &str) {
    assert_ne!(answer.code(), Some(codes::PLUGIN_TRAPPED), "{what}");
    if !answer.is_error() {
        return;
    }
    let code = answer.code().unwrap_or_default();
    let known = ["SESSION_QUERY_", "CONTEXT_PROXY_", "INVALID_ARGS"];
    assert!(
        known.iter().any(|known| code.starts_with(known)),
        "{what}: {code} {}",
        answer.text()
    );
    assert!(answer.text().len() < 4_000, "{what}");
}

#[tokio::test]
async fn logs_that_are_none_are_refused_or_not_there() {
    let place = Place::new().await;
    let head = format!("{}\n", header("s")).into_bytes();
    let row = lines(&[user(0, "x")]).into_bytes();
    let join = |parts: &[&[u8]]| parts.concat();
    let logs: [(&str, Vec<u8>); 18] = [
        ("nothing", vec![]),
        ("a line feed", b"\n".to_vec()),
        ("NULs", vec![0; 10_000]),
        ("binary", (0..=255).cycle().take(100_000).collect()),
        ("a program", b"\x7fELF\x02\x01\x01".repeat(100)),
        ("an archive", b"PK\x03\x04".repeat(100)),
        ("HTML", b"<!doctype html><html></html>\n".to_vec()),
        ("another tool's log", br#"{"sessionId":"s","role":"user","content":"hello"}"#.to_vec()),
        ("a header in UTF-16", head.iter().flat_map(|byte| [*byte, 0]).collect()),
        ("a byte order mark", join(&[b"\xef\xbb\xbf", &head, &row])),
        ("half a header", head[..head.len() / 2].to_vec()),
        ("a header without its line feed", head[..head.len() - 1].to_vec()),
        ("two headers", join(&[&head, &head, &row])),
        ("NULs behind the rows", join(&[&head, &row, &[0; 5_000]])),
        ("CR LF", join(&[&head, &row]).iter().flat_map(|byte| match byte { b'\n' => vec![b'\r', b'\n'], other => vec![*other] }).collect()),
        ("deep nesting", join(&[&head, "[".repeat(500_000).as_bytes(), b"\n", &row])),
        ("numbers without measure", join(&[&head, br#"{"type":"user/message","seq":1e999,"time":-1e999,"data":{}}"#, b"\n"])),
        ("invalid UTF-8", join(&[&head, br#"{"type":"user/message","seq":0,"time":0,"surfaceOp":"append","data":{"id":"m","role":"user","content":[{"type":"text","text":""#, b"\xff\xfe\xc0\x80\xed\xa0\x80", br#""}],"source":{"kind":"user"}}}"#, b"\n"])),
    ];
    for (what, bytes) in &logs {
        place.write_file("sessions/_no-cwd/s/session.jsonl", bytes);
        all_answer(&place, "s", what).await;
        place.change(|| {
            std::fs::remove_file(place.path("sessions/_no-cwd/s/session.jsonl")).unwrap()
        });
        place.write_file("sessions/_no-cwd/s/session.jsonl.zstd", bytes);
        all_answer(&place, "s", &format!("{what}, compressed as it claims")).await;
        place.change(|| {
            std::fs::remove_file(place.path("sessions/_no-cwd/s/session.jsonl.zstd")).unwrap()
        });
    }
}

#[tokio::test]
async fn places_that_are_no_logs_are_passed_over_or_refused() {
    use std::os::unix::fs::symlink;
    let place = Place::new().await;
    let log = place.write("sound", &[user(0, "x")]);
    let directory = |name: &str| place.path(format!("sessions/_no-cwd/{name}"));
    type Make<'a> = Box<dyn Fn() + 'a>;
    let odd: [(&str, Make<'_>); 6] = [
        (
            "a-directory",
            Box::new(|| std::fs::create_dir_all(directory("a-directory/session.jsonl")).unwrap()),
        ),
        (
            "a-fifo",
            Box::new(|| {
                std::fs::create_dir(directory("a-fifo")).unwrap();
                let path = directory("a-fifo/session.jsonl");
                rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RUSR).unwrap();
            }),
        ),
        (
            "a-link",
            Box::new(|| {
                std::fs::create_dir(directory("a-link")).unwrap();
                symlink(&log, directory("a-link/session.jsonl")).unwrap();
            }),
        ),
        (
            "a-loop",
            Box::new(|| {
                std::fs::create_dir(directory("a-loop")).unwrap();
                symlink("session.jsonl", directory("a-loop/session.jsonl")).unwrap();
            }),
        ),
        (
            "a-device",
            Box::new(|| {
                std::fs::create_dir(directory("a-device")).unwrap();
                symlink("/dev/zero", directory("a-device/session.jsonl")).unwrap();
            }),
        ),
        (
            "dangling",
            Box::new(|| {
                std::fs::create_dir(directory("dangling")).unwrap();
                symlink("/absent", directory("dangling/session.jsonl")).unwrap();
            }),
        ),
    ];
    for (name, make) in odd {
        place.change(make);
        all_answer(&place, name, name).await;
        all_answer(&place, "sound", &format!("beside {name}")).await;
        place.change(|| std::fs::remove_dir_all(directory(name)).unwrap());
        assert_eq!(
            place.query("sound", json!({})).await.seqs(),
            [0],
            "after {name}"
        );
    }
}

#[tokio::test]
async fn one_huge_line_and_long_names_are_read() {
    let place = Place::new().await;
    let text = format!("{} needle {}", "é".repeat(1_250_000), "ü".repeat(1_250_000));
    let kind = "k".repeat(100_000);
    let mut named = event(&kind, 1, json!({"x": 1}));
    named["ignorable"] = true.into();
    place.write("s", &[user(0, &text), named, user(2, "next")]);
    let found = place.query("s", json!({"text": "needle"})).await.value();
    assert_eq!(found["matches"][0]["truncated"], true);
    let scan = place
        .call("s", "context_grep", json!({"pattern": "needle"}))
        .await;
    assert!(scan.citations()[0].1.contains(" needle "));
    let whole = place.slice("s", 0).await.value();
    assert_eq!(whole["items"][0]["text"], text.as_str());
    let window = json!({"seq": 2, "before": 2});
    let window = place.call("s", "context_slice", window).await.0;
    assert!(window.text().len() < 48_000, "{}", window.text().len());
    let target = place.slice("s", 1).await.value();
    assert_eq!(target["items"][0]["type"], kind.as_str());
    let long_id = "n".repeat(100_000);
    assert_eq!(
        place.query(&long_id, json!({})).await.error().0,
        "SESSION_QUERY_SESSION_NOT_FOUND"
    );
}

#[tokio::test]
async fn hostile_identifiers_and_arguments_find_nothing_and_break_nothing() {
    let place = Place::with_example().await;
    for session in [
        "../../etc",
        "/etc/passwd",
        "--work-app--/session-1",
        ".",
        "..",
        "a\0b",
        "\n",
        "~",
        "%2e%2e",
        "session-1/",
        "session-1\u{200b}",
        "SESSION-1",
    ] {
        let error = place.query(session, json!({})).await.error();
        assert_eq!(error.0, "SESSION_QUERY_SESSION_NOT_FOUND", "{session:?}");
    }
    let deep = format!("{{\"text\":{}1{}}}", "[".repeat(50_000), "]".repeat(50_000));
    let texts = [
        "",
        " ",
        "{",
        "null",
        "[]",
        "5",
        "\"x\"",
        "{}{}",
        "{\"seq\":{}}",
        "\u{feff}{}",
        deep.as_str(),
        r#"{"seq":1e400,"text":5,"pattern":[],"types":"x","surfaces":{},"limit":"1","path":null}"#,
        r#"{"seq":0,"text":"\ud800","pattern":"\ud800","path":"/\udfff"}"#,
        r#"{"__proto__":{"seq":0},"constructor":1,"seq":0,"pattern":"x"}"#,
        r#"{"seq":0,"seq":8,"pattern":"x","pattern":"y"}"#,
    ];
    for tool in ["context_query", "context_slice", "context_grep"] {
        for text in texts {
            let answer = place.call_text("session-1", tool, text).await.0;
            proper(&answer, &format!("{tool} {}", &text[..text.len().min(80)]));
        }
    }
    for arguments in [
        json!({"text": "x".repeat(1 << 20)}),
        json!({"types": vec!["t"; 100_000]}),
        json!({"types": ["t".repeat(1 << 20)]}),
        json!({"surfaces": vec!["current"; 100_000]}),
        json!({"text": "(a+)+$".repeat(200)}),
        json!({"text": "a ".repeat(4_000)}),
    ] {
        let what = arguments.to_string()[..40].to_owned();
        proper(&place.query("session-1", arguments).await.0, &what);
    }
    assert_eq!(place.query("session-1", json!({})).await.seqs().len(), 7);
}

#[tokio::test]
async fn a_hundred_calls_at_once_are_all_answered() {
    let place = Place::with_example().await;
    let mut calls = Vec::new();
    for seq in 0..100_u64 {
        let arguments = json!({"seq": seq % 13}).to_string();
        let request = place
            .request(
                "session-1",
                "context_slice",
                &arguments,
                dsh_host::AbortSignal::never(),
            )
            .await;
        calls.push(place.host.call(request));
    }
    let answers = dsh_tests::history::soon(futures::future::join_all(calls)).await;
    for (seq, answer) in answers.into_iter().enumerate() {
        assert_eq!(Answer(answer).value()["seq"], seq % 13);
    }
    let unknown = CallRequest {
        agent: Some("nobody".into()),
        ..CallRequest::new("context_query", "{}")
    };
    assert!(place.host.call(unknown).await.is_error());
}
