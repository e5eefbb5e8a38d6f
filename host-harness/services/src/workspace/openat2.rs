//! The Linux resolver: the kernel walks the whole path and refuses links and ways out by itself.

use std::fs::File;

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags, statat};
use rustix::io::{Errno, retry_on_intr};

use super::EntryKind;
use super::confined::Purpose;
use super::folder::Folder;

/// Room for the records of one read: a typical directory fits at once.
const BUFFER_BYTES: usize = 32 * 1024;

/// Opens the directory at a checked path.
pub(super) fn open(root: &Dir, relative: &str, purpose: Purpose) -> Result<Folder, Errno> {
    let path = if relative.is_empty() { "." } else { relative };
    let access = match purpose {
        Purpose::Read => OFlags::RDONLY,
        Purpose::Search => OFlags::PATH,
    };
    let flags = access | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let fd = retry_on_intr(|| rustix::fs::openat2(root, path, flags, Mode::empty(), resolve))?;
    Ok(Folder::by_kernel(Dir::from_std_file(File::from(fd))))
}

/// Shows every entry that can be listed to `visit` until it answers `false`. The directory must be open for reading.
pub(super) fn read(dir: &Dir, mut visit: impl FnMut(&str, EntryKind) -> bool) -> Result<(), Errno> {
    let mut buffer = Vec::with_capacity(BUFFER_BYTES);
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
        if !visit(&String::from_utf8_lossy(name), kind) {
            break;
        }
    }
    Ok(())
}
