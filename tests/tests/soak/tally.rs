//! What the calls came to, and what the process holds.

use dsh_host::Failure;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::sync::Mutex;
use std::time::Duration;

/// Every code that a call may end with while everything around it breaks, and why it may.
const DOCUMENTED: &[&str] = &[
    // An agent that is just going takes its directory with it.
    "WORKSPACE_SYMBOL_WORKSPACE_INVALID",
    // The host: its plugin trapped, was switched off, was unloaded; the agent is gone; the tool is not there during a reload.
    "PLUGIN_TRAPPED",
    "PLUGIN_FAILED",
    "PLUGIN_DISPOSED",
    "AGENT_UNKNOWN",
    "UNKNOWN_TOOL",
    "TOOL_TIMEOUT",
    "ABORTED_BEFORE_DISPATCH",
    // The tools: every server failed in one call, their row is being unloaded.
    "WORKSPACE_SYMBOL_PROVIDER_FAILED",
    "WORKSPACE_SYMBOL_DISPOSED",
    // Completion while its agent or its row goes; the published plugin has no code for it either.
    "without a code: file search index invalidated",
];

/// How one call ended.
pub enum Ending {
    /// With an answer.
    Answered,
    /// As its caller wanted it.
    Cancelled,
    /// With a failure.
    Failed(Failure),
}

/// Calls by kind and ending, and how long they took.
#[derive(Default)]
pub struct Tally {
    begun: Mutex<BTreeMap<&'static str, u64>>,
    ended: Mutex<BTreeMap<(&'static str, String), u64>>,
    answered: Mutex<BTreeMap<&'static str, Vec<Duration>>>,
}

impl Tally {
    /// A call of this kind begins.
    pub fn begin(&self, kind: &'static str) {
        *self.begun.lock().unwrap().entry(kind).or_default() += 1;
    }

    /// A call of this kind has ended.
    pub fn end(&self, kind: &'static str, ending: Ending, took: Duration) {
        let how = match ending {
            Ending::Answered => {
                let mut answered = self.answered.lock().unwrap();
                answered.entry(kind).or_default().push(took);
                "answered".to_owned()
            }
            Ending::Cancelled => "cancelled".to_owned(),
            Ending::Failed(failure) => failure
                .code
                .unwrap_or_else(|| format!("without a code: {}", failure.message)),
        };
        *self.ended.lock().unwrap().entry((kind, how)).or_default() += 1;
    }

    /// Nothing is lost and nothing is unexplained.
    pub fn judge(&self) {
        let (begun, ended) = (self.begun.lock().unwrap(), self.ended.lock().unwrap());
        for (kind, begun) in begun.iter() {
            let of_kind = ended.iter().filter(|((ended, _), _)| ended == kind);
            let sum: u64 = of_kind.map(|(_, count)| count).sum();
            assert_eq!(sum, *begun, "{kind}: every call is accounted for");
            let answered = ended.get(&(*kind, "answered".to_owned()));
            assert!(answered.is_some(), "{kind}: some calls are answered");
        }
        for (kind, how) in ended.keys() {
            let known = matches!(&**how, "answered" | "cancelled") || DOCUMENTED.contains(&&**how);
            assert!(known, "{kind} ended in a way that nobody documented: {how}");
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for ((kind, how), count) in self.ended.lock().unwrap().iter() {
            writeln!(f, "{count:8} {kind} {how}")?;
        }
        for (kind, took) in self.answered.lock().unwrap().iter() {
            let mut took = took.clone();
            took.sort();
            let at = |percent: usize| took[(took.len() - 1) * percent / 100];
            writeln!(f, "{kind}: p50 {:?}, p99 {:?}", at(50), at(99))?;
        }
        Ok(())
    }
}

/// Open descriptors of this process.
pub fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Resident memory of this process.
pub fn resident_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    let number = line.split_whitespace().nth(1).unwrap();
    number.parse().unwrap()
}
