//! The MCP server: tools with schemas and structured answers, cancellation, progress, completion.

use super::completion;
use super::progress::{self, Notes};
use crate::cli::session::AGENT;
use dsh_host::{
    AbortController, AbortReason, AbortSignal, CallRequest, Host, ToolDefinition, ToolResult,
};
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    ContentBlock, CustomRequest, CustomResult, ErrorCode, Implementation,
    ListResourceTemplatesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Serves one client. Which tools there are does not change while it runs, so no list_changed is announced.
pub(super) struct Server {
    host: Host,
    cwd: String,
    notes: Arc<Notes>,
    /// Set when the session is over.
    closing: Arc<AbortController>,
}

impl Server {
    pub(super) fn new(
        host: Host,
        cwd: String,
        notes: Arc<Notes>,
        closing: Arc<AbortController>,
    ) -> Self {
        Self {
            host,
            cwd,
            notes,
            closing,
        }
    }

    /// A signal that is set when the client cancels the request or the session is over. It lives as long as the guard.
    fn signal(&self, context: &RequestContext<RoleServer>) -> (AbortSignal, Watch) {
        let controller = AbortController::new();
        let signal = controller.signal();
        let (cancelled, closing) = (context.ct.clone(), self.closing.signal());
        let watching = tokio::spawn(async move {
            let reason = tokio::select! {
                () = cancelled.cancelled() => AbortReason::unspecified(),
                reason = closing.wait() => reason,
            };
            controller.abort(reason);
        });
        (signal, Watch(watching))
    }
}

/// Ends the watching when dropped.
struct Watch(tokio::task::JoinHandle<()>);

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The requests that are served, and whose parameters can therefore be wrong.
const METHODS: [&str; 7] = [
    "ping",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "completion/complete",
];

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_completions()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(
                Implementation::new("dsh-host", env!("CARGO_PKG_VERSION"))
                    .with_title("DSH components"),
            )
            .with_instructions(format!(
                "Tools of DSH plugins, for the workspace {}. Paths are relative to it.",
                self.cwd
            ))
    }

    /// The SDK takes a request whose parameters do not fit its method for one of an unknown method.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        let (code, message) = if METHODS.contains(&method.as_str()) {
            let message = format!("the parameters of {method} are not what MCP defines for it");
            (ErrorCode::INVALID_PARAMS, message)
        } else {
            (ErrorCode::METHOD_NOT_FOUND, method)
        };
        Err(ErrorData::new(code, message, None))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.host.tools(Some(AGENT));
        Ok(ListToolsResult::with_all_items(
            tools.iter().map(|tool| describe(tool)).collect(),
        ))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let known = self.host.tools(Some(AGENT));
        let Some(definition) = known.iter().find(|tool| tool.name == request.name) else {
            let message = format!("unknown tool \"{}\"", request.name);
            return Err(ErrorData::invalid_params(message, None));
        };
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let (signal, _watch) = self.signal(&context);
        let call = self.host.call(CallRequest {
            call_id: context.id.to_string(),
            agent: Some(AGENT.into()),
            signal,
            ..CallRequest::new(&definition.name, &arguments.to_string())
        });
        let token = context.meta.get_progress_token();
        let title = match &token {
            Some(_) => self.host.present_call(&definition.name, &arguments).await,
            None => None,
        };
        let title = title.map_or_else(|| definition.name.clone(), |card| card.title);
        let result = tokio::select! {
            biased;
            result = call => result,
            never = progress::tell(&context.peer, token, title, &self.notes) => match never {},
        };
        Ok(answer(definition, result).into())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(vec![
            completion::template(),
        ]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let found = completion::read(&self.host, &self.cwd, &request.uri).await;
        found.map(Into::into)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let (signal, _watch) = self.signal(&context);
        let completion = completion::complete(&self.host, &request, &signal).await?;
        Ok(CompleteResult::new(completion))
    }
}

fn describe(tool: &ToolDefinition) -> Tool {
    let mut described = Tool::new_with_raw(
        tool.name.clone(),
        Some(tool.description.clone().into()),
        object(&tool.parameters),
    );
    if is_object(&tool.output_schema) {
        described = described.with_raw_output_schema(Arc::new(object(&tool.output_schema)));
    }
    described
}

/// Only objects are structured content to every version of the protocol; other values are in the text alone.
fn is_object(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("object")
}

fn object(schema: &Value) -> Map<String, Value> {
    schema.as_object().cloned().unwrap_or_default()
}

fn answer(definition: &ToolDefinition, result: ToolResult) -> CallToolResult {
    let text = vec![ContentBlock::text(result.text())];
    match result {
        ToolResult::Success(output) => {
            let mut answer = CallToolResult::success(text);
            if is_object(&definition.output_schema) {
                answer.structured_content = Some(output.value.value());
            }
            answer
        }
        ToolResult::Failure(_) | ToolResult::Cancelled(_) => CallToolResult::error(text),
    }
}
