//! A request that came over a gateway, ours or another one, as the book keeps it and a person sees it.

use countersign_approvals::book::Request;
use countersign_node::host::AskedRun;
use countersign_policy::analysis::analyze_text;
use countersign_policy::display::{self, Secrets};
use countersign_policy::{raw_command, reference};
use countersign_protocol::document::MAIN_AGENT;
use countersign_protocol::gateway::approval::RequestView;
use countersign_protocol::gateway::plugin::PluginView;
use countersign_protocol::gateway::proposal::ProposalView;
use countersign_protocol::socket::NodeRun;
use countersign_protocol::ui::{
    Card, CardKind, CommandView, Fact, HostKind, HostView, OnExpiry, PolicyLayer, Severity, Shown, Via, Why,
    WhyReason,
};
use countersign_protocol::vocabulary::{Ask, Decision, Security};

/// A command. Where the asker says what list would run, that is shown, and its own text only when it says something else.
pub(crate) fn asked(command: &str, request: &RequestView, via: Via, gateway: Option<Shown>) -> Request {
    let analysis = analyze_text(command);
    let list = argv(request);
    let view = match list {
        Some(argv) => display::command_view(argv, &[]),
        None => display::text_view(command, &analysis),
    };
    let (kind, name) = match (request.host.as_deref(), &request.node_id, &gateway) {
        (Some("sandbox"), ..) => (HostKind::Sandbox, None),
        (Some("node"), Some(node), _) => (HostKind::Remote, Some(plain(node))),
        (Some("node"), None, gateway) => (HostKind::Remote, gateway.clone()),
        (_, _, Some(gateway)) => (HostKind::Remote, Some(gateway.clone())),
        (_, _, None) => (HostKind::ThisMachine, None),
    };
    let mut facts = Vec::new();
    if list.is_some_and(|argv| !says(argv, command)) {
        facts.push(Fact::OtherText { text: display::shown(command, Secrets::Mask) });
    }
    if let Some(text) = text(request.warning_text.as_deref()) {
        facts.push(Fact::Warning { text: display::shown(text, Secrets::Mask) });
    }
    // Elsewhere nothing can be probed: what the asker says is all there is.
    if let Some(folder) = text(cwd(request)).filter(|_| gateway.is_some()) {
        facts.push(Fact::Folder { path: plain(folder), given: None });
    }
    if let Some(names) = request.env_keys.as_deref().filter(|names| !names.is_empty()) {
        let mut names: Vec<&String> = names.iter().collect();
        names.sort();
        facts.push(Fact::EnvironmentNames { names: names.into_iter().map(|name| plain(name)).collect() });
    }
    let why = Why {
        reason: WhyReason::PeerAsks,
        opaque: analysis.opaque.as_ref().map(|opaque| opaque.reason.as_str().to_owned()),
        cause: None,
        unbound: None,
        segments: Vec::new(),
        security: word(request.security.as_deref()).unwrap_or(Security::Allowlist),
        ask: word(request.ask.as_deref()).unwrap_or(Ask::OnMiss),
        layer: PolicyLayer::Requested,
        entries_checked: 0,
        trace: Vec::new(),
    };
    let card = Subject {
        kind: CardKind::Ask,
        via,
        gateway,
        agent: request.agent_id.as_deref(),
        session: request.session_key.as_deref(),
        host: HostView { kind, name },
        command: view,
        facts,
        why,
        decisions: request.decisions(),
    };
    card.into_request()
}

/// Says of a command that it would run right here, if it is for this machine's node: then what it names can be looked at.
pub(crate) fn would_run_here(asked: &mut Request, request: &RequestView, own_node: Option<&str>) {
    if request.node_id.is_some() && request.node_id.as_deref() == own_node {
        asked.card.host = HostView { kind: HostKind::ThisMachine, name: None };
        asked.card.facts.retain(|fact| !matches!(fact, Fact::Folder { .. }));
    }
}

/// The run of a node that a request is about. Only a run of this machine can ever claim the answer.
pub(crate) fn run_of(id: &str, request: &RequestView, gateway: &str) -> Option<AskedRun> {
    let node_id = request.node_id.clone().filter(|_| request.host.as_deref() == Some("node"))?;
    Some(AskedRun {
        run: NodeRun { gateway: gateway.to_owned(), node_id, run_id: id.to_owned() },
        env_names: request.env_keys.clone().unwrap_or_default(),
    })
}

/// What a plugin wants: its words, since there is no command.
pub(crate) fn asked_by_plugin(request: &PluginView, via: Via, gateway: Option<Shown>) -> Request {
    let words = [Some(request.title.as_str()), Some(&request.description), request.detail.as_deref()];
    let words: Vec<&str> = words.into_iter().filter_map(text).collect();
    let severity = request.severity.unwrap_or(Severity::Warning);
    let fact = Fact::Plugin {
        plugin: text(request.plugin_id.as_deref()).map(plain),
        tool: text(request.tool_name.as_deref()).map(plain),
        severity,
    };
    let card = Subject {
        kind: CardKind::Plugin,
        via,
        host: HostView { kind: HostKind::Remote, name: gateway.clone() },
        gateway,
        agent: request.agent_id.as_deref(),
        session: request.session_key.as_deref(),
        command: display::words_view(&words),
        facts: vec![fact],
        why: peer_asks(),
        decisions: request.decisions(),
    };
    card.into_request()
}

/// What a gateway's own agent proposes to change there: its words, since there is no command.
pub(crate) fn proposed(request: &ProposalView, via: Via, gateway: Option<Shown>) -> Request {
    let command = text(request.command.as_deref()).filter(|command| *command != request.description.trim());
    let words = [text(Some(&request.title)), text(Some(&request.description)), command];
    let words: Vec<&str> = words.into_iter().flatten().collect();
    let card = Subject {
        kind: CardKind::SystemAgent,
        via,
        host: HostView { kind: HostKind::Remote, name: gateway.clone() },
        gateway,
        agent: request.agent_id.as_deref(),
        session: request.session_key.as_deref(),
        command: display::words_view(&words),
        facts: Vec::new(),
        why: peer_asks(),
        decisions: request.decisions(),
    };
    card.into_request()
}

/// There is no policy here for what is no command.
fn peer_asks() -> Why {
    Why {
        reason: WhyReason::PeerAsks,
        opaque: None,
        cause: None,
        unbound: None,
        segments: Vec::new(),
        security: Security::Allowlist,
        ask: Ask::Always,
        layer: PolicyLayer::Requested,
        entries_checked: 0,
        trace: Vec::new(),
    }
}

/// The list that would run, where the asker says it.
pub(crate) fn argv(request: &RequestView) -> Option<&[String]> {
    let plan = request.system_run_plan.as_ref().map(|plan| plan.argv.as_slice());
    plan.or(request.command_argv.as_deref()).filter(|argv| !argv.is_empty())
}

/// The folder that it would run in, as the asker says it.
pub(crate) fn cwd(request: &RequestView) -> Option<&str> {
    let plan = request.system_run_plan.as_ref().and_then(|plan| plan.cwd.as_deref());
    plan.or(request.cwd.as_deref())
}

/// Whether a text that was made for the eye is about this list: peers write what cannot be seen as codes.
fn says(argv: &[String], command: &str) -> bool {
    let Ok(agreed) = raw_command::check(argv, None) else { return false };
    let texts = [Some(agreed.command_text), agreed.shell_payload];
    texts.iter().flatten().any(|text| {
        let text = text.trim();
        text == command.trim() || reference::display::command(text).text == command.trim()
    })
}

/// What a card is about.
struct Subject<'a> {
    kind: CardKind,
    via: Via,
    gateway: Option<Shown>,
    agent: Option<&'a str>,
    session: Option<&'a str>,
    host: HostView,
    command: CommandView,
    facts: Vec<Fact>,
    why: Why,
    decisions: Vec<Decision>,
}

impl Subject<'_> {
    fn into_request(self) -> Request {
        let Self { kind, via, gateway, agent, session, host, command, facts, why, decisions } = self;
        let agent = text(agent).unwrap_or(MAIN_AGENT).to_owned();
        let session = text(session).map(str::to_owned);
        let card = Card {
            id: String::new(),
            generation: 0,
            kind,
            via,
            gateway,
            agent: plain(&agent),
            session: session.as_deref().map(plain),
            peer: None,
            host,
            created_at_ms: 0,
            expires_at_ms: 0,
            on_expiry: OnExpiry::NoAnswer,
            allow_blocked: display::allow_blocked(&command),
            command,
            facts,
            why,
            decisions,
            always: Vec::new(),
            always_unavailable: None,
        };
        Request { card, proposals: Vec::new(), choices: Vec::new(), agent, session }
    }
}

fn plain(text: &str) -> Shown {
    display::shown(text, Secrets::Show)
}

/// Without blanks around it, if anything is left.
fn text(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}

fn word<T: serde::de::DeserializeOwned>(word: Option<&str>) -> Option<T> {
    serde_json::from_value(word?.trim().into()).ok()
}
