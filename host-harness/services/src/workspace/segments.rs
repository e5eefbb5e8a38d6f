//! The portable resolver: one segment at a time through cap-std.

use std::io;

use cap_fs_ext::DirExt;
use cap_std::fs::Dir;

use super::confined::Purpose;

/// Opens the directory at a checked path, refusing links at every segment. A link that appears between two segments is
/// refused too, because each step starts from the directory that is already open.
pub(super) fn open(root: &Dir, relative: &str, purpose: Purpose) -> io::Result<Dir> {
    let (parents, last) = match (relative.rsplit_once('/'), relative) {
        (Some((parents, last)), _) => (parents, last),
        (None, "") => ("", "."),
        (None, last) => ("", last),
    };
    let mut dir = root.try_clone()?;
    for segment in parents.split('/').filter(|segment| !segment.is_empty()) {
        dir = dir.open_dir_nofollow(segment)?;
    }
    #[cfg(any(target_os = "linux", target_os = "android"))]
    if purpose == Purpose::Read {
        return Ok(super::linux::open_for_reading(&dir, last)?);
    }
    let _ = purpose;
    if last == "." {
        Ok(dir)
    } else {
        dir.open_dir_nofollow(last)
    }
}

#[cfg(any(test, not(any(target_os = "linux", target_os = "android"))))]
/// Shows every entry that can be listed to `visit` until it answers `false`.
pub(super) fn read(
    dir: &Dir,
    mut visit: impl FnMut(&str, super::EntryKind) -> bool,
) -> io::Result<()> {
    for entry in dir.entries()? {
        let entry = entry?;
        let mut file_type = entry.file_type()?;
        if file_type == cap_std::fs::FileType::unknown() {
            // The file system does not tell with the name. Gone in the meantime means not listed.
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            file_type = metadata.file_type();
        }
        let kind = if file_type.is_dir() {
            super::EntryKind::Directory
        } else if file_type.is_file() {
            super::EntryKind::File
        } else {
            continue;
        };
        if !visit(&entry.file_name().to_string_lossy(), kind) {
            break;
        }
    }
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use cap_std::ambient_authority;

    use super::*;

    /// The one part of the portable way that is not in use on Linux.
    #[test]
    fn the_portable_reader_sees_what_the_reader_of_linux_sees() {
        let scratch = tempfile::TempDir::new().unwrap();
        for name in ["b", "a", "\u{1f600}", ".hidden"] {
            std::fs::write(scratch.path().join(name), "").unwrap();
        }
        std::fs::create_dir(scratch.path().join("folder")).unwrap();
        std::os::unix::fs::symlink("a", scratch.path().join("link")).unwrap();
        let socket = std::os::unix::net::UnixListener::bind(scratch.path().join("socket"));
        for place in [
            scratch.path(),
            std::path::Path::new("/dev"),
            std::path::Path::new("/proc/self"),
        ] {
            let dir = Dir::open_ambient_dir(place, ambient_authority()).unwrap();
            let (mut portable, mut linux) = (Vec::new(), Vec::new());
            read(&dir, |name, kind| {
                portable.push((name.to_owned(), kind));
                true
            })
            .unwrap();
            let dir = open(&dir, "", Purpose::Read).unwrap();
            super::super::linux::read(&dir, &mut Vec::new(), |name, kind| {
                linux.push((name.to_owned(), kind));
                true
            })
            .unwrap();
            assert!(!linux.is_empty());
            assert_eq!(portable, linux, "{place:?}");
        }
        drop(socket);
    }
}
