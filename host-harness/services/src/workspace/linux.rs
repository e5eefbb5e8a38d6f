//! What Linux does better than the portable way: one call resolves a whole path, one call reads many entries.

use std::fs::File;

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags, statat};
use rustix::io::{Errno, retry_on_intr};

use super::EntryKind;
use super::confined::Purpose;

/// Room for the records of one read: a typical directory fits at once.
const BUFFER_BYTES: usize = 32 * 1024;

/// Opens the directory at a checked path. The kernel itself refuses links and ways out, at every segment.
pub(super) fn open_at_once(root: &Dir, relative: &str, purpose: Purpose) -> Result<Dir, Errno> {
    let path = if relative.is_empty() { "." } else { relative };
    let access = match purpose {
        Purpose::Read => OFlags::RDONLY,
        Purpose::Search => OFlags::PATH,
    };
    let flags = access | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let fd = retry_on_intr(|| rustix::fs::openat2(root, path, flags, Mode::empty(), resolve))?;
    Ok(Dir::from_std_file(File::from(fd)))
}

/// Opens the directory of a name, or the same one for `.`, to read its entries. To open it by its own `.` would take
/// search permission on it too.
pub(super) fn open_for_reading(parent: &Dir, segment: &str) -> Result<Dir, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = retry_on_intr(|| rustix::fs::openat(parent, segment, flags, Mode::empty()))?;
    Ok(Dir::from_std_file(File::from(fd)))
}

/// Shows every entry that can be listed to `visit` until it answers `false`. The directory must be open for reading;
/// `buffer` is room that the next read can use again.
pub(super) fn read(
    dir: &Dir,
    buffer: &mut Vec<u8>,
    mut visit: impl FnMut(&str, EntryKind) -> bool,
) -> Result<(), Errno> {
    buffer.clear();
    buffer.reserve(BUFFER_BYTES);
    let mut records = RawDir::new(dir, buffer.spare_capacity_mut());
    while let Some(record) = records.next() {
        let record = match record {
            Ok(record) => record,
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(errno),
        };
        let file_type = match record.file_type() {
            // The file system does not tell with the name. Gone in the meantime means not listed.
            FileType::Unknown => match statat(dir, record.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                Err(_) => continue,
            },
            known => known,
        };
        let kind = match file_type {
            FileType::Directory => EntryKind::Directory,
            FileType::RegularFile => EntryKind::File,
            _ => continue,
        };
        let name = record.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        // Well-formed text is the rule, and checking for it is much cheaper than replacing what is ill-formed.
        let go_on = match std::str::from_utf8(name) {
            Ok(name) => visit(name, kind),
            Err(_) => visit(&String::from_utf8_lossy(name), kind),
        };
        if !go_on {
            break;
        }
    }
    Ok(())
}
