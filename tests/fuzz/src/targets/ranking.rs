//! Fuzzy completion beside the plain telling of its rules.

use dsh_file_reference_local::rank::rank;
use dsh_file_reference_local::suggest::suggest;

#[allow(dead_code, reason = "shared with the plugin's own tests")]
#[path = "../../../../plugins/file-reference-local/tests/support/reference.rs"]
mod reference;

use reference::Memory;

/// The first line is the query, each further one a path: `!` before it marks what an ignore file excludes, `/` after it a directory.
fn tree<'a>(lines: impl Iterator<Item = &'a str>) -> Memory {
    let file = |line: &str| {
        let (ignored, line) = line
            .strip_prefix('!')
            .map_or((false, line), |rest| (true, rest));
        let named =
            |segment: &&str| !matches!(*segment, "" | "." | "..") && !segment.contains('\0');
        let segments: Vec<String> = line
            .split('/')
            .filter(named)
            .take(6)
            .map(str::to_owned)
            .collect();
        (!segments.is_empty()).then(|| (segments, line.ends_with('/'), ignored))
    };
    Memory::new(lines.filter_map(file).take(60).collect())
}

/// The tiers of the real ranking find what one pass over all paths finds, whatever the tree, the query, the limit and the batches.
pub fn ranking(data: &[u8]) {
    let [limit, most, data @ ..] = data else {
        return;
    };
    let text = String::from_utf8_lossy(data);
    let mut lines = text.split('\n');
    let query: String = lines.next().unwrap_or_default().replace(['/', '\\'], "");
    let tree = tree(lines);
    let limit = u64::from(*limit).max(1);
    let built = tree.build(u64::MAX, usize::from(*most).max(1));
    let entries = tree.breadth_first(usize::MAX);
    assert_eq!(built.index.len(), entries.len());
    let found: Vec<String> = rank(&built.index, &query, limit)
        .into_iter()
        .map(|c| c.path)
        .collect();
    assert_eq!(found, reference::rank(&entries, &query, limit as usize));

    let near = suggest(&built.index, &query, limit);
    assert!(near.len() as u64 <= limit);
    assert!(
        near.iter()
            .all(|near| entries.iter().any(|entry| entry.path == near.path))
    );
    if !query.starts_with('.') {
        assert!(
            near.iter()
                .all(|near| near.path.split('/').all(|s| !s.starts_with('.')))
        );
    }
}
