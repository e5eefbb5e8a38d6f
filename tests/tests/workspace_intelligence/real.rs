//! Real language servers: the very first query of a fresh process is answered, and answered right, time after time.

use dsh_host::RowState;
use dsh_tests::hosts::agent;
use dsh_tests::real_servers::{find, lay_out};
use dsh_tests::symbols::{Desk, found};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tokio::sync::Mutex;

/// Fresh processes for each server.
const ROUNDS: usize = 10;
/// One server at a time: they are judged by whether they answer well, not by how they share two cores.
static TURN: Mutex<()> = Mutex::const_new(());

/// A symbol that must be found: its name, its kind, its file and its line, from 0.
type Place = (&'static str, &'static str, &'static str, u64);

/// Asks a fresh process for one symbol as its first query, and for the other as its second; so many times.
async fn first_queries(
    project: &str,
    program: &str,
    mut server: Value,
    prepare: impl Fn(&Path),
    places: [Place; 2],
) {
    let _turn = TURN.lock().await;
    server["command"] = json!(find(program));
    for round in 0..ROUNDS {
        let desk = Desk::new().await;
        // A name in which a server that does not escape gets lost.
        let root = desk.workspace().join("proj ü #1 %41");
        lay_out(project, &root);
        prepare(&root);
        agent(&desk.host, "real", &root).await;
        let state = desk.mount(&[("server", server.clone())]).await;
        assert_eq!(state, Ok(RowState::Active), "{program}");
        // Which of the two comes first changes, since each first query counts.
        let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
        for (turn, index) in order.into_iter().enumerate() {
            let (name, kind, file, line) = places[index];
            let value = found(desk.ask_as("real", name).await);
            let what = format!("{program}, process {round}, query {turn}: {value:#}");
            let symbols = value["symbols"].as_array().unwrap();
            let hit = symbols
                .iter()
                .find(|symbol| symbol["name"] == name && symbol["kind"] == kind);
            let hit = hit.unwrap_or_else(|| panic!("{name} is missing: {what}"));
            assert_eq!(path_of(hit), root.join(file), "{what}");
            assert_eq!(hit["range"]["start"]["line"], line, "{what}");
            assert_eq!(value["providers"]["succeeded"], 1, "{what}");
            assert_eq!(
                value["providers"].get("started").is_some(),
                turn == 0,
                "{what}"
            );
        }
        desk.unmount().await.unwrap();
    }
}

/// The path in the URI of a symbol.
fn path_of(symbol: &Value) -> PathBuf {
    let uri = symbol["uri"].as_str().unwrap();
    let mut bytes = Vec::new();
    let mut rest = uri.strip_prefix("file://").unwrap().bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next().unwrap(), rest.next().unwrap()];
            let digits = std::str::from_utf8(&digits).unwrap();
            bytes.push(u8::from_str_radix(digits, 16).unwrap());
        } else {
            bytes.push(byte);
        }
    }
    PathBuf::from(String::from_utf8(bytes).unwrap())
}

fn lean_rust_analyzer() -> Value {
    json!({"initializationOptions": {
        "cargo": {"sysroot": null, "buildScripts": {"enable": false}},
        "procMacro": {"enable": false},
        "cachePriming": {"enable": false},
        "checkOnSave": false,
    }})
}

#[tokio::test]
#[cfg_attr(not(has_rust_analyzer), ignore = "rust-analyzer is not installed")]
async fn rust_analyzer_answers_its_first_query() {
    let places = [
        ("WidgetFactory", "Struct", "src/lib.rs", 2),
        ("größe_messen", "Function", "src/gears.rs", 0),
    ];
    first_queries(
        "rust",
        "rust-analyzer",
        lean_rust_analyzer(),
        |_| {},
        places,
    )
    .await;
}

#[tokio::test]
#[cfg_attr(not(has_clangd), ignore = "clangd is not installed")]
async fn clangd_answers_its_first_query() {
    let commands = |root: &Path| {
        let command = |file: &str| json!({"directory": root, "file": file, "arguments": ["clang++", "-c", file]});
        let all = json!([command("factory.cpp"), command("gears/gear.cpp")]);
        std::fs::write(root.join("compile_commands.json"), all.to_string()).unwrap();
    };
    let server = json!({"args": ["--log=error"], "openFiles": ["**/*.{cpp,cc,cxx,c}"]});
    let places = [
        ("WidgetFactory", "Class", "factory.cpp", 3),
        ("InnerGear", "Struct", "gears/gear.cpp", 2),
    ];
    first_queries("cpp", "clangd", server, commands, places).await;
}

const PYTHON: [Place; 2] = [
    ("WidgetFactory", "Class", "factory.py", 3),
    ("InnerGear", "Class", "gears/gear.py", 0),
];

#[tokio::test]
#[cfg_attr(
    not(has_pyright_langserver),
    ignore = "pyright-langserver is not installed"
)]
async fn pyright_answers_its_first_query() {
    first_queries(
        "python",
        "pyright-langserver",
        json!({"args": ["--stdio"]}),
        |_| {},
        PYTHON,
    )
    .await;
}

#[tokio::test]
#[cfg_attr(not(has_ty), ignore = "ty is not installed")]
async fn ty_answers_its_first_query() {
    first_queries("python", "ty", json!({"args": ["server"]}), |_| {}, PYTHON).await;
}

#[tokio::test]
#[cfg_attr(
    not(has_typescript_language_server),
    ignore = "typescript-language-server is not installed"
)]
async fn typescript_language_server_answers_its_first_query() {
    let server = json!({
        "args": ["--stdio"],
        "initializationOptions": {"tsserver": {"useSyntaxServer": "never"}},
        "openFiles": ["**/*.{ts,tsx}"],
    });
    let places = [
        ("WidgetFactory", "Class", "factory.ts", 2),
        ("InnerGear", "Class", "gears/gear.ts", 0),
    ];
    first_queries(
        "typescript",
        "typescript-language-server",
        server,
        |_| {},
        places,
    )
    .await;
}

#[tokio::test]
#[cfg_attr(not(has_rust_analyzer), ignore = "rust-analyzer is not installed")]
async fn rust_analyzer_finds_a_struct_of_this_repository() {
    let _turn = TURN.lock().await;
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()
        .unwrap();
    let file = "plugins/workspace-intelligence/src/driver/instance.rs";
    let source = std::fs::read_to_string(root.join(file)).unwrap();
    let line = source
        .lines()
        .position(|line| line.starts_with("pub struct Instance<"))
        .unwrap();
    let desk = Desk::new().await;
    agent(&desk.host, "real", &root).await;
    // The workspace alone: nothing is fetched, built or run, and the lock file stays as it is.
    let mut server = lean_rust_analyzer();
    server["initializationOptions"]["cargo"]["noDeps"] = json!(true);
    server["env"] = json!({"CARGO_NET_OFFLINE": "true"});
    server["command"] = json!(find("rust-analyzer"));
    desk.mount(&[("rust", server)]).await.unwrap();
    let value = found(desk.ask_as("real", "Instance").await);
    let symbols = value["symbols"].as_array().unwrap();
    let hit = symbols
        .iter()
        .find(|symbol| path_of(symbol) == root.join(file));
    let hit = hit.unwrap_or_else(|| panic!("{value:#}"));
    assert_eq!(
        (&hit["name"], &hit["kind"]),
        (&json!("Instance"), &json!("Struct"))
    );
    let first = hit["range"]["start"]["line"].as_u64().unwrap();
    let last = hit["range"]["end"]["line"].as_u64().unwrap();
    assert!((first..=last).contains(&(line as u64)), "{line}: {hit}");
    desk.unmount().await.unwrap();
}
