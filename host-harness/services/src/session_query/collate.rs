//! The order of the session list (SPEC-sessions 7.1).

use std::cmp::Ordering;

use icu_collator::options::CollatorOptions;
use icu_collator::{Collator, CollatorBorrowed};

use super::types::SessionRecord;

/// Sorts sessions as the service does: newest first, then by id as `localeCompare` does in the root locale.
pub fn sort(records: &mut [SessionRecord]) {
    // The data is compiled in, so only a broken build of it could fail; then the order of code points has to do.
    let collator = Collator::try_new(Default::default(), CollatorOptions::default()).ok();
    records.sort_by(|a, b| compare(collator.as_ref(), a, b));
}

fn compare(
    collator: Option<&CollatorBorrowed<'_>>,
    a: &SessionRecord,
    b: &SessionRecord,
) -> Ordering {
    let (a, b) = (&a.header, &b.header);
    b.created_at
        .cmp(&a.created_at)
        .then_with(|| match collator {
            Some(collator) => collator.compare(&a.id, &b.id),
            None => a.id.cmp(&b.id),
        })
}
