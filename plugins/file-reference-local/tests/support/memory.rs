//! Trees as `proptest` makes them up.

use proptest::prelude::*;

use super::reference::Memory;

/// Names in which cases, dots, astral characters and composition meet often.
pub fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-cA-C]{1,4}",
        2 => "[ab._-]{1,5}".prop_filter("no directory entry", |n| n != "." && n != ".."),
        1 => "[abΣσςİßK😀𝒜\u{ff5e}é\u{301}e]{1,4}",
        1 => "[a-c]{30,60}",
    ]
}

pub fn memory() -> impl Strategy<Value = Memory> {
    let segments = prop::collection::vec(name(), 1..5);
    let entry = (segments, any::<bool>(), prop::bool::weighted(0.2));
    prop::collection::vec(entry, 0..25).prop_map(Memory::new)
}
