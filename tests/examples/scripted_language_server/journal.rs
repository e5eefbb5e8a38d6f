//! What happened, one JSON object a line, in a file that all processes of a script share.
//!
//! A line begins with its line feed instead of ending with one: a process that is killed in the middle of a write leaves half a line, and the
//! next process must not go on with it.

use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

pub struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    pub fn open(path: &Path) -> Self {
        let file = OpenOptions::new().append(true).create(true).open(path);
        Self {
            path: path.to_owned(),
            file: file.expect("the journal can be written"),
        }
    }

    /// Takes the number of this process, from 0, which no other process with this journal has.
    pub fn begin(&self) -> usize {
        let number = (0..)
            .find(|number| {
                let mut claim = self.path.clone().into_os_string();
                claim.push(format!(".{number}"));
                OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .open(claim)
                    .is_ok()
            })
            .expect("there are more numbers");
        let cwd = std::env::current_dir().expect("a working directory");
        let env: Vec<(String, String)> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let args: Vec<String> = std::env::args().skip(2).collect();
        self.note(
            "start",
            &json!({"cwd": cwd, "env": env, "args": args, "number": number}),
        );
        number
    }

    /// Appends one line, in one write, so that lines of several processes do not mix.
    pub fn note(&self, event: &str, what: &Value) {
        let line = json!({"pid": std::process::id(), "event": event, "what": what});
        (&self.file)
            .write_all(format!("\n{line}").as_bytes())
            .expect("the journal can be written");
    }
}
