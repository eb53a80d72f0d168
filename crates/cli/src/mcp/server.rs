//! What a client may ask for: the list of tools, a call, and permission for a call of its own.

use super::channel::CalledOff;
use super::identity::Identity;
use super::offer::{self, Waiting, tool};
use super::told::{self, Told};
use super::{Approve, Options, approve};
use countersign_approvals::ports::Ports;
use countersign_companion::control::{self, ControlError};
use countersign_core::paths::Paths;
use countersign_protocol::control::{ControlRequest, ControlResponse};
use countersign_protocol::session_events::SessionEvent;
use countersign_protocol::tools::{Permission, ToolCall, ToolCaller, ToolFailure, ToolOutput, ToolView};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation,
    JsonObject, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc};

/// Serves one client, or one request of a client that keeps no session.
pub(super) struct Server {
    shared: Arc<Shared>,
    /// Its session, unless the command line names one.
    session: String,
    told: Told,
    waiting: Waiting,
}

/// What all clients of this process share.
pub(super) struct Shared {
    control: PathBuf,
    identity: Identity,
    approval_timeout_ms: Option<u64>,
    approve: Approve,
    known_as: Option<String>,
    ports: Ports,
    calls: Semaphore,
    lists: Semaphore,
}

impl Shared {
    pub(super) fn new(paths: &Paths, options: Options, ports: Ports) -> Self {
        let Options { identity, approval_timeout, approve, known_as } = options;
        Self {
            control: paths.control_socket(),
            identity,
            approval_timeout_ms: approval_timeout
                .map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
            approve,
            known_as,
            ports,
            calls: Semaphore::new(CALLS),
            lists: Semaphore::new(LISTS),
        }
    }
}

/// Why the app said nothing.
#[derive(Debug, thiserror::Error)]
enum Unanswered {
    #[error("It was called off.")]
    CalledOff,
    #[error("{CALLS} calls are under way already: wait for one of them to end.")]
    Busy,
    #[error(
        "The Countersign app is not running, so nobody can be asked and nothing is done. Start it from the applications menu \
         or with `countersign-desktop`, then try again."
    )]
    NotRunning,
    #[error("The Countersign app gave no answer that counts: {0}")]
    Broken(String),
}

impl From<ControlError> for Unanswered {
    fn from(error: ControlError) -> Self {
        match error {
            ControlError::NotRunning => Self::NotRunning,
            ControlError::Unreachable(why) => Self::Broken(why.to_string()),
            ControlError::Broken(source) => Self::Broken(source.to_string()),
        }
    }
}

impl Server {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let session = shared.ports.ids.uuid();
        Self { shared, session, told: Told::default(), waiting: Waiting::default() }
    }

    fn caller(&self, context: &RequestContext<RoleServer>) -> ToolCaller {
        self.shared.identity.caller(context.client_info().as_ref(), &self.session)
    }

    fn offers_approve(&self, context: &RequestContext<RoleServer>) -> bool {
        match self.shared.approve {
            Approve::Offered => true,
            Approve::Withheld => false,
            Approve::WhereUsed => {
                context.client_info().is_some_and(|client| client.name.to_lowercase().starts_with(CLAUDE))
            }
        }
    }

    fn tool_call(
        &self,
        tool: &str,
        params: Map<String, Value>,
        context: &RequestContext<RoleServer>,
    ) -> Box<ToolCall> {
        Box::new(ToolCall {
            id: self.shared.ports.ids.uuid(),
            tool: tool.to_owned(),
            params,
            caller: self.caller(context),
            approval_timeout_ms: self.shared.approval_timeout_ms,
            takes_command: false,
            is_quiet: false,
        })
    }

    /// Has the app do it, for as long as it takes. Dropping the future closes the connection to it, which
    /// calls it off there.
    async fn follow(
        &self,
        request: ControlRequest,
        context: &RequestContext<RoleServer>,
    ) -> Result<ControlResponse, Unanswered> {
        let _place = self.shared.calls.try_acquire().map_err(|_| Unanswered::Busy)?;
        let (reports, queue) = mpsc::channel(PROGRESS_REPORTS);
        let following = control::follow(&self.shared.control, &request, move |text| {
            // Full or gone, a report is dropped: it is no result.
            let _ = reports.try_send(text);
        });
        let answered = async { tokio::join!(following, tell(context, queue)).0 };
        tokio::select! {
            // First, as an answer that comes together with it counts for nothing.
            biased;
            () = gone(context) => Err(Unanswered::CalledOff),
            answer = answered => Ok(answer?),
        }
    }

    async fn tools(&self, context: &RequestContext<RoleServer>) -> Result<Vec<ToolView>, Unanswered> {
        let request = ControlRequest::Tools { caller: self.caller(context) };
        let asking = async {
            let _place = self.shared.lists.acquire().await;
            control::call(&self.shared.control, &request, LIST_WAIT).await
        };
        let answer = tokio::select! {
            biased;
            () = gone(context) => return Err(Unanswered::CalledOff),
            answer = asking => answer?,
        };
        match answer {
            ControlResponse::Tools { tools, .. } => Ok(tools),
            ControlResponse::Error { message } => Err(Unanswered::Broken(message)),
            _ => Err(Unanswered::Broken(ANOTHER.to_owned())),
        }
    }

    async fn call(
        &self,
        name: &str,
        params: Map<String, Value>,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let request = ControlRequest::CallTool { call: self.tool_call(name, params, context) };
        let answer = self.follow(request, context).await;
        let (failure, message) = match answer {
            Ok(ControlResponse::Called { output: Some(output), failure: None, .. }) => {
                self.follow_runs(&output, context);
                return Ok(brought(output));
            }
            Ok(ControlResponse::Called { failure: Some(ToolFailure::NotFound), .. }) => {
                return Err(ErrorData::invalid_params(format!("Unknown tool: {name}"), None));
            }
            Ok(ControlResponse::Called { failure: Some(failure), message, .. }) => (failure, message),
            Ok(ControlResponse::Error { message }) => (ToolFailure::Failed, message),
            Ok(_) => (ToolFailure::Failed, Unanswered::Broken(ANOTHER.to_owned()).to_string()),
            Err(unanswered) => (ToolFailure::Failed, unanswered.to_string()),
        };
        let message = if message.trim().is_empty() { words(failure).to_owned() } else { message };
        Ok(CallToolResult::error(vec![ContentBlock::text(message)]))
    }

    /// Has the client told of what goes on without its call.
    fn follow_runs(&self, output: &ToolOutput, context: &RequestContext<RoleServer>) {
        let goes_on = output.details.as_ref().is_some_and(|details| details["status"] == "running");
        if let Some(session) = self.caller(context).session.filter(|_| goes_on) {
            self.told.look(self.shared.control.clone(), session, context.peer.clone());
        }
    }

    /// Whether a client asks about a tool of this very server: the app asks about its calls, and once is
    /// enough. In one client there is one server of a name, and only the settings that started this one say
    /// which is its own.
    async fn is_of_this_server(&self, tool: &str, context: &RequestContext<RoleServer>) -> bool {
        let Some(name) = &self.shared.known_as else { return false };
        let Some(own) = tool.strip_prefix(&format!("mcp__{name}__")) else { return false };
        self.tools(context).await.is_ok_and(|tools| tools.iter().any(|view| view.name == own))
    }

    async fn permit(
        &self,
        arguments: Option<JsonObject>,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResult {
        let question = match approve::question(arguments) {
            Ok(question) => question,
            Err(malformed) => return approve::denied(&malformed.to_string()),
        };
        if self.is_of_this_server(&question.tool, context).await {
            return approve::allowed(&question.input);
        }
        let call = self.tool_call(&question.tool, question.input.clone(), context);
        match self.follow(ControlRequest::PermitTool { call, takes_events: false }, context).await {
            Ok(ControlResponse::Permitted { permission: Permission::Allow, .. }) => {
                approve::allowed(&question.input)
            }
            Ok(ControlResponse::Permitted { permission: Permission::Deny { message, failure }, .. }) => {
                let message = if message.trim().is_empty() { words(failure) } else { &message };
                approve::denied(message)
            }
            Ok(ControlResponse::Error { message }) => approve::denied(&message),
            Ok(_) => approve::denied(&Unanswered::Broken(ANOTHER.to_owned()).to_string()),
            Err(unanswered) => approve::denied(&unanswered.to_string()),
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(told::capabilities())
            .with_server_info(Implementation::new("countersign", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn set_level(
        &self,
        request: told::WantedLevel,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.told.set_level(&request);
        Ok(())
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if let Some(cursor) = request.and_then(|request| request.cursor) {
            let text = format!("cursor: expected none, as there is one page only, got {cursor:?}");
            return Err(ErrorData::invalid_params(text, None));
        }
        let views = match self.tools(&context).await {
            Ok(views) => views,
            // Many agents ask once, when they start: what they call before the app is there says
            // how to start it.
            Err(Unanswered::NotRunning) => {
                let caller = self.caller(&context);
                self.waiting.start(self.shared.control.clone(), caller, context.peer.clone());
                offer::without_app()
            }
            Err(unanswered) => return Err(ErrorData::internal_error(unanswered.to_string(), None)),
        };
        let offered = self.offers_approve(&context);
        let own = offered.then(approve::tool);
        let others = views.into_iter().filter(|view| !offered || view.name != approve::NAME).map(tool);
        Ok(ListToolsResult::with_all_items(others.chain(own).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let CallToolRequestParams { name, arguments, .. } = request;
        if self.offers_approve(&context) && name == approve::NAME {
            return Ok(self.permit(arguments, &context).await.into());
        }
        self.call(&name, arguments.unwrap_or_default(), &context).await.map(Into::into)
    }
}

/// Waits until nobody waits for the answer any more.
async fn gone(context: &RequestContext<RoleServer>) {
    match context.extensions.get::<CalledOff>() {
        Some(CalledOff(token)) => tokio::select! {
            () = token.cancelled() => {}
            () = context.ct.cancelled() => {}
        },
        None => context.ct.cancelled().await,
    }
}

/// Hands reports on until there are no more, if the client wants them.
async fn tell(context: &RequestContext<RoleServer>, mut queue: mpsc::Receiver<String>) {
    let Some(token) = context.meta.get_progress_token() else { return };
    let mut count = 0_u32;
    while let Some(text) = queue.recv().await {
        count = count.saturating_add(1);
        let report = ProgressNotificationParam::new(token.clone(), f64::from(count)).with_message(text);
        if context.peer.notify_progress(report).await.is_err() {
            return;
        }
    }
}

/// What a call brought. Programs that get data show their model only that (Claude Code and Codex do), so the
/// text is in there too.
fn brought(output: ToolOutput) -> CallToolResult {
    let ToolOutput { text, details, events } = output;
    let lines: Vec<String> = events.iter().map(SessionEvent::line).collect();
    let content = [text.clone()].into_iter().chain(lines.iter().cloned()).map(ContentBlock::text);
    let mut result = CallToolResult::success(content.collect());
    if let Some(Value::Object(mut details)) = details {
        details.entry("text").or_insert(Value::String(text));
        if !lines.is_empty() {
            details.entry("events").or_insert(lines.into());
        }
        result.structured_content = Some(Value::Object(details));
    }
    result
}

/// For a failure without words of its own.
fn words(failure: ToolFailure) -> &'static str {
    match failure {
        ToolFailure::Aborted => "It was called off.",
        ToolFailure::Denied => "It is not allowed.",
        ToolFailure::Expired => "Nobody answered in time, so it is not allowed.",
        ToolFailure::Failed => "It failed.",
        ToolFailure::Invalid => "Its parameters make no sense.",
        ToolFailure::NotFound => "There is no such tool.",
    }
}

/// What the clients call themselves that have a permission prompt.
const CLAUDE: &str = "claude";

/// Said of an answer to something that was not asked.
const ANOTHER: &str = "expected the answer to this request, got another one";

const INSTRUCTIONS: &str = "\
These tools work on the user's machine. What the user's rules do not cover is shown to the user first, who may take minutes to \
answer and may say no; do not try to get around a no.";

/// Calls under way at once, those of all clients of this process together: a part of those that the app
/// takes, so that there is always room to look and to deny.
pub(super) const CALLS: usize = 64;

/// Lists asked for at once; others wait for a moment.
const LISTS: usize = 4;

/// How long the app may take to say which tools there are: it looks nothing up elsewhere.
const LIST_WAIT: Duration = Duration::from_secs(10);

/// Reports of a call that wait for its client; more are dropped.
pub(super) const PROGRESS_REPORTS: usize = 16;
