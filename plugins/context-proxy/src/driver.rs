//! Runs one call of a tool from arguments to answer, over whatever stands behind the service traits.

use crate::arguments::Arguments;
use crate::config::Config;
use crate::definitions::{self, Tool};
use crate::errors::{CallError, ToolError};
use crate::grep_spill::SearchFailure;
use crate::output::MAX_TEXT_BYTES;
use crate::rg_run::{Search, race};
use crate::services::{Access, Caller, Services, SessionQuery, Signal, Spill, Subprocess};
use crate::{grep, grep_session, query, slice};

/// Runs a call; the answer is one compact JSON value.
///
/// The order of the checks is that of SPEC 6.3. Services are looked up anew by every call. A call that is aborted starts nothing more, and settles when everything it started has ended.
pub async fn execute<Q, S, P, A>(
    name: &str,
    arguments: &str,
    config: Config,
    caller: &Caller,
    services: &Services<'_, Q, S, P, A>,
) -> Result<String, CallError>
where
    Q: SessionQuery,
    S: Spill,
    P: Subprocess,
    A: Signal,
{
    if services.signal.aborted() {
        return Err(CallError::Aborted);
    }
    let Some(tool) = Tool::from_name(name) else {
        return Err(ToolError::UnknownTool(name.to_owned()).into());
    };
    let arguments = Arguments::parse(arguments, definitions::parameters(tool))?;
    let call = Call {
        arguments,
        config,
        caller,
        services,
    };
    let answer = match tool {
        Tool::Query => call.query().await,
        Tool::Slice => call.slice().await,
        Tool::Grep => call.grep().await,
    };
    // An abort that came too late to stop anything still wins: the caller has turned away.
    if services.signal.aborted() {
        return Err(CallError::Aborted);
    }
    answer
}

struct Call<'a, Q, S, P, A> {
    arguments: Arguments,
    config: Config,
    caller: &'a Caller,
    services: &'a Services<'a, Q, S, P, A>,
}

impl<Q: SessionQuery, S: Spill, P: Subprocess, A: Signal> Call<'_, Q, S, P, A> {
    async fn query(&self) -> Result<String, CallError> {
        self.needs_session_query()?;
        self.needs_session()?;
        let request = query::request(&self.arguments, self.caller.current_step)?;
        let page = self.filter_events(request).await?;
        Ok(query::answer(page).to_json())
    }

    async fn slice(&self) -> Result<String, CallError> {
        self.needs_session_query()?;
        self.needs_session()?;
        let request = slice::request(&self.arguments, self.config.read_window_default)?;
        let service = self.services.session_query;
        let read = service.read_event(
            request.seq,
            request.before,
            request.after,
            MAX_TEXT_BYTES as u32,
        );
        let window = race(self.services.signal, read)
            .await?
            .map_err(ToolError::from)?;
        Ok(slice::answer(&window))
    }

    async fn grep(&self) -> Result<String, CallError> {
        if self.arguments.text("path").is_none() {
            self.needs_session_query()?;
        }
        self.needs_session()?;
        let request = grep::request(&self.arguments)?;
        let Some(path) = request.path else {
            return self.scan_session(request, false).await;
        };
        let judged = race(self.services.signal, self.services.spill.authorize(path)).await?;
        let granted = match judged {
            Ok(Access::Granted(granted)) => granted,
            Ok(Access::Vanished) => return self.scan_session(request, true).await,
            Ok(Access::Denied) => return Err(ToolError::PathDenied.into()),
            Err(failure) => {
                let reason = SearchFailure::NotStarted(failure.message);
                return Err(ToolError::Search(reason).into());
            }
        };
        if !self.services.subprocess.available() {
            return Err(ToolError::NoSubprocess.into());
        }
        let search = Search {
            request,
            shown_path: path,
            granted_path: &granted,
            cwd: self.caller.cwd.as_deref().unwrap_or("/"),
            config: self.config,
        };
        let matches = search
            .run(self.services.subprocess, self.services.signal)
            .await?;
        Ok(matches.to_json())
    }

    async fn scan_session(
        &self,
        request: grep::Request<'_>,
        vanished: bool,
    ) -> Result<String, CallError> {
        self.needs_session_query()?;
        let current_step = self.caller.current_step;
        let query = grep_session::request(request.pattern, request.limit, current_step)?;
        let page = self.filter_events(query).await?;
        Ok(grep_session::answer(page, vanished).to_json())
    }

    async fn filter_events(
        &self,
        request: query::Request,
    ) -> Result<crate::services::Page, CallError> {
        let service = self.services.session_query;
        let answer = service.filter_events(request.filters, request.limits);
        let page = race(self.services.signal, answer).await?;
        Ok(page.map_err(ToolError::from)?)
    }

    fn needs_session_query(&self) -> Result<(), ToolError> {
        if self.services.session_query.available() {
            Ok(())
        } else {
            Err(ToolError::NoSessionQuery)
        }
    }

    fn needs_session(&self) -> Result<(), ToolError> {
        if self.caller.has_session {
            Ok(())
        } else {
            Err(ToolError::NoSession)
        }
    }
}
