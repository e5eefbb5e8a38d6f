//! Bounded fuzzy completion of @path mentions, as a DSH plugin component.
