//! Colours, pipes that close, and disks that are full.

use crate::support::{Place, Run};
use std::process::Stdio;

const ESCAPE: char = '\u{1b}';

/// Commands that colour something, and the place that each needs.
const COLOURED: [&[&str]; 5] = [
    &["complete", ""],
    &["plugins"],
    &["tools"],
    &["demo"],
    &["complete", "--max-results", "0", ""],
];

fn run_with(place: &Place, arguments: &[&str], variables: &[(&str, &str)]) -> Run {
    let mut command = place.command(arguments);
    Run::of(command.envs(variables.iter().copied()).output().unwrap())
}

#[test]
fn pipes_are_given_no_escape_codes() {
    let place = Place::new();
    for arguments in COLOURED {
        let run = place.run(arguments);
        assert!(!run.stdout.contains(ESCAPE), "{arguments:?}: {run:?}");
        assert!(!run.stderr.contains(ESCAPE), "{arguments:?}: {run:?}");
    }
}

#[test]
fn colours_can_be_forced_and_no_color_goes_before_that() {
    let place = Place::new();
    for arguments in COLOURED {
        let forced = run_with(&place, arguments, &[("CLICOLOR_FORCE", "1")]);
        let all = forced.stdout + &forced.stderr;
        assert!(all.contains(ESCAPE), "{arguments:?}: {all}");
        let without = run_with(
            &place,
            arguments,
            &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")],
        );
        let all = without.stdout + &without.stderr;
        assert!(!all.contains(ESCAPE), "{arguments:?}: {all}");
    }
}

#[test]
fn json_is_never_coloured() {
    let place = Place::new();
    let commands: [&[&str]; 3] = [
        &["complete", "--json", ""],
        &["tools", "--json"],
        &["plugins", "--json"],
    ];
    for arguments in commands {
        let forced = run_with(&place, arguments, &[("CLICOLOR_FORCE", "1")]);
        assert!(forced.json().is_array(), "{arguments:?}");
    }
}

/// Commands that print something and succeed.
const PRINTING: [&[&str]; 9] = [
    &["complete", ""],
    &["complete", "--json", ""],
    &["plugins"],
    &["tools"],
    &["prompt", "--visible-tool", "read"],
    &["demo"],
    &["export", "dist"],
    &["completions", "bash"],
    &["bench", "complete", "--queries", "queries.json"],
];

#[test]
fn a_reader_who_leaves_is_no_error() {
    let place = Place::new();
    place.write("queries.json", br#"["main"]"#);
    for arguments in PRINTING {
        let mut command = place.command(arguments);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let run = Run::of(child.wait_with_output().unwrap());
        assert_eq!(
            (run.code, run.stderr.as_str()),
            (Some(0), ""),
            "{arguments:?}"
        );
    }
    let exported = std::fs::read_dir(place.path().join("dist")).unwrap();
    assert_eq!(exported.count(), 4, "three components and their checksums");
}

#[test]
fn errors_that_nobody_reads_keep_their_exit_code() {
    let place = Place::new();
    let mut command = place.command(&["complete", "--max-results", "0", ""]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(2));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let place = Place::new();
    place.write("queries.json", br#"["main"]"#);
    for arguments in PRINTING {
        let full = std::fs::File::options()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let output = place.command(arguments).stdout(full).output().unwrap();
        Run::of(output).refused(&format!("{arguments:?}"), &["No space left on device"]);
    }
}
