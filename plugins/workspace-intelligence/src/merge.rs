//! Puts the answers of several servers into one list (SPEC 11). The outcome depends on who answered what, never on who was first.

use crate::symbol::{Range, Symbol};
use std::collections::BTreeSet;

/// The merged list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The first symbols in order, at most as many as were asked for.
    pub symbols: Vec<Symbol>,
    /// How many there were without duplicates.
    pub total: usize,
}

/// How well a name fits a query: 0 the same, 1 begins with it, 2 whatever else the server thinks fit. Case matters (SPEC 11.2).
fn match_class(name: &str, query: &str) -> usize {
    if name == query {
        0
    } else if name.starts_with(query) {
        1
    } else {
        2
    }
}

/// Merges `answers`, one list for each server that succeeded, in the order of the servers' ids.
pub fn merge(query: &str, answers: Vec<Vec<Symbol>>, max_results: usize) -> Merged {
    let mut classes = [const { Vec::new() }; 3];
    for symbol in answers.into_iter().flatten() {
        // Within a class the order stays by server, then as the server gave it.
        classes[match_class(&symbol.name, query)].push(symbol);
    }
    let all: Vec<Symbol> = classes.into_iter().flatten().collect();
    let first_of_its_kind: Vec<bool> = {
        let mut seen = BTreeSet::new();
        all.iter().map(|symbol| seen.insert(key(symbol))).collect()
    };
    let total = first_of_its_kind.iter().filter(|first| **first).count();
    let symbols = all
        .into_iter()
        .zip(first_of_its_kind)
        .filter_map(|(symbol, first)| first.then_some(symbol))
        .take(max_results)
        .collect();
    Merged { symbols, total }
}

/// What makes two symbols the same. The container is only a label, and servers word it differently.
fn key(symbol: &Symbol) -> (&str, u32, &str, Option<Range>) {
    (&symbol.name, symbol.kind, &symbol.uri, symbol.range)
}
