//! The part of `dsh-host demo` that asks a language server, when there is one that suits the directory.

use super::session::{AGENT, Session};
use super::{Outcome, Stop, style};
use dsh_host::grants::Programs;
use dsh_host::{CallRequest, Limits, PluginRow, RowState, ToolResult};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const PLUGIN: &str = "dsh-workspace-intelligence";
/// The row of the demo.
const ROW: &str = "demo-workspace-symbol";
/// A demo is looked at: what takes longer than this is told, and left.
const PATIENCE_MS: u32 = 15_000;
/// Symbols shown.
const SHOWN: usize = 5;
/// Directory entries that are looked at for a name to ask for, and the largest file that is read.
const MAX_ENTRIES: usize = 5_000;
const MAX_BYTES: u64 = 1 << 20;

/// A language server that the demo knows.
struct Known {
    program: &'static str,
    args: &'static [&'static str],
    /// A directory with one of these is what it is for.
    markers: &'static [&'static str],
    /// How the names of its sources end.
    endings: &'static [&'static str],
    /// What stands before a name that is defined.
    keywords: &'static [&'static str],
    /// What else its configuration needs.
    more: fn() -> Value,
}

const KNOWN: &[Known] = &[
    Known {
        program: "rust-analyzer",
        args: &[],
        markers: &["Cargo.toml"],
        endings: &[".rs"],
        keywords: &["pub struct ", "pub enum ", "struct "],
        more: lean_rust_analyzer,
    },
    Known {
        program: "gopls",
        args: &[],
        markers: &["go.mod"],
        endings: &[".go"],
        keywords: &["type ", "func "],
        more: || json!({}),
    },
    Known {
        program: "clangd",
        args: &["--log=error"],
        markers: &["compile_commands.json"],
        endings: &[".cpp", ".cc", ".cxx", ".c"],
        keywords: &["class ", "struct "],
        more: || json!({"openFiles": ["**/*.{cpp,cc,cxx,c}"]}),
    },
    Known {
        program: "typescript-language-server",
        args: &["--stdio"],
        markers: &["tsconfig.json", "jsconfig.json"],
        endings: &[".ts", ".tsx", ".js"],
        keywords: &["class ", "interface ", "function "],
        more: || {
            json!({
                "initializationOptions": {"tsserver": {"useSyntaxServer": "never"}},
                "openFiles": ["**/*.{ts,tsx,js}"],
            })
        },
    },
    PYTHON,
    Known {
        program: "basedpyright-langserver",
        ..PYTHON
    },
    Known {
        program: "ty",
        args: &["server"],
        ..PYTHON
    },
    Known {
        program: "jedi-language-server",
        args: &[],
        ..PYTHON
    },
];

const PYTHON: Known = Known {
    program: "pyright-langserver",
    args: &["--stdio"],
    markers: &[
        "pyproject.toml",
        "setup.py",
        "setup.cfg",
        "requirements.txt",
    ],
    endings: &[".py"],
    keywords: &["class ", "def "],
    more: || json!({}),
};

/// The workspace alone, without dependencies and without running anything of the project.
fn lean_rust_analyzer() -> Value {
    json!({
        "env": {"CARGO_NET_OFFLINE": "true"},
        "initializationOptions": {
            "cargo": {"noDeps": true, "sysroot": null, "buildScripts": {"enable": false}},
            "procMacro": {"enable": false},
            "cachePriming": {"enable": false},
            "checkOnSave": false,
        },
    })
}

/// Asks the first suitable server for a name of the directory, or says what was looked for.
pub(crate) async fn show(out: &mut impl Write, session: &Session) -> Outcome {
    let root = Path::new(&session.cwd);
    let suited: Vec<&Known> = KNOWN
        .iter()
        .filter(|known| {
            known
                .markers
                .iter()
                .any(|marker| root.join(marker).is_file())
        })
        .collect();
    let Some(known) = suited.iter().find(|known| on_path(known.program).is_some()) else {
        return not_found(out, &suited);
    };
    let Some(name) = name_to_ask_for(root, known) else {
        writeln!(
            out,
            "{} is here, but the directory defines nothing to ask it for.",
            known.program
        )?;
        return Ok(());
    };
    // Written before the wait, so that it is plain what is waited for.
    let command = [&[known.program], known.args].concat().join(" ");
    writeln!(
        out,
        "{command}, asked for {}{name}{}:",
        style::NAME,
        style::RESET
    )?;
    out.flush()?;
    let asked = ask(session, known, &name).await;
    let unmounted = session.host.unmount(ROW).await;
    match asked {
        Ok((result, elapsed)) => answer(out, session, &result, elapsed)?,
        Err(reason) => writeln!(out, "    {}{reason}{}", style::FAINT, style::RESET)?,
    }
    unmounted.or_else(|failure| {
        if failure.is("ROW_UNKNOWN") {
            Ok(())
        } else {
            Err(Stop::usage(failure))
        }
    })
}

async fn ask(
    session: &Session,
    known: &Known,
    name: &str,
) -> Result<(ToolResult, Duration), String> {
    let row = session
        .rows
        .iter()
        .find(|row| row.row.name == PLUGIN)
        .ok_or("the profile leaves the plugin out")?;
    if row.state == Some(RowState::Active) {
        return Err(
            "the profile mounts the plugin; `dsh-host call workspace_symbol` asks it".into(),
        );
    }
    let mut server = (known.more)();
    server["command"] = json!(known.program);
    server["args"] = json!(known.args);
    let row = PluginRow {
        id: ROW.into(),
        component: row.component.clone(),
        config: json!({"servers": {"demo": server}}),
        limits: Limits::default(),
        programs: Programs::OfConfiguration(PLUGIN.into()),
    };
    session
        .host
        .mount(row)
        .await
        .map_err(|failure| failure.to_string())?;
    let request = CallRequest {
        agent: Some(AGENT.into()),
        timeout_ms: Some(PATIENCE_MS),
        ..CallRequest::new("workspace_symbol", &json!({"query": name}).to_string())
    };
    let start = Instant::now();
    let waiting = style::spinner("waiting for the language server");
    let result = session.host.call(request).await;
    waiting.finish_and_clear();
    Ok((result, start.elapsed()))
}

fn answer(
    out: &mut impl Write,
    session: &Session,
    result: &ToolResult,
    elapsed: Duration,
) -> Outcome {
    let seconds = elapsed.as_secs_f64();
    let ToolResult::Success(output) = result else {
        writeln!(
            out,
            "    {}{}, after {seconds:.1} s{}",
            style::FAINT,
            result.text(),
            style::RESET
        )?;
        return Ok(());
    };
    let value = output.value.value();
    let symbols = value["symbols"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    for symbol in symbols.iter().take(SHOWN) {
        let text = |key: &str| symbol[key].as_str().unwrap_or_default();
        let place = text("uri").strip_prefix("file://").unwrap_or(text("uri"));
        let place = place
            .strip_prefix(&session.cwd)
            .map_or(place, |inside| inside.trim_start_matches('/'));
        let line = symbol["range"]["start"]["line"]
            .as_u64()
            .map_or(String::new(), |line| format!(":{}", line + 1));
        writeln!(
            out,
            "    {:<24} {:<10} {place}{line}",
            text("name"),
            text("kind")
        )?;
    }
    let total = value["total"].as_u64().unwrap_or_default();
    writeln!(
        out,
        "    {}{total} found by a process that this call started, after {seconds:.1} s; it is gone again{}",
        style::FAINT,
        style::RESET
    )?;
    Ok(())
}

fn not_found(out: &mut impl Write, suited: &[&Known]) -> Outcome {
    let (what, looked): (_, Vec<&str>) = if suited.is_empty() {
        let markers: Vec<&str> = KNOWN
            .iter()
            .flat_map(|known| known.markers.iter().copied())
            .fold(Vec::new(), |mut all, marker| {
                if !all.contains(&marker) {
                    all.push(marker);
                }
                all
            });
        let what = format!(
            "none of {} is in the directory, which would say what suits it",
            markers.join(", ")
        );
        (what, KNOWN.iter().map(|known| known.program).collect())
    } else {
        let looked: Vec<&str> = suited.iter().map(|known| known.program).collect();
        (format!("{} is not on PATH", looked.join(", nor ")), looked)
    };
    writeln!(
        out,
        "The tool workspace_symbol asks language servers. {what}.\nLooked for:"
    )?;
    for program in looked {
        let place = on_path(program).map_or("not found".into(), |path| path.display().to_string());
        writeln!(out, "    {program:<28} {place}")?;
    }
    Ok(())
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .filter(|directory| !directory.as_os_str().is_empty())
        .map(|directory| directory.join(program))
        .find(|candidate| candidate.is_file())
}

/// The first name that a source of the directory defines, level by level.
fn name_to_ask_for(root: &Path, known: &Known) -> Option<String> {
    let mut directories = VecDeque::from([root.to_owned()]);
    let mut seen = 0;
    while let Some(directory) = directories.pop_front() {
        // What cannot be read is passed over.
        let Ok(listing) = std::fs::read_dir(directory) else {
            continue;
        };
        let mut entries: Vec<_> = listing.flatten().collect();
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            seen += 1;
            if seen > MAX_ENTRIES {
                return None;
            }
            let (name, Ok(kind)) = (entry.file_name(), entry.file_type()) else {
                continue;
            };
            let name = name.to_string_lossy();
            let skipped = name.starts_with('.')
                || matches!(&*name, "target" | "node_modules" | "vendor" | "venv");
            if kind.is_dir() && !skipped {
                directories.push_back(entry.path());
            } else if kind.is_file()
                && known.endings.iter().any(|ending| name.ends_with(ending))
                && let Some(found) = defined_in(&entry.path(), known.keywords)
            {
                return Some(found);
            }
        }
    }
    None
}

fn defined_in(path: &Path, keywords: &[&str]) -> Option<String> {
    let size = std::fs::metadata(path).ok()?.len();
    if size > MAX_BYTES {
        return None;
    }
    first_name(&std::fs::read_to_string(path).ok()?, keywords)
}

/// The first name of three letters or more that follows one of the keywords at the beginning of a line.
fn first_name(text: &str, keywords: &[&str]) -> Option<String> {
    text.lines().find_map(|line| {
        let line = line.strip_prefix("export ").unwrap_or(line);
        let rest = keywords
            .iter()
            .find_map(|keyword| line.strip_prefix(keyword))?;
        let name: String = rest
            .chars()
            .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
            .collect();
        (name.chars().count() >= 3).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::first_name;

    #[test]
    fn a_name_is_what_follows_a_keyword_at_the_beginning_of_a_line() {
        let rust = "//! struct No\nuse a;\n    pub struct Inner;\npub struct AB;\npub struct Größe<T>(T);\n";
        assert_eq!(first_name(rust, &["pub struct "]).as_deref(), Some("Größe"));
        let script = "import x\nexport class Widget extends Y {\n";
        assert_eq!(first_name(script, &["class "]).as_deref(), Some("Widget"));
        assert_eq!(first_name("", &["class "]), None);
    }
}
