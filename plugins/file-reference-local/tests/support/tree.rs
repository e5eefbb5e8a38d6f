//! Trees of the golden vectors, made on disk.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags};
use serde_json::Value;

/// A tree that is removed when dropped, and the folder beside it.
pub struct Tree {
    home: tempfile::TempDir,
    /// Directories without permissions, which would not let themselves be removed.
    locked: Vec<PathBuf>,
}

impl Tree {
    pub fn new(case: &Value) -> Self {
        // Neither the path of the tree nor its name may contain an excluded segment.
        let home = tempfile::Builder::new()
            .prefix("file-references-")
            .tempdir()
            .unwrap();
        let mut tree = Self {
            home,
            locked: Vec::new(),
        };
        let outside = tree.outside();
        std::fs::create_dir_all(outside.join("inner")).unwrap();
        std::fs::write(outside.join("outside-secret.txt"), "").unwrap();
        std::fs::write(outside.join("inner/deep-outside.txt"), "").unwrap();
        std::fs::create_dir(tree.root()).unwrap();
        let step_by_step = needs(case).contains(&"mkdir-step-by-step");
        for entry in case["tree"].as_array().unwrap() {
            if step_by_step {
                tree.make_step_by_step(entry)
            } else {
                tree.make(entry)
            }
        }
        tree.lock(case["tree"].as_array().unwrap());
        tree
    }

    pub fn root(&self) -> PathBuf {
        self.home.path().join("workspace")
    }

    pub fn outside(&self) -> PathBuf {
        self.home.path().join("elsewhere")
    }

    /// Text of a vector with its placeholders filled in.
    pub fn fill(&self, text: &str) -> String {
        text.replace("{ROOT}", self.root().to_str().unwrap())
            .replace("{OUTSIDE}", self.outside().to_str().unwrap())
    }

    fn place(&self, entry: &Value) -> PathBuf {
        match entry["path"].as_str() {
            Some(path) => self.root().join(path),
            None => {
                let hex = entry["bytes_hex"].as_str().unwrap();
                let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
                let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
                self.root().join(OsStr::from_bytes(&bytes))
            }
        }
    }

    fn make(&self, entry: &Value) {
        let place = self.place(entry);
        match entry["kind"].as_str().unwrap() {
            "dir" => std::fs::create_dir(&place).unwrap(),
            "file" => std::fs::write(&place, "").unwrap(),
            "symlink" => symlink(self.fill(entry["target"].as_str().unwrap()), &place).unwrap(),
            "fifo" => rustix::fs::mknodat(CWD, &place, FileType::Fifo, Mode::RUSR, 0).unwrap(),
            other => panic!("kind {other}"),
        }
    }

    /// Makes an entry whose path is too long to be named at once.
    fn make_step_by_step(&self, entry: &Value) {
        let path = entry["path"].as_str().unwrap();
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let mut at = rustix::fs::open(self.root(), flags, Mode::empty()).unwrap();
        for segment in above.split_terminator('/') {
            at = rustix::fs::openat(&at, segment, flags, Mode::empty()).unwrap();
        }
        match entry["kind"].as_str().unwrap() {
            "dir" => rustix::fs::mkdirat(&at, name, Mode::RWXU).unwrap(),
            "file" => {
                let flags = OFlags::CREATE | OFlags::WRONLY;
                drop(rustix::fs::openat(&at, name, flags, Mode::RUSR).unwrap());
            }
            other => panic!("kind {other}"),
        }
    }

    fn lock(&mut self, entries: &[Value]) {
        for entry in entries
            .iter()
            .rev()
            .filter(|entry| entry["mode"].is_string())
        {
            let mode = u32::from_str_radix(entry["mode"].as_str().unwrap(), 8).unwrap();
            let place = self.place(entry);
            set_mode(&place, mode);
            self.locked.push(place);
        }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        for place in self.locked.iter().rev() {
            set_mode(place, 0o755);
        }
    }
}

fn set_mode(place: &Path, mode: u32) {
    std::fs::set_permissions(place, std::fs::Permissions::from_mode(mode)).unwrap();
}

pub fn needs(case: &Value) -> Vec<&str> {
    case["needs"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|need| need.as_str().unwrap())
        .collect()
}

/// A need of the case that this machine does not meet.
pub fn unmet_need(case: &Value) -> Option<&str> {
    needs(case).into_iter().find(|need| match *need {
        "non-root" => rustix::process::geteuid().is_root(),
        "case-sensitive-fs" => !is_case_sensitive(),
        "non-utf8-names" => !takes_any_bytes(),
        "root-under-250-bytes" => std::env::temp_dir().as_os_str().len() > 200,
        "mkdir-step-by-step" => false,
        other => panic!("unknown need {other}"),
    })
}

fn is_case_sensitive() -> bool {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("a"), "").unwrap();
    !home.path().join("A").exists()
}

fn takes_any_bytes() -> bool {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join(OsStr::from_bytes(b"\xff")), "").is_ok()
}
