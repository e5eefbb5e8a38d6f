//! Puts the answers of several servers into one list (SPEC 11). The outcome depends on who answered what, never on who was first.

use crate::symbol::{Range, Symbol};

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
    let all: Vec<Symbol> = answers.into_iter().flatten().collect();
    // Within a class the order stays by server, then as the server gave it.
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|at| all.get(*at).map(|symbol| match_class(&symbol.name, query)));
    let first_of_its_kind = firsts(&all, &order);
    let total = first_of_its_kind.iter().filter(|first| **first).count();
    let mut places: Vec<Option<Symbol>> = all.into_iter().map(Some).collect();
    let symbols = order
        .into_iter()
        .filter(|at| first_of_its_kind.get(*at) == Some(&true))
        .filter_map(|at| places.get_mut(at)?.take())
        .take(max_results)
        .collect();
    Merged { symbols, total }
}

/// Which symbols have no equal before them in `order`.
fn firsts(all: &[Symbol], order: &[usize]) -> Vec<bool> {
    let mut alike: Vec<(usize, &Symbol)> = order
        .iter()
        .filter_map(|at| Some((*at, all.get(*at)?)))
        .collect();
    // Stable, so that of equals the first in order stays the first.
    alike.sort_by(|(_, one), (_, other)| key(one).cmp(&key(other)));
    let mut firsts = vec![false; all.len()];
    let mut before = None;
    for (at, symbol) in alike {
        let own = key(symbol);
        if before != Some(own)
            && let Some(first) = firsts.get_mut(at)
        {
            *first = true;
        }
        before = Some(own);
    }
    firsts
}

/// What makes two symbols the same. The container is only a label, and servers word it differently.
fn key(symbol: &Symbol) -> (&str, u32, &str, Option<Range>) {
    (&symbol.name, symbol.kind, &symbol.uri, symbol.range)
}
