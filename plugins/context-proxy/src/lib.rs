//! Reads persisted session history back on demand, as a DSH plugin component.
