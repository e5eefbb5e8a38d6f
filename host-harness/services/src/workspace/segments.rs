//! The portable resolver: one segment at a time through cap-std.

use std::io;

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, FileType};

use super::EntryKind;

/// Opens the directory at a checked path, refusing links at every segment. A link that appears between two segments is
/// refused too, because each step starts from the directory that is already open.
pub(super) fn open(root: &Dir, relative: &str) -> io::Result<Dir> {
    let mut dir = root.try_clone()?;
    for segment in relative.split('/').filter(|segment| !segment.is_empty()) {
        dir = dir.open_dir_nofollow(segment)?;
    }
    Ok(dir)
}

/// Shows every entry that can be listed to `visit` until it answers `false`.
pub(super) fn read(dir: &Dir, mut visit: impl FnMut(&str, EntryKind) -> bool) -> io::Result<()> {
    for entry in dir.entries()? {
        let entry = entry?;
        let mut file_type = entry.file_type()?;
        if file_type == FileType::unknown() {
            // The file system does not tell with the name. Gone in the meantime means not listed.
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            file_type = metadata.file_type();
        }
        let kind = if file_type.is_dir() {
            EntryKind::Directory
        } else if file_type.is_file() {
            EntryKind::File
        } else {
            continue;
        };
        if !visit(&entry.file_name().to_string_lossy(), kind) {
            break;
        }
    }
    Ok(())
}
