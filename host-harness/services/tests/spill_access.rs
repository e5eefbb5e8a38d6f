//! Which spill files a session may search.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends at its first surprise"
)]

#[allow(dead_code, reason = "each test uses a part of it")]
#[path = "support/rows.rs"]
mod rows;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dsh_services::session_query::{Cancel, LocalOptions, LocalSessionQuery, SessionQueryError};
use dsh_services::spill::{Access, SpillGuard, SpillRoots};
use rows::{header, short_hash as hash, tool_call, tool_result, write_log};
use tempfile::TempDir;

struct Place {
    directory: TempDir,
}

impl Place {
    /// A parent, its fork, a sibling of the fork, and two sessions that claim each other as parents.
    fn new() -> Self {
        let place = Self {
            directory: tempfile::tempdir().expect("a directory"),
        };
        fs::create_dir_all(place.path("spill")).expect("a directory");
        fs::create_dir_all(place.path("tmp")).expect("a directory");
        place.session("parent", None, &[]);
        place.session("fork", Some("parent"), &[]);
        place.session("sibling", Some("parent"), &[]);
        place.session("ring-1", Some("ring-2"), &[]);
        place.session("ring-2", Some("ring-1"), &[]);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        // Resolved, as a granted path is.
        self.directory
            .path()
            .canonicalize()
            .expect("a directory")
            .join(name)
    }

    fn session(&self, id: &str, parent: Option<&str>, rows: &[serde_json::Value]) {
        let mut header = header(id);
        if let Some(parent) = parent {
            header["parentSession"] = parent.into();
        }
        write_log(&self.path("sessions"), &header, rows);
    }

    fn file(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(&path, "text").expect("a file");
        path
    }

    fn spill_file(&self, id: &str, name: &str) -> PathBuf {
        self.file(&format!("spill/session-{}/{name}", hash(id)))
    }

    fn ask(&self, session: &str, path: impl AsRef<Path>) -> Access {
        let sessions = LocalSessionQuery::new(LocalOptions::new(self.path("sessions")));
        let roots = SpillRoots {
            sessions: vec![self.path("none"), self.path("spill")],
            temporary: vec![self.path("tmp")],
            subprocess: vec![self.path("tmp")],
        };
        let guard = SpillGuard::new(roots, Arc::new(sessions));
        guard
            .authorize(
                session,
                path.as_ref().to_str().expect("UTF-8"),
                &Cancel::new(),
            )
            .expect("an answer")
    }
}

#[test]
fn a_session_has_its_own_files_and_those_of_its_ancestors() {
    let place = Place::new();
    let parents = place.spill_file("parent", "a.txt");
    let forks = place.spill_file("fork", "b.txt");
    let rings = place.spill_file("ring-2", "c.txt");
    assert_eq!(
        place.ask("parent", &parents),
        Access::Granted(parents.clone())
    );
    assert_eq!(
        place.ask("fork", &parents),
        Access::Granted(parents.clone())
    );
    assert_eq!(place.ask("fork", &forks), Access::Granted(forks.clone()));
    assert_eq!(place.ask("ring-1", &rings), Access::Granted(rings.clone()));
    assert_eq!(place.ask("parent", &forks), Access::Denied);
    assert_eq!(place.ask("sibling", &forks), Access::Denied);
    // A session without a log still has a directory of its own.
    let unknown = place.spill_file("unknown", "d.txt");
    assert_eq!(
        place.ask("unknown", &unknown),
        Access::Granted(unknown.clone())
    );
}

#[test]
fn what_is_gone_has_vanished_and_what_was_never_the_callers_is_denied_alike() {
    let place = Place::new();
    let file = place.spill_file("fork", "a.txt");
    fs::remove_file(&file).expect("a file");
    assert_eq!(place.ask("fork", &file), Access::Vanished);
    fs::remove_dir(file.parent().expect("a parent")).expect("a directory");
    assert_eq!(place.ask("fork", &file), Access::Vanished);
    assert_eq!(place.ask("sibling", &file), Access::Denied);
    let foreign = place.spill_file("foreign", "a.txt");
    assert_eq!(place.ask("fork", &foreign), Access::Denied);
    assert_eq!(
        place.ask("fork", foreign.with_file_name("absent.txt")),
        Access::Denied
    );
    for path in [
        "/etc/passwd",
        "/etc/absent",
        "relative.txt",
        "",
        "~/.ssh/id",
        "/",
        "/tmp/\0",
    ] {
        assert_eq!(place.ask("fork", path), Access::Denied, "{path:?}");
    }
}

#[test]
fn links_dots_directories_and_special_files_lead_nowhere() {
    let place = Place::new();
    let own = place.spill_file("fork", "a.txt");
    let directory = own.parent().expect("a parent").to_owned();
    let foreign = place.spill_file("foreign", "secret.txt");
    symlink(&foreign, directory.join("link")).expect("a link");
    symlink(&own, directory.join("inner")).expect("a link");
    symlink(directory.join("absent"), directory.join("dangling")).expect("a link");
    symlink(place.path("spill"), directory.join("up")).expect("a link");
    assert_eq!(place.ask("fork", directory.join("link")), Access::Denied);
    assert_eq!(
        place.ask("fork", directory.join("inner")),
        Access::Granted(own.clone())
    );
    assert_eq!(
        place.ask("fork", directory.join("dangling")),
        Access::Denied
    );
    assert_eq!(
        place.ask(
            "fork",
            directory.join(format!("up/session-{}/secret.txt", hash("foreign")))
        ),
        Access::Denied
    );
    assert_eq!(
        place.ask(
            "fork",
            directory.join(format!("../session-{}/secret.txt", hash("foreign")))
        ),
        Access::Denied
    );
    assert_eq!(
        place.ask(
            "fork",
            directory
                .join("./../")
                .join(directory.file_name().expect("a name"))
                .join("a.txt")
        ),
        Access::Denied
    );
    assert_eq!(place.ask("fork", &directory), Access::Denied);
    let socket = directory.join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
    assert_eq!(place.ask("fork", &socket), Access::Denied);
}

#[test]
fn output_of_commands_is_for_those_whose_tools_printed_its_path() {
    let place = Place::new();
    let file = place.file("tmp/dsh-subprocess-abc/dsh-subprocess-1-2-aa-stdout.log");
    let name = file.to_str().expect("UTF-8");
    let call = tool_call(0, "c", "context_grep", name);
    let result = |seq: u64, text: String| tool_result(seq, "c", &text);
    place.session(
        "printed",
        None,
        &[
            call.clone(),
            result(1, format!("text\n[output truncated; full output: {name}]")),
        ],
    );
    place.session("asked", None, &[call]);
    place.session(
        "longer",
        None,
        &[result(0, format!("full output: {name}.gz"))],
    );
    assert_eq!(place.ask("printed", &file), Access::Granted(file.clone()));
    for session in ["asked", "longer", "parent", "unknown"] {
        assert_eq!(place.ask(session, &file), Access::Denied, "{session}");
    }
    fs::remove_file(&file).expect("a file");
    assert_eq!(place.ask("printed", &file), Access::Vanished);
    assert_eq!(place.ask("asked", &file), Access::Denied);
    // The same name in another place is nobody's.
    let elsewhere = place.file("elsewhere/dsh-subprocess-abc/x.log");
    place.session(
        "elsewhere",
        None,
        &[result(0, format!("full output: {}", elsewhere.display()))],
    );
    assert_eq!(place.ask("elsewhere", &elsewhere), Access::Denied);
}

#[test]
fn directories_that_appear_or_vanish_in_the_temporary_directory_count() {
    let place = Place::new();
    let name = format!("tmp/dsh-spill-later/session-{}/a.txt", hash("fork"));
    // The system cleans its temporary directory, and the log still has the path.
    assert_eq!(place.ask("fork", place.path(&name)), Access::Vanished);
    assert_eq!(place.ask("sibling", place.path(&name)), Access::Denied);
    let file = place.file(&name);
    assert_eq!(place.ask("fork", &file), Access::Granted(file.clone()));
    assert_eq!(place.ask("sibling", &file), Access::Denied);
    // By another way to the same place, too.
    symlink(place.path("tmp"), place.path("way")).expect("a link");
    assert_eq!(
        place.ask("fork", place.path(&name.replacen("tmp", "way", 1))),
        Access::Granted(file)
    );
    for wrong in [
        format!("tmp/deeper/dsh-spill-a/session-{}/a.txt", hash("fork")),
        format!("tmp/other-spill-a/session-{}/a.txt", hash("fork")),
        format!("elsewhere/dsh-spill-a/session-{}/a.txt", hash("fork")),
    ] {
        assert_eq!(
            place.ask("fork", place.file(&wrong)),
            Access::Denied,
            "{wrong}"
        );
    }
}

#[test]
fn links_that_anybody_may_plant_in_the_temporary_directory_lead_nowhere() {
    let place = Place::new();
    let secret = place.file("private/secret.txt");
    symlink(place.path("private"), place.path("tmp/dsh-subprocess-evil")).expect("a link");
    let planted = place.path("tmp/dsh-subprocess-evil/secret.txt");
    let said = tool_result(0, "c", planted.to_str().expect("UTF-8"));
    place.session("told", None, &[said]);
    assert_eq!(place.ask("told", &planted), Access::Denied);
    let private = place.file(&format!("private/session-{}/b.txt", hash("told")));
    symlink(place.path("private"), place.path("tmp/dsh-spill-evil")).expect("a link");
    let planted = place.path(&format!(
        "tmp/dsh-spill-evil/session-{}/b.txt",
        hash("told")
    ));
    assert_eq!(place.ask("told", &planted), Access::Denied);
    assert!(secret.exists() && private.exists());
    if !rustix::process::geteuid().is_root() {
        println!("skipped a directory of another user: only root can give one away");
        return;
    }
    let foreign = place.file(&format!(
        "tmp/dsh-spill-foreign/session-{}/b.txt",
        hash("told")
    ));
    let directory = place.path("tmp/dsh-spill-foreign");
    assert_eq!(
        place.ask("told", &foreign),
        Access::Granted(foreign.clone())
    );
    std::os::unix::fs::chown(&directory, Some(12_345), None).expect("root");
    assert_eq!(place.ask("told", &foreign), Access::Denied);
}

#[test]
fn a_cancelled_question_has_no_answer() {
    let place = Place::new();
    let sessions = LocalSessionQuery::new(LocalOptions::new(place.path("sessions")));
    let guard = SpillGuard::new(SpillRoots::default(), Arc::new(sessions));
    let cancel = Cancel::new();
    cancel.cancel();
    assert_eq!(
        guard.authorize("fork", "/etc/passwd", &cancel),
        Err(SessionQueryError::Cancelled)
    );
}
