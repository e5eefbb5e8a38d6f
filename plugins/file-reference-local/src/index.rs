//! The files and directories of one tree, or of one directory, in the order of SPEC 4.2.

use dsh_guest_support::utf16;
use memchr::memchr_iter;

use crate::names::Names;
use crate::workspace::{Kind, Listing};

/// What is known of an entry beside its name.
const DIRECTORY: u8 = 1;
/// A segment of the path begins with `.`.
const HIDDEN: u8 = 2;
/// The entry, or a directory above it, is excluded by an ignore file.
const IGNORED: u8 = 4;
/// The name is not ASCII, so that its length has to be counted.
const WIDE: u8 = 8;

/// A directory whose entries are, or could be, in the index. Number 0 is the root; the others come in the order of their
/// own entries, so a directory comes after its parent.
#[derive(Debug)]
struct Directory {
    /// Its own entry; meaningless for the root.
    entry: u32,
    parent: u32,
    /// Its first entry. Its last one is before the first of the next directory.
    first: u32,
    /// Where its prefix ends in `prefixes`; it begins where that of the directory before ends.
    prefix_end: u32,
    /// Length of the prefix in UTF-16 code units.
    units: u32,
    /// The same of its lower case.
    lower_units: u32,
}

/// Entries in breadth-first order, those of one directory together and sorted.
#[derive(Debug)]
pub struct Index {
    names: Names,
    flags: Vec<u8>,
    directories: Vec<Directory>,
    /// Directories whose entries are in; the others follow them.
    read: usize,
    /// Of every directory, what stands before the names of its entries.
    prefixes: String,
}

impl Index {
    /// An empty index whose paths all begin with `prefix`, which is empty or ends in `/`.
    pub fn new(prefix: &str) -> Self {
        let root = Directory {
            entry: 0,
            parent: 0,
            first: 0,
            prefix_end: prefix.len() as u32,
            units: utf16::len(prefix) as u32,
            lower_units: utf16::len(&prefix.to_lowercase()) as u32,
        };
        Self {
            names: Names::new(),
            flags: Vec::new(),
            directories: vec![root],
            read: 0,
            prefixes: prefix.to_owned(),
        }
    }

    /// The entries of one directory, their paths spelled with `prefix`.
    pub fn of_listing(prefix: &str, listing: &Listing) -> Self {
        let mut index = Self::new(prefix);
        index.push_directory(listing, u64::MAX);
        index
    }

    /// Adds the entries of the next directory, at most `limit`, and returns whether all of them are in.
    pub fn push_directory(&mut self, listing: &Listing, limit: u64) -> bool {
        let directory = self.read;
        let count = usize::try_from(limit)
            .unwrap_or(usize::MAX)
            .min(listing.kinds.len());
        let packed = first_names(&listing.names, count);
        if !self.has_room(directory, packed, count) || !self.names.push(packed) {
            self.skip_directory();
            return false;
        }
        self.skip_directory();
        let inherited = self.inherited(directory);
        let mut ignored = listing.ignored.iter().peekable();
        let mut start = 0;
        let ends = memchr_iter(b'/', packed.as_bytes());
        for (position, (end, kind)) in ends.zip(&listing.kinds).enumerate() {
            let name = &packed[start..end];
            start = end + 1;
            let mut flags = inherited;
            flags |= if name.is_ascii() { 0 } else { WIDE };
            flags |= if name.starts_with('.') { HIDDEN } else { 0 };
            if ignored
                .next_if(|marked| **marked as usize == position)
                .is_some()
            {
                flags |= IGNORED;
            }
            if *kind == Kind::Directory {
                flags |= DIRECTORY;
                self.announce(directory, self.flags.len(), name);
            }
            self.flags.push(flags);
        }
        count == listing.kinds.len()
    }

    /// Leaves the next directory without entries.
    pub fn skip_directory(&mut self) {
        let first = self.len() as u32;
        if let Some(directory) = self.directories.get_mut(self.read) {
            directory.first = first;
            self.read += 1;
        }
    }

    /// Directories that are recorded but neither pushed nor skipped, as paths without a trailing `/`.
    pub fn unread(&self) -> impl ExactSizeIterator<Item = &str> {
        (self.read..self.directories.len()).map(|d| {
            let prefix = self.prefix(d);
            prefix.strip_suffix('/').unwrap_or(prefix)
        })
    }

    /// Directories that were pushed or skipped.
    pub fn directories_read(&self) -> usize {
        self.read
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.flags.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.flags.is_empty()
    }

    /// The lower-cased names of the entries.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// How many directories there are, the root included.
    pub fn directory_count(&self) -> usize {
        self.directories.len()
    }

    /// The entry that a directory is. The root has none; ask for others only.
    pub fn own_entry(&self, directory: usize) -> usize {
        self.directories[directory].entry as usize
    }

    /// The directory above.
    pub fn parent(&self, directory: usize) -> usize {
        self.directories[directory].parent as usize
    }

    /// The entries of a directory.
    pub fn entries(&self, directory: usize) -> std::ops::Range<usize> {
        if directory >= self.read {
            return self.len()..self.len();
        }
        let next =
            (directory + 1 < self.read).then(|| self.directories[directory + 1].first as usize);
        self.directories[directory].first as usize..next.unwrap_or(self.len())
    }

    /// The directory that holds an entry.
    pub fn holder(&self, entry: usize) -> usize {
        self.directories[..self.read].partition_point(|d| d.first as usize <= entry) - 1
    }

    /// What stands before the names of a directory's entries: empty, or ending in `/`.
    pub fn prefix(&self, directory: usize) -> &str {
        let start = directory
            .checked_sub(1)
            .map_or(0, |before| self.directories[before].prefix_end);
        &self.prefixes[start as usize..self.directories[directory].prefix_end as usize]
    }

    /// Length of a directory's prefix in UTF-16 code units.
    pub fn prefix_units(&self, directory: usize) -> usize {
        self.directories[directory].units as usize
    }

    /// The same of the lower-cased prefix.
    pub fn lower_prefix_units(&self, directory: usize) -> usize {
        self.directories[directory].lower_units as usize
    }

    /// Length of an entry's name in UTF-16 code units.
    pub fn name_units(&self, entry: usize) -> usize {
        if self.is_wide(entry) {
            utf16::len(self.names.original(entry))
        } else {
            self.names.start(entry + 1) - self.names.start(entry) - 1
        }
    }

    /// The kind of an entry.
    pub fn kind(&self, entry: usize) -> Kind {
        if self.flags[entry] & DIRECTORY == 0 {
            Kind::File
        } else {
            Kind::Directory
        }
    }

    /// Whether a segment of the entry's path begins with `.`; the segments of the root's prefix do not count.
    pub fn is_hidden(&self, entry: usize) -> bool {
        self.flags[entry] & HIDDEN != 0
    }

    /// Whether an ignore file excludes the entry.
    pub fn is_ignored(&self, entry: usize) -> bool {
        self.flags[entry] & IGNORED != 0
    }

    /// Whether the name as given has characters beyond ASCII.
    pub fn is_wide(&self, entry: usize) -> bool {
        self.flags[entry] & WIDE != 0
    }

    /// What every entry of a directory shares with it.
    fn inherited(&self, directory: usize) -> u8 {
        if directory == 0 {
            0
        } else {
            self.flags[self.own_entry(directory)] & (HIDDEN | IGNORED)
        }
    }

    /// Whether positions stay within 32 bits when these names are added, even if all of them are directories.
    fn has_room(&self, directory: usize, packed: &str, count: usize) -> bool {
        let prefixes = self.prefix(directory).len().saturating_mul(count);
        let bound = self
            .prefixes
            .len()
            .saturating_add(prefixes)
            .saturating_add(packed.len());
        u32::try_from(bound).is_ok()
    }

    fn announce(&mut self, parent: usize, entry: usize, name: &str) {
        let above = &self.directories[parent];
        let start = parent
            .checked_sub(1)
            .map_or(0, |d| self.directories[d].prefix_end as usize);
        let end = above.prefix_end as usize;
        let units = above.units + utf16::len(name) as u32 + 1;
        let lower_units = above.lower_units + utf16::len(self.names.lower(entry)) as u32 + 1;
        self.prefixes.extend_from_within(start..end);
        self.prefixes.push_str(name);
        self.prefixes.push('/');
        self.directories.push(Directory {
            entry: entry as u32,
            parent: parent as u32,
            first: 0,
            prefix_end: self.prefixes.len() as u32,
            units,
            lower_units,
        });
    }
}

/// The text of the first `count` packed names.
fn first_names(packed: &str, count: usize) -> &str {
    let ends = memchr_iter(b'/', packed.as_bytes()).take(count);
    &packed[..ends.last().map_or(0, |end| end + 1)]
}
