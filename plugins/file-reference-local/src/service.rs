//! `ctx.fileReferences` for all agents, and their coming and going (SPEC 3 to 6).

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::config::Config;
use crate::search::{Answer, Search, SearchError, Signal, Spawn};
use crate::top::Candidate;
use crate::workspace::Workspace;

/// The event after which files may have changed.
const TOOL_RESULT: &str = "tool/result";

/// The searches of all agents that are announced and not disposed of.
pub struct Service<W> {
    config: Rc<Config>,
    spawn: Spawn,
    agents: RefCell<HashMap<String, Rc<Search<W>>>>,
}

impl<W: Workspace + 'static> Service<W> {
    /// A service without agents.
    pub fn new(config: Config, spawn: Spawn) -> Self {
        Self {
            config: Rc::new(config),
            spawn,
            agents: RefCell::default(),
        }
    }

    /// Takes in an agent. A repeated announcement changes nothing.
    pub fn agent_created(&self, agent: String, workspace: W) {
        self.agents
            .borrow_mut()
            .entry(agent)
            .or_insert_with(|| Rc::new(Search::new(self.config.clone(), workspace, self.spawn)));
    }

    /// Lets go of an agent. A repeated or unknown one is harmless.
    pub fn agent_disposed(&self, agent: &str) {
        if let Some(search) = self.agents.borrow_mut().remove(agent) {
            search.dispose();
        }
    }

    /// Takes note of an event in the session of an agent, if any owns it.
    pub fn session_event(&self, agent: Option<&str>, event_type: &str) {
        if event_type == TOOL_RESULT
            && let Some(search) = agent.and_then(|agent| self.search_of(agent))
        {
            search.invalidate();
        }
    }

    /// Lets go of all agents.
    pub fn dispose(&self) {
        for (_, search) in self.agents.borrow_mut().drain() {
            search.dispose();
        }
    }

    /// Whether the agent is announced and not disposed of.
    pub fn knows(&self, agent: &str) -> bool {
        self.agents.borrow().contains_key(agent)
    }

    /// The candidates for a query, or near misses where the configuration asks for them.
    ///
    /// # Errors
    /// As [`Search::answer`].
    pub async fn list(
        &self,
        agent: &str,
        query: &str,
        signal: &impl Signal,
    ) -> Result<Vec<Candidate>, SearchError> {
        let answer = self
            .answer(agent, query, self.config.typo_tolerance, signal)
            .await?;
        // There are suggestions only where there is no candidate.
        Ok(if answer.candidates.is_empty() {
            answer.suggestions
        } else {
            answer.candidates
        })
    }

    /// Everything about a query.
    ///
    /// # Errors
    /// As [`Search::answer`].
    pub async fn search(
        &self,
        agent: &str,
        query: &str,
        signal: &impl Signal,
    ) -> Result<Answer, SearchError> {
        self.answer(agent, query, true, signal).await
    }

    async fn answer(
        &self,
        agent: &str,
        query: &str,
        suggestions: bool,
        signal: &impl Signal,
    ) -> Result<Answer, SearchError> {
        match self.search_of(agent) {
            Some(search) => search.answer(query, suggestions, signal).await,
            None if signal.aborted().is_some() => Err(SearchError::Aborted),
            None => Ok(Answer::default()),
        }
    }

    fn search_of(&self, agent: &str) -> Option<Rc<Search<W>>> {
        self.agents.borrow().get(agent).cloned()
    }
}
