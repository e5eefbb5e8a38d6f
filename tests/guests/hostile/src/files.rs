//! Completion whose query is what to do.

use crate::Component;
use crate::bindings::dsh::ctx::abort::AbortSignal;
use crate::bindings::exports::dsh::ctx::file_references::{
    self, AtToken, Candidate, Kind, LimitedBy, SearchError, SearchResult,
};
use crate::misdeeds::{commit, commit_async};

impl file_references::Guest for Component {
    async fn list(
        agent: String,
        query: String,
        signal: AbortSignal,
    ) -> Result<Vec<Candidate>, SearchError> {
        match &*query {
            "aborted" => return Err(SearchError::Aborted),
            "wait" => {
                signal.wait().await;
                return Err(SearchError::Aborted);
            }
            misdeed => commit_async(misdeed).await,
        }
        let path = format!("{agent}:{query}");
        Ok(vec![Candidate {
            path,
            kind: Kind::File,
        }])
    }

    async fn search(
        agent: String,
        query: String,
        signal: AbortSignal,
    ) -> Result<SearchResult, SearchError> {
        Ok(SearchResult {
            candidates: Self::list(agent, query, signal).await?,
            suggestions: Vec::new(),
            indexed: 1,
            complete: true,
            limited_by: LimitedBy::None,
        })
    }

    fn active_at_token(line: String, _: u32) -> Option<AtToken> {
        commit(&line);
        None
    }

    fn format_file_mention(candidate: Candidate, _: bool) -> Option<String> {
        commit(&candidate.path);
        Some(candidate.path)
    }
}
