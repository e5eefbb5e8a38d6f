//! The names of an index, lower-cased, in one piece of memory (SPEC 9).
//!
//! A query without `/` can only be contained in one segment of a path, so segments are all that has to be searched: one
//! pass of a substring search over this text sees every name of the tree.

use memchr::memchr_iter;

/// Which characters occur in a text, as 32 classes: a text cannot contain another one whose classes are not all among its own.
pub type Mask = u32;

/// Lower-cased names, with the original spelling of those that lower-casing changed.
#[derive(Debug, Default)]
pub struct Names {
    /// Every name followed by `/`.
    lower: String,
    /// Where each name begins in `lower`, and one more for the end.
    starts: Vec<u32>,
    masks: Vec<Mask>,
    originals: String,
    /// Of each name that lower-casing changed, ascending: which one it is, and where its spelling ends in `originals`.
    changed: Vec<(u32, u32)>,
}

impl Names {
    /// No names.
    pub fn new() -> Self {
        Self {
            starts: vec![0],
            ..Self::default()
        }
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.masks.len()
    }

    /// Whether there is no name.
    pub fn is_empty(&self) -> bool {
        self.masks.is_empty()
    }

    /// All names, each followed by `/`.
    pub fn text(&self) -> &str {
        &self.lower
    }

    /// The classes of characters of each lower-cased name.
    pub fn masks(&self) -> &[Mask] {
        &self.masks
    }

    /// Where a name begins in [`Names::text`].
    pub fn start(&self, name: usize) -> usize {
        self.starts[name] as usize
    }

    /// A name in lower case.
    pub fn lower(&self, name: usize) -> &str {
        &self.lower[self.start(name)..self.start(name + 1) - 1]
    }

    /// The same as UTF-8 bytes, for loops that cannot afford to look for character boundaries.
    pub fn lower_bytes(&self, name: usize) -> &[u8] {
        &self.lower.as_bytes()[self.start(name)..self.start(name + 1) - 1]
    }

    /// A name as it was given.
    pub fn original(&self, name: usize) -> &str {
        match self
            .changed
            .binary_search_by_key(&name, |(changed, _)| *changed as usize)
        {
            Ok(at) => {
                let start = at.checked_sub(1).map_or(0, |before| self.changed[before].1);
                &self.originals[start as usize..self.changed[at].1 as usize]
            }
            Err(_) => self.lower(name),
        }
    }

    /// The name whose text in [`Names::text`] holds the position; it must not come before the name `from`.
    pub fn at(&self, position: usize, from: usize) -> usize {
        // Galloping: cheap when hits are dense, logarithmic when they are rare.
        let mut step = 1;
        let mut low = from;
        while low + step < self.len() && self.start(low + step) <= position {
            low += step;
            step *= 2;
        }
        let high = (low + step).min(self.len());
        low + self.starts[low + 1..high].partition_point(|start| *start as usize <= position)
    }

    /// Adds names that are packed as in [`Names::text`]. Returns `false`, and adds nothing, when their text would pass
    /// the 4 GiB that positions can address.
    pub fn push(&mut self, packed: &str) -> bool {
        // No character grows by more than half when it is lower-cased; three times is ample and needs no proof.
        let bound = self.lower.len().max(self.originals.len()) + packed.len().saturating_mul(3);
        if u32::try_from(bound).is_err() {
            return false;
        }
        if packed.is_ascii() {
            self.push_ascii(packed);
        } else {
            for name in packed.split_terminator('/') {
                self.push_any(name);
            }
        }
        true
    }

    fn push_ascii(&mut self, packed: &str) {
        let from = self.lower.len();
        self.lower.push_str(packed);
        let added = &mut self.lower[from..];
        // Without a way out early the loop vectorises.
        if added
            .bytes()
            .fold(false, |any, b| any | b.is_ascii_uppercase())
        {
            let mut start = 0;
            for (name, end) in (self.masks.len()..).zip(memchr_iter(b'/', packed.as_bytes())) {
                let original = &packed[start..end];
                if original.bytes().any(|b| b.is_ascii_uppercase()) {
                    self.originals.push_str(original);
                    self.changed
                        .push((name as u32, self.originals.len() as u32));
                }
                start = end + 1;
            }
            added.make_ascii_lowercase();
        }
        let mut mask = 0;
        for (at, byte) in (from..).zip(added.bytes()) {
            if byte == b'/' {
                self.starts.push(at as u32 + 1);
                self.masks.push(mask);
                mask = 0;
            } else {
                mask |= CLASSES[byte as usize];
            }
        }
    }

    fn push_any(&mut self, name: &str) {
        let lower = name.to_lowercase();
        if lower != name {
            self.originals.push_str(name);
            self.changed
                .push((self.masks.len() as u32, self.originals.len() as u32));
        }
        self.masks.push(mask(&lower));
        self.lower.push_str(&lower);
        self.lower.push('/');
        self.starts.push(self.lower.len() as u32);
    }
}

/// The classes of the characters of a text.
pub fn mask(text: &str) -> Mask {
    text.bytes()
        .fold(0, |mask, byte| mask | CLASSES[byte as usize])
}

/// One class per letter, as letters tell names apart best; the rest share six.
const CLASSES: [Mask; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let class = match byte as u8 {
            letter @ b'a'..=b'z' => letter - b'a',
            b'0'..=b'4' => 26,
            b'5'..=b'9' => 27,
            b'.' => 28,
            b'-' | b'_' => 29,
            0..=0x7f => 30,
            _ => 31,
        };
        classes[byte] = 1 << class;
        byte += 1;
    }
    classes
};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_name_is_found_again(batches in prop::collection::vec(prop::collection::vec("[a-cA-C.ΣσİßK😀é-]{1,5}", 0..6), 0..6)) {
            let mut names = Names::new();
            for batch in &batches {
                let packed: String = batch.iter().map(|name| format!("{name}/")).collect();
                prop_assert!(names.push(&packed));
            }
            let all: Vec<&String> = batches.iter().flatten().collect();
            prop_assert_eq!(names.len(), all.len());
            for (i, name) in all.iter().enumerate() {
                prop_assert_eq!(names.original(i), name.as_str());
                prop_assert_eq!(names.lower(i), name.to_lowercase());
                prop_assert_eq!(names.masks()[i], mask(&name.to_lowercase()));
                for position in names.start(i)..names.start(i + 1) {
                    for from in 0..=i {
                        prop_assert_eq!(names.at(position, from), i);
                    }
                }
            }
        }
    }
}
