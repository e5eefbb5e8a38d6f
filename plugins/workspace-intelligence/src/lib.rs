//! Deterministic LSP workspace symbol search, as a DSH plugin component.
