//! Ignore rules against the `git` of this machine.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{Scene, directories, ignored, marking, walk};

/// Rounds of random ignore files.
const ROUNDS: u32 = 100;

const NAMES: [&str; 16] = [
    "a", "b", "ab", "abc", "a b", "a{b}", "é", "!a", "#a", "a\\b", "a[b", "]", ".a", "a.o", "b-c",
    "A",
];

/// Pieces of which segments are made.
const PIECES: [&str; 53] = [
    "a",
    "b",
    "c",
    "ab",
    "abc",
    "a b",
    "é",
    ".o",
    ".",
    "-",
    "A",
    "]",
    "a.o",
    "a",
    "b",
    "*",
    "*",
    "*",
    "?",
    "?",
    "**",
    "***",
    "[ab]",
    "[!a]",
    "[^b]",
    "[a-c]",
    "[a-",
    "[]]",
    "[\\]a]",
    "[[:alpha:]]",
    "[[:digit:]a]",
    "[!-a]",
    "[a\\-c]",
    "\\a",
    "\\*",
    "\\!",
    "\\#",
    "{",
    "}",
    "{a,b}",
    "{b}",
    "\\{",
    "#",
    "!",
    "[b-a]",
    "[[:x:]]",
    "[]-a]",
    "[!]-a]",
    "[[a]",
    "[[:a]",
    "[\\^\\!]",
    "[^^]",
    "[.-a]",
];

/// Stars that follow a literal start are the one thing where git differs from its documentation.
fn is_a_quirk(pattern: &str) -> bool {
    let start = pattern.trim_start_matches('!').trim_start_matches('/');
    start
        .split(['*', '?', '[', '\\'])
        .next()
        .is_some_and(|literal| {
            let stars = start[literal.len()..].trim_start_matches('*');
            !literal.is_empty()
                && !literal.ends_with('/')
                && start[literal.len()..].starts_with("**")
                && (stars.is_empty() || stars.starts_with('/'))
        })
}

/// A small generator of its own, so that a failure is found again.
struct Random(u32);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) as usize % end
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    fn pattern(&mut self) -> String {
        let mut pattern = String::new();
        if self.one_in(4) {
            pattern.push('!');
        }
        if self.one_in(4) {
            pattern.push('/');
        }
        let segments = 1 + self.below(6) / 3;
        for segment in 0..segments {
            if segment > 0 {
                pattern.push('/');
            }
            for _ in 0..=self.below(3) {
                pattern.push_str(self.pick(&PIECES));
            }
        }
        for (chances, end) in [
            (4, "/"),
            (20, " "),
            (20, "\\ "),
            (20, "/**"),
            (30, "\\"),
            (30, "\t"),
            (20, "\r"),
        ] {
            if self.one_in(chances) {
                pattern.push_str(end);
            }
        }
        pattern
    }

    fn file(&mut self) -> String {
        let mut text = String::new();
        if self.one_in(10) {
            text.push('\u{feff}');
        }
        for _ in 0..=self.below(4) {
            let pattern = self.pattern();
            if !is_a_quirk(&pattern) {
                text.push_str(&pattern);
                text.push('\n');
            }
        }
        text
    }
}

fn git(repository: &Path, arguments: &[&str], input: &str) -> Option<String> {
    let mut child = Command::new("git")
        .current_dir(repository)
        .args(arguments)
        // Nothing of this machine's settings may decide.
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .env("XDG_CONFIG_HOME", "/nonexistent")
        .env("HOME", "/nonexistent")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input.as_bytes()).unwrap());
        let output = child.wait_with_output().unwrap();
        // 1 means that nothing is ignored.
        let code = output.status.code();
        assert!(
            code == Some(0) || code == Some(1),
            "git {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Some(String::from_utf8(output.stdout).unwrap())
    })
}

/// What git ignores among paths, directories with a `/`.
fn ignored_by_git<'a>(
    repository: &Path,
    paths: impl Iterator<Item = &'a String> + Clone,
) -> BTreeSet<String> {
    let input: String = paths
        .clone()
        .flat_map(|path| [path.trim_end_matches('/'), "\0"])
        .collect();
    let output = git(
        repository,
        &["check-ignore", "--no-index", "-z", "--stdin"],
        &input,
    )
    .unwrap();
    let ignored: BTreeSet<&str> = output.split_terminator('\0').collect();
    paths
        .filter(|path| ignored.contains(path.trim_end_matches('/')))
        .cloned()
        .collect()
}

/// A repository with the same names on three levels; nothing when there is no git.
fn repository() -> Option<Scene> {
    let scene = Scene::new();
    if git(&scene.root(), &["init", "-q"], "").is_none() {
        println!("SKIPPED: there is no git to compare with");
        return None;
    }
    for (position, name) in NAMES.into_iter().enumerate() {
        if position % 2 == 0 {
            scene.write(&format!("{name}/x"), "");
            for inner in NAMES.into_iter().step_by(3) {
                scene.write(&format!("{name}/{inner}/a"), "");
                scene.write(&format!("{name}/{inner}/a.o"), "");
            }
            for inner in NAMES.into_iter().skip(1).step_by(3) {
                scene.write(&format!("{name}/{inner}"), "");
            }
        } else {
            scene.write(name, "");
        }
    }
    Some(scene)
}

#[test]
fn random_ignore_files_mean_what_they_mean_to_git() {
    let Some(scene) = repository() else { return };
    let root = scene.root();
    let places = [
        ".git/info/exclude",
        ".gitignore",
        "a/.gitignore",
        "ab/.gitignore",
        "ab/é/.gitignore",
        "a b/a/.gitignore",
    ];
    let mut differences = Vec::new();
    for round in 0..ROUNDS {
        let mut random = Random(round);
        let mut texts = String::new();
        for place in places {
            let text = if random.one_in(2) {
                String::new()
            } else {
                random.file()
            };
            texts.push_str(&format!("--- {place}\n{text}"));
            fs::write(root.join(place), text).unwrap();
        }
        for directory in scene.directories() {
            let found = walk(&directory, &marking());
            let paths = found.keys().filter(|path| !path.starts_with(".git/"));
            let by_git = ignored_by_git(&root, paths.clone());
            let by_us: BTreeSet<String> = paths.filter(|path| found[*path]).cloned().collect();
            let missed: Vec<_> = by_git.difference(&by_us).collect();
            let added: Vec<_> = by_us.difference(&by_git).collect();
            if !missed.is_empty() || !added.is_empty() {
                differences.push(format!("round {round}: git alone ignores {missed:?}, we alone ignore {added:?}\n{texts}"));
            }
        }
    }
    let first: String = differences.iter().take(8).map(String::as_str).collect();
    assert!(
        differences.is_empty(),
        "{} differences, among them\n{first}",
        differences.len()
    );
}

#[test]
fn a_root_inside_the_repository_sees_the_files_above_it() {
    let Some(scene) = repository() else { return };
    scene.write(".gitignore", "*.o\n/ab/é/a\nb\n");
    scene.write(".git/info/exclude", "]\n");
    scene.write("ab/.gitignore", "!a.o\nx\n");
    for directory in directories(scene.root().join("ab")) {
        let by_us: Vec<String> = ignored(&directory)
            .iter()
            .map(|path| format!("ab/{path}"))
            .collect();
        let all: Vec<String> = walk(&directory, &marking())
            .keys()
            .map(|path| format!("ab/{path}"))
            .collect();
        assert!(by_us.iter().eq(&ignored_by_git(&scene.root(), all.iter())));
        assert!(by_us.contains(&"ab/é/a".to_owned()), "{by_us:?}");
    }
}
