//! The component: the service behind the interfaces of the world `file-reference-local`.

use std::cell::RefCell;
use std::rc::Rc;

use crate::builder::LimitedBy;
use crate::config::{Config, IgnoredFiles, SCHEMA};
use crate::grammar;
use crate::prompt;
use crate::search::{AbortReason, SearchError, Signal};
use crate::service::Service;
use crate::top;
use crate::workspace::{Batch, Kind, ListError, Listing, Outcome, Workspace};

#[allow(unsafe_code, missing_docs, clippy::all)]
mod bindings {
    wit_bindgen::generate!({
        world: "file-reference-local",
        path: "../../wit",
    });
    use super::Component;
    export!(Component);
}

use bindings::dsh::ctx::abort;
use bindings::dsh::ctx::logger::{self, Level};
use bindings::dsh::ctx::types::Failure;
use bindings::dsh::ctx::{tools, workspace};
use bindings::exports::dsh::ctx::{agent_events, file_references, lifecycle, prompt_sections};

struct Component;

/// A mounted plugin.
struct Mounted {
    service: Service<Lent>,
    options: Rc<ListingRules>,
}

thread_local! {
    static MOUNTED: RefCell<Option<Rc<Mounted>>> = const { RefCell::new(None) };
}

fn mounted() -> Option<Rc<Mounted>> {
    MOUNTED.with_borrow(Clone::clone)
}

impl lifecycle::Guest for Component {
    fn describe() -> lifecycle::Manifest {
        lifecycle::Manifest {
            name: "dsh-file-reference-local".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            summary: env!("CARGO_PKG_DESCRIPTION").to_owned(),
            required: Vec::new(),
            optional: vec!["tools".to_owned()],
            config_schema: SCHEMA.to_owned(),
        }
    }

    async fn apply(config: String) -> Result<(), Failure> {
        let (config, warnings) = Config::parse(&config).map_err(failure)?;
        for warning in warnings {
            logger::log(Level::Warn, &warning);
        }
        let options = Rc::new(ListingRules::new(&config));
        let service = Service::new(config, |task| drop(wit_bindgen::spawn_local(task)));
        MOUNTED.set(Some(Rc::new(Mounted { service, options })));
        Ok(())
    }

    async fn dispose() -> Result<(), Failure> {
        if let Some(mounted) = MOUNTED.take() {
            mounted.service.dispose();
        }
        Ok(())
    }
}

impl agent_events::Guest for Component {
    fn agent_created(agent: String, directory: workspace::Directory) {
        if let Some(mounted) = mounted() {
            let rules = mounted.options.clone();
            mounted
                .service
                .agent_created(agent, Lent { directory, rules });
        }
    }

    fn agent_disposed(agent: String) {
        if let Some(mounted) = mounted() {
            mounted.service.agent_disposed(&agent);
        }
    }

    fn session_event(agent: Option<String>, event_type: String) {
        if let Some(mounted) = mounted() {
            mounted.service.session_event(agent.as_deref(), &event_type);
        }
    }
}

impl prompt_sections::Guest for Component {
    fn sections(agent: String) -> Vec<prompt_sections::Section> {
        let known = mounted().is_some_and(|mounted| mounted.service.knows(&agent));
        if !known || !tools::visible(prompt::TOOL, &agent) {
            return Vec::new();
        }
        vec![prompt_sections::Section {
            name: prompt::NAME.to_owned(),
            order: prompt::ORDER,
            text: prompt::TEXT.to_owned(),
        }]
    }
}

impl file_references::Guest for Component {
    async fn list(
        agent: String,
        query: String,
        signal: abort::AbortSignal,
    ) -> Result<Vec<file_references::Candidate>, file_references::SearchError> {
        let Some(mounted) = mounted() else {
            return Ok(Vec::new());
        };
        let found = mounted.service.list(&agent, &query, &signal).await?;
        Ok(candidates(found))
    }

    async fn search(
        agent: String,
        query: String,
        signal: abort::AbortSignal,
    ) -> Result<file_references::SearchResult, file_references::SearchError> {
        let answer = match mounted() {
            Some(mounted) => mounted.service.search(&agent, &query, &signal).await?,
            None => Default::default(),
        };
        Ok(file_references::SearchResult {
            candidates: candidates(answer.candidates),
            suggestions: candidates(answer.suggestions),
            indexed: answer.indexed,
            complete: answer.limited_by == LimitedBy::None,
            limited_by: match answer.limited_by {
                LimitedBy::None => file_references::LimitedBy::None,
                LimitedBy::MaxEntries => file_references::LimitedBy::MaxEntries,
                LimitedBy::Unreadable(count) => file_references::LimitedBy::Unreadable(count),
            },
        })
    }

    fn active_at_token(line: String, cursor: u32) -> Option<file_references::AtToken> {
        let token = grammar::active_at_token(&line, cursor as usize)?;
        Some(file_references::AtToken {
            prefix: token.prefix,
            query: token.query,
            quoted: token.quoted,
            split_surrogate: token.split_surrogate,
        })
    }

    fn format_file_mention(
        candidate: file_references::Candidate,
        preserve_quote: bool,
    ) -> Option<String> {
        let kind = match candidate.kind {
            file_references::Kind::File => Kind::File,
            file_references::Kind::Directory => Kind::Directory,
        };
        grammar::format_file_mention(&candidate.path, kind, preserve_quote)
    }
}

fn candidates(found: Vec<top::Candidate>) -> Vec<file_references::Candidate> {
    let candidate = |found: top::Candidate| file_references::Candidate {
        path: found.path,
        kind: match found.kind {
            Kind::File => file_references::Kind::File,
            Kind::Directory => file_references::Kind::Directory,
        },
    };
    found.into_iter().map(candidate).collect()
}

fn failure(error: impl std::fmt::Display) -> Failure {
    Failure {
        name: None,
        code: None,
        message: error.to_string(),
    }
}

impl From<SearchError> for file_references::SearchError {
    fn from(error: SearchError) -> Self {
        match error {
            SearchError::Aborted => Self::Aborted,
            SearchError::AbortedByValue | SearchError::Invalidated => Self::Failed(failure(error)),
        }
    }
}

/// What the configuration asks of every listing.
struct ListingRules {
    exclude_directories: Vec<String>,
    mark_ignored: bool,
    hide_ignored: bool,
}

impl ListingRules {
    fn new(config: &Config) -> Self {
        Self {
            exclude_directories: config.excluded_directories.clone(),
            mark_ignored: config.ignored_files != IgnoredFiles::Show,
            hide_ignored: config.ignored_files == IgnoredFiles::Hide,
        }
    }
}

/// The directory of an agent, lent by the host until it is dropped.
struct Lent {
    directory: workspace::Directory,
    rules: Rc<ListingRules>,
}

impl Workspace for Lent {
    fn path(&self) -> String {
        self.directory.path()
    }

    async fn list(&self, batch: Batch) -> Vec<Outcome> {
        let options = workspace::Options {
            exclude_directories: self.rules.exclude_directories.clone(),
            limit: batch.limit,
            mark_ignored: self.rules.mark_ignored,
            hide_ignored: self.rules.hide_ignored,
        };
        let outcomes = self.directory.list(batch.paths, options).await;
        outcomes.into_iter().map(Outcome::from).collect()
    }
}

impl From<workspace::Outcome> for Outcome {
    fn from(outcome: workspace::Outcome) -> Self {
        match outcome {
            workspace::Outcome::Listed(listing) => Self::Listed(Listing {
                names: listing.names,
                kinds: listing.kinds.into_iter().map(Kind::from).collect(),
                ignored: listing.ignored,
                omitted: listing.omitted,
            }),
            workspace::Outcome::Failed(error) => Self::Failed(match error {
                workspace::ListError::NotFound => ListError::NotFound,
                workspace::ListError::NotDirectory => ListError::NotDirectory,
                workspace::ListError::Denied => ListError::Denied,
                workspace::ListError::InvalidPath => ListError::InvalidPath,
                workspace::ListError::Io => ListError::Io,
            }),
            workspace::Outcome::Skipped => Self::Skipped,
        }
    }
}

impl From<workspace::EntryKind> for Kind {
    fn from(kind: workspace::EntryKind) -> Self {
        match kind {
            workspace::EntryKind::File => Self::File,
            workspace::EntryKind::Directory => Self::Directory,
        }
    }
}

impl Signal for abort::AbortSignal {
    fn aborted(&self) -> Option<AbortReason> {
        abort::AbortSignal::aborted(self)
            .as_ref()
            .map(AbortReason::from)
    }

    async fn wait(&self) -> AbortReason {
        AbortReason::from(&abort::AbortSignal::wait(self).await)
    }
}

impl From<&abort::AbortReason> for AbortReason {
    fn from(reason: &abort::AbortReason) -> Self {
        match reason {
            abort::AbortReason::CallerValue(_) => Self::Value,
            abort::AbortReason::CallerError(_)
            | abort::AbortReason::Timeout(_)
            | abort::AbortReason::Disposed => Self::Error,
        }
    }
}
