//! `ctx.fileReferences` and the system prompt, answered by plugins.

use crate::abort::{AbortReason, AbortSignal};
use crate::bindings::exports::dsh::ctx::file_references as wit;
use crate::failure::{Failure, codes};
use crate::host::{Host, lacks};
use crate::plugin::{CallError, Plugin};
use std::sync::Arc;

pub use crate::bindings::exports::dsh::ctx::prompt_sections::Section;
pub use wit::{AtToken, Candidate, Kind, LimitedBy, SearchResult};

/// Why a search has no answer.
#[derive(Clone, Debug, PartialEq)]
pub enum SearchError {
    /// The caller's signal was set; this is its reason, as it was given.
    Aborted(AbortReason),
    /// Anything else.
    Failed(Failure),
}

impl SearchError {
    /// The error as one that can be shown.
    pub fn into_failure(self) -> Failure {
        match self {
            Self::Aborted(reason) => reason.into_failure(),
            Self::Failed(failure) => failure,
        }
    }
}

impl From<CallError> for SearchError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Aborted(reason) => Self::Aborted(reason),
            CallError::Failed(failure) => Self::Failed(failure),
        }
    }
}

impl From<Failure> for SearchError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Host {
    /// `ctx.fileReferences.list`: ranked candidates for the text after `@` or `@"`.
    ///
    /// # Errors
    /// The signal was set, no mounted plugin offers completion, or the plugin failed.
    pub async fn list_file_references(
        &self,
        agent: &str,
        query: &str,
        signal: &AbortSignal,
    ) -> Result<Vec<Candidate>, SearchError> {
        let (agent, query) = (agent.to_owned(), query.to_owned());
        self.search_with(signal, move |files, access, signal| {
            Box::pin(async move { files.call_list(access, agent, query, signal).await })
        })
        .await
    }

    /// The same with suggestions, and with how much was seen.
    ///
    /// # Errors
    /// As [`Host::list_file_references`].
    pub async fn search_file_references(
        &self,
        agent: &str,
        query: &str,
        signal: &AbortSignal,
    ) -> Result<SearchResult, SearchError> {
        let (agent, query) = (agent.to_owned(), query.to_owned());
        self.search_with(signal, move |files, access, signal| {
            Box::pin(async move { files.call_search(access, agent, query, signal).await })
        })
        .await
    }

    /// The mention that ends at the cursor, given in UTF-16 code units.
    ///
    /// # Errors
    /// No mounted plugin offers completion, or the plugin failed.
    pub async fn active_at_token(
        &self,
        line: &str,
        cursor: u32,
    ) -> Result<Option<AtToken>, Failure> {
        let line = line.to_owned();
        let plugin = self.completion()?;
        let token = plugin.call(None, move |access, exports| {
            Box::pin(async move {
                match &exports.files {
                    Some(files) => files
                        .call_active_at_token(access, line, cursor)
                        .await
                        .map(Some),
                    None => Ok(None),
                }
            })
        });
        token.await?.ok_or_else(|| lacks(plugin.id(), "completion"))
    }

    /// The text to insert for a candidate; none when the path cannot be written as a mention.
    ///
    /// # Errors
    /// As [`Host::active_at_token`].
    pub async fn format_file_mention(
        &self,
        candidate: Candidate,
        preserve_quote: bool,
    ) -> Result<Option<String>, Failure> {
        let plugin = self.completion()?;
        let text = plugin.call(None, move |access, exports| {
            Box::pin(async move {
                match &exports.files {
                    Some(files) => files
                        .call_format_file_mention(access, candidate, preserve_quote)
                        .await
                        .map(Some),
                    None => Ok(None),
                }
            })
        });
        text.await?.ok_or_else(|| lacks(plugin.id(), "completion"))
    }

    /// The system prompt that plugins contribute for an agent: its sections joined by a blank line.
    pub async fn prompt(&self, agent: &str) -> String {
        let sections = self.prompt_sections(agent).await;
        let texts: Vec<String> = sections.into_iter().map(|section| section.text).collect();
        texts.join("\n\n")
    }

    /// The sections that plugins contribute to the system prompt of an agent, ordered by number, then by name. A plugin that fails contributes
    /// nothing and is logged.
    pub async fn prompt_sections(&self, agent: &str) -> Vec<Section> {
        let mut sections = Vec::new();
        for (row, plugin) in self.active() {
            if !plugin.component().provides_prompt() {
                continue;
            }
            let agent = agent.to_owned();
            let given = plugin.call(None, move |access, exports| {
                Box::pin(async move {
                    match &exports.prompt {
                        Some(prompt) => prompt.call_sections(access, agent).await,
                        None => Ok(Vec::new()),
                    }
                })
            });
            match given.await {
                Ok(given) => {
                    sections.extend(given.into_iter().filter(|section| !section.text.is_empty()))
                }
                Err(failure) => self.log_warning(&row, &format!("no prompt section: {failure}")),
            }
        }
        sections.sort_by(|a, b| (a.order, &a.name).cmp(&(b.order, &b.name)));
        sections
    }

    fn completion(&self) -> Result<Arc<Plugin>, Failure> {
        let active = self.active();
        let found = active
            .into_iter()
            .map(|(_, plugin)| plugin)
            .find(|plugin| plugin.component().provides_file_references());
        found.ok_or_else(|| {
            Failure::host(
                codes::PLUGIN_LACKS_EXPORT,
                "no mounted plugin provides fileReferences",
            )
        })
    }

    async fn search_with<R, F>(&self, signal: &AbortSignal, search: F) -> Result<R, SearchError>
    where
        R: Send + 'static,
        F: for<'a> FnOnce(
                &'a wit::Guest,
                &'a crate::instance::Access,
                wasmtime::component::Resource<AbortSignal>,
            ) -> futures::future::BoxFuture<
                'a,
                wasmtime::Result<Result<R, wit::SearchError>>,
            > + Send
            + 'static,
    {
        let plugin = self.completion()?;
        let given = signal.clone();
        let answer = plugin.call(Some(signal), move |access, exports| {
            Box::pin(async move {
                let Some(files) = &exports.files else {
                    return Ok(None);
                };
                let signal = access.with(|mut access| access.data_mut().table.push(given))?;
                search(files, access, signal).await.map(Some)
            })
        });
        match answer
            .await?
            .ok_or_else(|| lacks(plugin.id(), "completion"))?
        {
            Ok(result) => Ok(result),
            Err(wit::SearchError::Failed(failure)) => Err(SearchError::Failed(failure.into())),
            Err(wit::SearchError::Aborted) => match signal.reason() {
                Some(reason) => Err(SearchError::Aborted(reason)),
                None => {
                    let message = "the search reports an abort, but nobody aborted it";
                    Err(SearchError::Failed(Failure::host(
                        codes::INVALID_TOOL_OUTPUT,
                        message,
                    )))
                }
            },
        }
    }
}
