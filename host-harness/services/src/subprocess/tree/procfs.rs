use std::collections::HashMap;
use std::io;

/// One process, as `/proc` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) pid: i32,
    pub(super) parent: i32,
    pub(super) group: i32,
    /// Ended, and only waiting for its parent to take notice.
    pub(super) is_zombie: bool,
    /// When it started, in clock ticks since boot: tells two owners of one pid apart.
    pub(super) started: u64,
}

/// Every process that can be seen now.
pub(super) fn processes() -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for directory in std::fs::read_dir("/proc")? {
        let name = directory?.file_name();
        if let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) {
            entries.extend(process(pid));
        }
    }
    Ok(entries)
}

/// One process; none when there is no such process any more.
pub(super) fn process(pid: i32) -> Option<Entry> {
    parse(pid, &std::fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// The children of `root`, their children, and so on. Parents come before their children.
pub(super) fn descendants(processes: &[Entry], root: i32) -> Vec<Entry> {
    let mut children: HashMap<i32, Vec<Entry>> = HashMap::new();
    for entry in processes {
        children.entry(entry.parent).or_default().push(*entry);
    }
    let mut found: Vec<Entry> = children.remove(&root).unwrap_or_default();
    let mut next = 0;
    while let Some(parent) = found.get(next) {
        found.extend(children.remove(&parent.pid).unwrap_or_default());
        next += 1;
    }
    found
}

/// The program's name stands in parentheses and may itself hold any, so the last one counts.
fn parse(pid: i32, stat: &[u8]) -> Option<Entry> {
    let end_of_name = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(&stat[end_of_name + 1..]).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    // Field 22 of the line; the three above are 3 to 5.
    let started = fields.nth(16)?.parse().ok()?;
    Some(Entry {
        pid,
        parent,
        group,
        is_zombie: matches!(state, "Z" | "X" | "x"),
        started,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_program_name_does_not_shift_the_fields() {
        let tail = "1 2 3 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987 1000 2";
        for (name, state, is_zombie) in [
            ("sh", "S", false),
            (") R 9 9 (", "Z", true),
            ("a\nb)", "X", true),
        ] {
            assert_eq!(
                parse(7, format!("7 ({name}) {state} {tail}\n").as_bytes()),
                Some(Entry {
                    pid: 7,
                    parent: 1,
                    group: 2,
                    is_zombie,
                    started: 987
                })
            );
        }
        assert_eq!(parse(7, b"7 (sh) S 1"), None);
        assert_eq!(parse(7, b""), None);
    }

    #[test]
    fn this_process_is_listed() {
        let own = process(std::process::id().cast_signed()).unwrap();
        assert!(!own.is_zombie);
        assert!(processes().unwrap().contains(&own));
        assert_eq!(process(i32::MAX), None);
    }

    #[test]
    fn descendants_are_children_of_children_and_a_loop_does_no_harm() {
        let entry = |pid, parent| Entry {
            pid,
            parent,
            group: 0,
            is_zombie: false,
            started: 0,
        };
        let all = [
            entry(4, 3),
            entry(1, 0),
            entry(3, 2),
            entry(2, 1),
            entry(5, 6),
            entry(6, 5),
        ];
        let pids = |root| {
            descendants(&all, root)
                .iter()
                .map(|entry| entry.pid)
                .collect::<Vec<_>>()
        };
        assert_eq!(pids(1), [2, 3, 4]);
        assert_eq!(pids(4), [] as [i32; 0]);
        assert_eq!(pids(5), [6, 5]);
    }
}
