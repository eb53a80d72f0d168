//! A request that came over a gateway, ours or another one, as the book keeps it.

use countersign_approvals::question::{
    Command, Door, Environment, Folder, Offer, Place, Question, Runner, Subject, Wish, Words, peer_asks,
};
use countersign_commands::analysis::{Analysis, analyze_text};
use countersign_commands::raw_command;
use countersign_node::host::AskedRun;
use countersign_policy::display;
use countersign_protocol::gateway::approval::RequestView;
use countersign_protocol::gateway::plugin::PluginView;
use countersign_protocol::gateway::proposal::ProposalView;
use countersign_protocol::ids::{AgentId, SessionKey};
use countersign_protocol::question::{Severity, Via, Why};
use countersign_protocol::socket::NodeRun;
use countersign_protocol::trace::PolicyLayer;
use countersign_protocol::vocabulary::{Ask, Decision, Security};

/// A command, in a folder, both as they were given. Where the asker says what list would run, that is shown,
/// and its own text only when it says something else. Its text taken apart comes along where that was needed.
pub fn asked(
    command: &str,
    cwd: Option<&str>,
    request: &RequestView,
    via: Via,
    gateway: Option<&str>,
) -> (Question, Option<Analysis>) {
    let list = argv(request);
    let (view, analysis) = match list {
        Some(argv) => (display::command_view(argv, &[]), None),
        None => {
            let analysis = analyze_text(command);
            (display::text_view(command, &analysis), Some(analysis))
        }
    };
    let named = |name: &str| Place::Remote(Some(name.to_owned()));
    let place = match (request.host.as_deref(), &request.node_id, gateway) {
        (Some("sandbox"), ..) => Place::Sandbox,
        (Some("node"), Some(node), _) => named(node),
        (Some("node"), None, gateway) => Place::Remote(gateway.map(str::to_owned)),
        (_, _, Some(gateway)) => named(gateway),
        (_, _, None) => Place::ThisMachine,
    };
    let mut names = request.env_keys.clone().unwrap_or_default();
    names.sort();
    let subject = Subject::Command(Box::new(Command {
        argv: list.map(<[String]>::to_vec),
        text_differs: list.is_some_and(|argv| !says(argv, command)),
        folder: text(cwd).map(Folder::named),
        environment: Environment::Names(names),
        warning: text(request.warning_text.as_deref()).map(str::to_owned),
        ..Command::of_text(Runner::Asker, command.to_owned(), view)
    }));
    let why = Why {
        security: word(request.security.as_deref()).unwrap_or(Security::Allowlist),
        ask: word(request.ask.as_deref()).unwrap_or(Ask::OnMiss),
        ..peer_asks(PolicyLayer::Requested)
    };
    let (agent, session) = (request.agent_id.as_deref(), request.session_key.as_deref());
    let asker = Asker { via, gateway, agent, session, decisions: request.decisions() };
    (Question { why, ..asker.question(subject, place) }, analysis)
}

/// Says of a command that it would run right here, if it is for this machine's node: then what it names
/// can be looked at.
pub fn would_run_here(asked: &mut Question, request: &RequestView, own_node: Option<&str>) {
    if request.node_id.is_some() && request.node_id.as_deref() == own_node {
        asked.place = Place::ThisMachine;
    }
}

/// The run of a node that a request is about. Only a run of this machine can ever claim the answer.
pub fn run_of(id: &str, request: &RequestView, gateway: &str) -> Option<AskedRun> {
    let node_id = request.node_id.clone().filter(|_| request.host.as_deref() == Some("node"))?;
    Some(AskedRun {
        run: NodeRun { gateway: gateway.to_owned(), node_id: node_id.into(), run_id: id.to_owned() },
        env_names: request.env_keys.clone().unwrap_or_default(),
    })
}

/// What a plugin wants: its words, since there is no command.
pub fn asked_by_plugin(request: &PluginView, via: Via, gateway: Option<&str>) -> Question {
    let texts = [Some(request.title.as_str()), Some(&request.description), request.detail.as_deref()];
    let subject = Subject::Plugin(Wish {
        words: words(texts.into_iter().filter_map(text)),
        plugin: text(request.plugin_id.as_deref()).map(str::to_owned),
        tool: text(request.tool_name.as_deref()).map(str::to_owned),
        severity: request.severity.unwrap_or(Severity::Warning),
    });
    let (agent, session) = (request.agent_id.as_deref(), request.session_key.as_deref());
    let asker = Asker { via, gateway, agent, session, decisions: request.decisions() };
    asker.question(subject, Place::Remote(gateway.map(str::to_owned)))
}

/// What a gateway's own agent proposes to change there: its words, since there is no command.
pub fn proposed(request: &ProposalView, via: Via, gateway: Option<&str>) -> Question {
    let command = text(request.command.as_deref()).filter(|command| *command != request.description.trim());
    let texts = [text(Some(&request.title)), text(Some(&request.description)), command];
    let subject = Subject::Proposal(words(texts.into_iter().flatten()));
    let (agent, session) = (request.agent_id.as_deref(), request.session_key.as_deref());
    let asker = Asker { via, gateway, agent, session, decisions: request.decisions() };
    asker.question(subject, Place::Remote(gateway.map(str::to_owned)))
}

fn words<'a>(texts: impl Iterator<Item = &'a str>) -> Words {
    let texts: Vec<&str> = texts.collect();
    Words { view: display::words_view(&texts), texts: texts.into_iter().map(str::to_owned).collect() }
}

/// The list that would run, where the asker says it.
pub(crate) fn argv(request: &RequestView) -> Option<&[String]> {
    let plan = request.system_run_plan.as_ref().map(|plan| plan.argv.as_slice());
    plan.or(request.command_argv.as_deref()).filter(|argv| !argv.is_empty())
}

/// The folder that it would run in, as the asker says it.
pub fn cwd(request: &RequestView) -> Option<&str> {
    let plan = request.system_run_plan.as_ref().and_then(|plan| plan.cwd.as_deref());
    plan.or(request.cwd.as_deref())
}

/// Whether a text that was made for the eye is about this list: peers write what cannot be seen as codes.
fn says(argv: &[String], command: &str) -> bool {
    let Ok(agreed) = raw_command::check(argv, None) else { return false };
    let texts = [Some(agreed.command_text), agreed.shell_payload];
    texts.iter().flatten().any(|text| {
        let text = text.trim();
        text == command.trim() || display::peer::command(text).text == command.trim()
    })
}

/// Who asks, and which answers it takes.
struct Asker<'a> {
    via: Via,
    gateway: Option<&'a str>,
    agent: Option<&'a str>,
    session: Option<&'a str>,
    decisions: Vec<Decision>,
}

impl Asker<'_> {
    /// Its question, about which no policy of this machine has a say.
    fn question(self, subject: Subject, place: Place) -> Question {
        let Self { via, gateway, agent, session, decisions } = self;
        Question {
            door: Door { via, gateway: gateway.map(str::to_owned), program: None, generation: 0 },
            agent: AgentId::of(agent),
            session: SessionKey::of(session),
            place,
            why: peer_asks(PolicyLayer::Requested),
            facts: Vec::new(),
            offer: Offer { decisions, ..Offer::default() },
            blocked: display::allow_blocked(subject.view()),
            subject,
        }
    }
}

/// Without blanks around it, if anything is left.
fn text(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}

fn word<T: serde::de::DeserializeOwned>(word: Option<&str>) -> Option<T> {
    serde_json::from_value(word?.trim().into()).ok()
}
