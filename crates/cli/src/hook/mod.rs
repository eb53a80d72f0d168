//! Hooks of other agents: before an agent calls a tool it starts `countersign hook …`, which reads what the
//! agent says of the call, asks the app, and answers in that agent's own words (docs/hooks.md).
//!
//! Nothing here allows by itself: an allow is the app's, and whatever keeps the app from being asked ends in
//! a denial. The tools that need no question are left to the agent, which is not the same as allowing them.

mod claude_code;
mod codex;
mod copilot;
mod gemini;
mod generic;
mod input;
mod inside;
pub(crate) mod listener;
mod ours;
mod question;
mod qwen;
#[cfg(test)]
mod tests;
mod vscode;
mod who;

pub(crate) use claude_code::ClaudeCode;
pub(crate) use codex::Codex;
pub(crate) use copilot::Copilot;
pub(crate) use gemini::Gemini;
pub(crate) use generic::Generic;
pub(crate) use input::{BadInput, of_stdin};
pub(crate) use qwen::Qwen;
pub(crate) use vscode::VsCode;

pub(crate) use countersign_agents::Event;

use countersign_agents::Agent;
use countersign_approvals::ports::IdSource;
use countersign_policy::calls::tools;
use countersign_protocol::session_events::SessionEvent;
use countersign_protocol::tools::{Permission, ToolCall, ToolCaller, ToolFailure};
use input::{Called, Document};
use question::Unanswered;
use serde_json::{Map, Value};
use std::path::Path;
use std::time::Duration;
use tokio::time::Instant;

/// Whether an agent that has a hook here is known to have a tool of this name, in whatever case.
pub(crate) fn is_known_tool(name: &str) -> bool {
    let contracts: [&dyn Contract; 6] = [&ClaudeCode, &Codex, &Gemini, &Qwen, &Copilot, &VsCode];
    let theirs = contracts.iter().flat_map(|contract| contract.quiet().iter().chain(contract.questions()));
    tools::is_known(name) || theirs.into_iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// How one agent says what it wants to do, and how it wants to be answered.
pub(crate) trait Contract: Sync {
    /// The agent, in the inbox and in rules, where nobody names another.
    fn name(&self) -> &'static str;

    /// The program, as the inbox tells it; `None` where it could be any.
    fn client(&self) -> Option<&'static str>;

    /// How long a person has where nobody says: less than the shortest limit that a release sets for its
    /// hooks by itself. An agent that ends a hook at its limit goes on as if there were none.
    fn patience(&self) -> Duration;

    /// Whether any program may call it, so that nothing is told by what only some agent writes.
    fn is_for_any(&self) -> bool {
        false
    }

    /// Whether the agent runs several hooks one after the other, and tells calls apart by their time alone.
    fn runs_hooks_in_turn(&self) -> bool {
        false
    }

    /// The event that a document is about, as far as it can be told.
    fn event(&self, document: &Document) -> Option<Event>;

    /// What a document says of a call.
    fn read(&self, document: &Document) -> Result<Called, BadInput>;

    /// Whether the agent has an answer that makes it ask the person itself.
    fn can_ask(&self, event: Event) -> bool;

    /// Whether its answer has room for what the agent is to know besides. What is not told there waits
    /// for another way.
    fn takes_context(&self, _event: Event) -> bool {
        false
    }

    /// Whether its answer can have another command in the place of the one that was asked about.
    fn takes_command(&self, _event: Event) -> bool {
        false
    }

    /// Tools that only read what the agent may read, or keep its own notes.
    fn quiet(&self) -> &'static [&'static str];

    /// Tools that are a question to the person already.
    fn questions(&self) -> &'static [&'static str];

    /// The answer in the agent's words.
    fn answer(&self, reply: &Reply<'_>) -> HookAnswer;
}

/// What is answered, and to what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply<'a> {
    /// The event that the agent waits at.
    pub(crate) event: Event,
    /// The agent's id of the call, where it has one to hear again.
    pub(crate) id: Option<&'a str>,
    /// What came of it.
    pub(crate) verdict: &'a Verdict,
    /// What the agent is to know besides; empty where its answer has no room for it.
    pub(crate) context: &'a str,
}

/// What comes of a call.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Verdict {
    /// The app allows it.
    Allow,
    /// The app allows it with these parameters in the place of its own.
    AllowWith(Map<String, Value>),
    /// It must not be.
    Deny(Denial),
    /// The agent asks the person itself; the text says why it has to.
    AskThere(String),
    /// Nothing is said: what the agent does with such a call is its own affair.
    NoOpinion,
}

/// A no.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Denial {
    /// What kind.
    pub(crate) cause: Cause,
    /// Why, for the agent; never blank.
    pub(crate) message: String,
}

/// Why a call is denied.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Cause {
    /// The app is not there.
    Absent,
    /// Policy or a person said no.
    Denied,
    /// Nobody answered in time.
    Expired,
    /// The app gave no answer that means anything.
    Failed,
    /// What the agent said makes no sense.
    Refused,
}

/// What goes back to the agent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct HookAnswer {
    /// One JSON document for standard output.
    pub(crate) document: Option<Value>,
    /// A text for standard error, which agents take as the reason.
    pub(crate) reason: Option<String>,
    /// How the process ends.
    pub(crate) end: End,
}

/// How a hook's process ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum End {
    /// Exit code 0: what is printed counts.
    Printed,
    /// Exit code 2, which agents take as a no whatever is printed.
    Blocked,
    /// One of this program's own exit codes: for agents without a contract of their own.
    Told(Cause),
}

/// Which calls are asked about.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum WhichCalls {
    /// Those of tools that could do harm.
    #[default]
    Risky,
    /// All but those that are questions themselves.
    All,
}

/// What holds when the app is not running.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum WhenAbsent {
    /// A denial.
    #[default]
    Deny,
    /// The agent's own question, where it has one.
    Ask,
}

/// How a hook was started.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Options {
    /// The agent's name in the inbox; what the agent says, or its usual name, where absent.
    pub(crate) agent: Option<String>,
    /// How long all of it may take; [`Contract::patience`] where absent.
    pub(crate) timeout: Option<Duration>,
    /// Which calls are asked about.
    pub(crate) asked: WhichCalls,
    /// What holds when the app is not running.
    pub(crate) when_absent: WhenAbsent,
    /// What it was set up for; any event that the agent has where absent.
    pub(crate) event: Option<Event>,
}

/// Why a call that nobody is asked about is refused where no app runs.
pub(crate) type Alone<'a> = &'a (dyn Fn(&ToolCall) -> Option<String> + Sync);

/// What is told that an agent called its hook.
pub(crate) type Heard<'a> = &'a (dyn Fn(&'static str) + Sync);

/// Takes a call from `input`, which has so long for it, asks the app behind `socket`, and says what the
/// agent is to be told: `contract` is the one that its settings name, and answers unless the call shows that
/// another agent makes it. It ends within the time that the options give, whatever happens. Dropping the
/// future takes the question back. `alone` says why a call that nobody is asked about is refused where no
/// app runs.
pub(crate) async fn answer(
    contract: &dyn Contract,
    options: &Options,
    socket: &Path,
    (alone, heard): (Alone<'_>, Heard<'_>),
    ids: &dyn IdSource,
    input: impl FnOnce(Duration) -> Result<Vec<u8>, BadInput>,
) -> HookAnswer {
    let (began, named) = (Instant::now(), contract);
    let wait = patience(named, options).min(INPUT_WAIT);
    let document = match input(wait).and_then(|bytes| Document::parse(&bytes)) {
        Ok(document) => document,
        Err(error) => return could_not_ask(contract, options.event, Cause::Refused, &error),
    };
    let contract = if named.is_for_any() { named } else { who::calls(&document).unwrap_or(named) };
    heard(contract.name());
    // The name in somebody else's settings is that one's.
    let renamed = Options { agent: None, ..options.clone() };
    let options = if contract.name() == named.name() { options } else { &renamed };
    let until = began + patience(contract, options);
    let called = match contract.read(&document) {
        Ok(called) => called,
        Err(error) => {
            let event = contract.event(&document).or(options.event);
            return could_not_ask(contract, event, Cause::Refused, &error);
        }
    };
    let (verdict, context) = match options.event.filter(|expected| *expected != called.event) {
        Some(expected) => {
            let why = format!("this hook was set up for {expected}, and was called for {}", called.event);
            (Verdict::deny(Cause::Refused, &why), String::new())
        }
        None => verdict((contract, named.name()), options, (socket, alone), ids, &called, until).await,
    };
    let id = called.id.as_deref();
    contract.answer(&Reply { event: called.event, id, verdict: &verdict, context: &context })
}

/// How long all of it may take.
fn patience(contract: &dyn Contract, options: &Options) -> Duration {
    let patience = options.timeout.unwrap_or_else(|| contract.patience());
    // Settings from before that was known say more, and the agent would go on as if nobody had been asked.
    let most = countersign_agents::by_name(contract.name()).and_then(Agent::most_patience);
    most.map_or(patience, |most| patience.min(most))
}

/// The answer when a call could not even be read. An event that nobody knows is taken for the one before a
/// tool: its denial is the one that an exit code alone can say.
pub(crate) fn could_not_ask(
    contract: &dyn Contract,
    event: Option<Event>,
    cause: Cause,
    error: &dyn std::error::Error,
) -> HookAnswer {
    let verdict = Verdict::deny(cause, &error.to_string());
    let event = event.unwrap_or(Event::BeforeTool);
    contract.answer(&Reply { event, id: None, verdict: &verdict, context: "" })
}

async fn verdict(
    (contract, hook): (&dyn Contract, &'static str),
    options: &Options,
    (socket, alone): (&Path, Alone<'_>),
    ids: &dyn IdSource,
    called: &Called,
    until: Instant,
) -> (Verdict, String) {
    if is_a_question(contract, called) || ours::goes_to_our_server(called) {
        return (Verdict::NoOpinion, String::new());
    }
    let mut call = tool_call(contract, options, ids, called);
    call.caller.hook = contract.runs_hooks_in_turn().then(|| hook.to_owned());
    call.takes_command = contract.takes_command(called.event);
    call.is_quiet = is_quiet(contract, options.asked, called);
    let (caller, is_quiet) = (call.caller.clone(), call.is_quiet);
    let quiet = is_quiet.then(|| call.clone());
    let takes_events = contract.takes_context(called.event);
    let answer = match question::ask(socket, call, takes_events, until).await {
        Ok(answer) => answer,
        Err(Unanswered::Absent(_)) if let Some(call) = quiet => {
            let verdict = match alone(&call) {
                Some(why) => Verdict::deny(Cause::Denied, &why),
                None => Verdict::NoOpinion,
            };
            return (verdict, String::new());
        }
        Err(unanswered) => return (undecided(contract, options, called, &unanswered), String::new()),
    };
    let context: Vec<String> = answer.events.iter().map(SessionEvent::line).collect();
    let verdict = match answer.permission {
        Permission::Allow if !is_quiet => Verdict::Allow,
        Permission::Allow | Permission::Unasked => Verdict::NoOpinion,
        Permission::Inside { stays, argv } => inside::verdict(called, &caller, &stays, &argv),
        Permission::Deny { message, failure } => Verdict::deny(cause_of(failure), &message),
    };
    (verdict, context.join("\n"))
}

/// What holds where the app said neither yes nor no.
fn undecided(
    contract: &dyn Contract,
    options: &Options,
    called: &Called,
    unanswered: &Unanswered,
) -> Verdict {
    match unanswered {
        Unanswered::Absent(error) => match options.when_absent {
            WhenAbsent::Ask if contract.can_ask(called.event) => Verdict::AskThere(sentence(error)),
            WhenAbsent::Ask => Verdict::deny(
                Cause::Absent,
                &format!("{error}, and {} cannot be told to ask here", contract.name()),
            ),
            WhenAbsent::Deny => Verdict::deny(Cause::Absent, &error.to_string()),
        },
        error @ Unanswered::Silent(_) => Verdict::deny(Cause::Expired, &error.to_string()),
        error @ Unanswered::TooLong { .. } => Verdict::deny(Cause::Refused, &error.to_string()),
        error => Verdict::deny(Cause::Failed, &error.to_string()),
    }
}

/// Whether nobody is asked about a call, so that only rules and policy are. What an agent would ask the
/// person itself is asked here whatever the tool: the agent has found that it needs a person.
fn is_quiet(contract: &dyn Contract, asked: WhichCalls, called: &Called) -> bool {
    asked == WhichCalls::Risky
        && called.event == Event::BeforeTool
        && !called.foreign
        && contract.quiet().contains(&called.tool.as_str())
}

/// Whether a call is a question to the person already.
fn is_a_question(contract: &dyn Contract, called: &Called) -> bool {
    !called.foreign && contract.questions().contains(&called.tool.as_str())
}

/// The id is always fresh: agents number their calls anew in every session, and two calls of one id could
/// share an answer.
fn tool_call(contract: &dyn Contract, options: &Options, ids: &dyn IdSource, called: &Called) -> ToolCall {
    let agent = options.agent.clone().or_else(|| called.agent.clone());
    ToolCall {
        id: ids.uuid(),
        tool: called.tool.clone(),
        params: called.params.clone(),
        caller: ToolCaller {
            agent: agent
                .map(|agent| countersign_agents::id_of(&agent).to_owned())
                .unwrap_or_else(|| contract.name().to_owned()),
            session: called.session.clone(),
            client: contract.client().map(str::to_owned),
            sub_agent: called.sub_agent.clone(),
            model: called.model.clone(),
            workspace: called.workspace.clone(),
            call: called.own_id.clone(),
            ..ToolCaller::default()
        },
        approval_timeout_ms: None,
        takes_command: false,
        is_quiet: false,
    }
}

const fn cause_of(failure: ToolFailure) -> Cause {
    match failure {
        ToolFailure::Denied => Cause::Denied,
        ToolFailure::Expired => Cause::Expired,
        ToolFailure::Invalid | ToolFailure::NotFound => Cause::Refused,
        ToolFailure::Aborted | ToolFailure::Failed => Cause::Failed,
    }
}

impl HookAnswer {
    /// Nothing at all, which leaves the call to the agent.
    const NOTHING: Self = Self { document: None, reason: None, end: End::Printed };

    fn printed(document: Value) -> Self {
        Self { document: Some(document), reason: None, end: End::Printed }
    }

    fn blocked(document: Value, reason: &str) -> Self {
        Self { document: Some(document), reason: Some(reason.to_owned()), end: End::Blocked }
    }
}

impl Verdict {
    /// A no whose message says where it comes from. It is never blank: Codex takes a denial without a
    /// reason as no denial.
    fn deny(cause: Cause, why: &str) -> Self {
        let why: String = why.trim().chars().take(REASON_CHARS).collect();
        let message = match (cause, why.as_str()) {
            (Cause::Denied | Cause::Expired, "") => "Countersign denied it.".to_owned(),
            (Cause::Denied | Cause::Expired, why) => why.to_owned(),
            (_, why) => format!("Countersign could not ask, so it is denied: {why}"),
        };
        Self::Deny(Denial { cause, message })
    }
}

fn sentence(error: &dyn std::error::Error) -> String {
    format!("Countersign could not be asked: {error}")
}

/// How long an agent may take for its document: it writes it in one go when it starts the hook.
const INPUT_WAIT: Duration = Duration::from_secs(10);

/// What an agent is told that would have to run another command than it asked about, and
/// cannot be told which.
const NO_OTHER_COMMAND: &str =
    "Countersign would run it in a box, and this agent cannot be told how, so it is denied.";

/// Most characters of a reason that an agent is told: Claude Code takes 10 000 before it puts a
/// text into a file.
const REASON_CHARS: usize = 4_000;
