//! A question as a person sees it. This is the only place that paints one; nothing is read back from
//! what it painted.

use countersign_approvals::book::Record;
use countersign_approvals::question::{
    Beside, Command, Crossing, Environment, Finding, Folder, Place, Question, Subject, ToolCall, ToolName,
    Typing, Wish,
};
use countersign_policy::always::Choice;
use countersign_policy::calls::{self, CallChoice};
use countersign_policy::display::{self, Secrets};
use countersign_policy::rules::{Offer, longest_of, reach};
use countersign_protocol::ids::AgentId;
use countersign_protocol::question::QuestionKind;
use countersign_protocol::remember::{LadderStep, Rung};
use countersign_protocol::shown::{Shown, Span, SpanKind};
use countersign_protocol::tools::SubAgent;
use countersign_protocol::ui::{Card, EnvOverride, Fact, HostView, OnExpiry};
use std::path::Path;

/// The card of what waits.
pub fn card(record: &Record) -> Card {
    let Question { subject, door, agent, session, place, why, facts: found, offer, blocked } =
        record.question.as_ref();
    let kind = subject.kind();
    Card {
        id: record.id.to_string(),
        generation: door.generation,
        kind,
        via: door.via,
        gateway: door.gateway.as_deref().map(plain),
        agent: plain(agent.as_str()),
        session: session.as_ref().map(|session| plain(session.as_str())),
        peer: door.program.as_deref().map(plain),
        host: host(place),
        created_at_ms: record.created_at_ms,
        expires_at_ms: record.expires_at_ms,
        on_expiry: match kind {
            QuestionKind::Exec | QuestionKind::Permit | QuestionKind::Tool | QuestionKind::Crossing => {
                OnExpiry::NotRun
            }
            QuestionKind::Ask | QuestionKind::Plugin | QuestionKind::SystemAgent => OnExpiry::NoAnswer,
        },
        command: subject.view().clone(),
        facts: facts(subject, found),
        why: why.clone(),
        decisions: offer.decisions.clone(),
        always: offer
            .choices
            .iter()
            .map(|choice| step(choice, agent))
            .chain(offer.calls.iter().map(of_choice))
            .chain(
                offer
                    .workspace
                    .iter()
                    .map(|folder| LadderStep::Opens { rung: Rung::Workspace, folder: plain(folder) }),
            )
            .collect(),
        always_unavailable: offer.unavailable,
        allow_blocked: *blocked,
    }
}

fn host(place: &Place) -> HostView {
    let name = match place {
        Place::Remote(name) => name.as_deref().map(plain),
        Place::ThisMachine | Place::Sandbox => None,
    };
    HostView { kind: place.kind(), name }
}

/// What the request says of itself, then what was found out about it.
fn facts(subject: &Subject, found: &[Finding]) -> Vec<Fact> {
    let mut facts: Vec<Fact> = subject.tool().map(called).into_iter().collect();
    facts.extend(subject.sub_agent().map(sub_agent));
    match subject {
        Subject::Command(command) => facts.extend(of_command(command)),
        Subject::Tool(call) => facts.extend(of_call(call)),
        Subject::Plugin(Wish { plugin, tool, severity, .. }) => facts.push(Fact::Plugin {
            plugin: plugin.as_deref().map(plain),
            tool: tool.as_deref().map(plain),
            severity: *severity,
        }),
        Subject::Proposal(_) => {}
        Subject::Crossing(crossing) => facts.push(of_crossing(crossing)),
    }
    facts.extend(found.iter().map(finding));
    facts.extend(subject.folder().map(folder));
    if let Some(typing) = subject.command().and_then(|command| command.terminal) {
        facts.push(Fact::Terminal { typed: typing == Typing::Agent });
    }
    if let Some(limit) = subject.command().and_then(|command| command.time_limit) {
        facts.push(Fact::TimeLimit { ms: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX) });
    }
    facts
}

fn called(name: &ToolName) -> Fact {
    Fact::Tool { tool: plain(&name.tool), client: name.client.as_deref().map(plain) }
}

fn sub_agent(SubAgent { id, kind }: &SubAgent) -> Fact {
    Fact::SubAgent { id: plain(id), made_for: kind.as_deref().map(plain) }
}

fn of_command(command: &Command) -> Vec<Fact> {
    let Beside { sub_agent: _, background, changes } = &command.beside;
    let mut facts: Vec<Fact> = changes.iter().map(|change| Fact::Change { change: change.clone() }).collect();
    if *background {
        facts.push(Fact::Background);
    }
    if command.text_differs {
        facts.push(Fact::OtherText { text: display::shown(&command.text, Secrets::Mask) });
    }
    if let Some(text) = &command.warning {
        facts.push(Fact::Warning { text: display::shown(text, Secrets::Mask) });
    }
    match &command.environment {
        environment if environment.is_empty() => {}
        Environment::Values(values) => {
            let overrides = values
                .iter()
                .map(|(name, value)| EnvOverride { name: plain(name), value: override_value(name, value) });
            facts.push(Fact::Environment { overrides: overrides.collect() });
        }
        Environment::Names(names) => {
            facts.push(Fact::EnvironmentNames { names: names.iter().map(|name| plain(name)).collect() });
        }
    }
    facts
}

fn of_call(call: &ToolCall) -> Vec<Fact> {
    let changes = call.changes.iter().map(|change| Fact::Change { change: change.clone() });
    let masked = |text: &str| display::shown(text, Secrets::Mask);
    let task = call.task.as_deref().map(|text| Fact::Task { text: masked(text), typed: call.is_typed });
    let arguments = call.arguments.as_deref().map(|text| Fact::Arguments { text: masked(text) });
    changes.chain(task).chain(arguments).collect()
}

fn of_crossing(crossing: &Crossing) -> Fact {
    let Crossing { facts, view: _, addresses, command, folder: _, chain, reached, sent } = crossing;
    let command = display::shown(command, Secrets::Mask);
    let chain = chain.iter().map(|program| plain(program)).collect();
    let Some(wanted) = &facts.crossing else { return Fact::Keys { command, chain } };
    Fact::Crossing {
        destination: plain(&wanted.to_string()),
        place: wanted.place,
        addresses: addresses.iter().map(|address| plain(&address.to_string())).collect(),
        command,
        chain,
        reached: reached.iter().map(|place| plain(place)).collect(),
        sent: *sent,
    }
}

fn finding(finding: &Finding) -> Fact {
    match finding {
        Finding::Elevation { program } => Fact::Elevation { program: program.clone() },
        Finding::OwnRights => Fact::OwnRights,
        Finding::Network { program } => Fact::Network { program: program.clone() },
        Finding::Script { path, lines, head, complete } => {
            Fact::Script { path: at(path), lines: *lines, content: plain(head), complete: *complete }
        }
        Finding::Program { name, path, real_path, writable } => Fact::Program {
            name: plain(name),
            path: path.as_deref().map(at),
            real_path: real_path.as_deref().map(at),
            writable: *writable,
        },
        Finding::Sandbox { network, folder, image } => {
            Fact::Sandbox { network: *network, folder: at(folder), image: image.as_deref().map(plain) }
        }
        Finding::Unrecorded { problem } => Fact::Unrecorded { problem: plain(problem) },
    }
}

/// The real folder where somebody looked, and as it was named when that is something else.
fn folder(folder: &Folder) -> Fact {
    let is_other = folder.real.as_ref().is_some_and(|real| real != Path::new(&folder.given));
    Fact::Folder { path: plain(&folder.path()), given: is_other.then(|| plain(&folder.given)) }
}

/// One way in which an "always" would be remembered.
fn step(choice: &Choice, agent: &AgentId) -> LadderStep {
    let rung = choice.rung;
    match &choice.rules {
        Ok(offers) => {
            let rule = |offer: &Offer| offer.clone().into_rule(String::new(), agent.as_str().to_owned(), 0);
            LadderStep::Offered {
                rung,
                rules: offers.iter().map(|offer| reach(&rule(offer))).collect(),
                longest: longest_of(offers),
            }
        }
        Err(cause) => LadderStep::Withheld { rung, cause: *cause },
    }
}

/// The same for a call that is no command.
fn of_choice(choice: &CallChoice) -> LadderStep {
    let CallChoice { rung, about, longest } = choice;
    LadderStep::Calls { rung: *rung, calls: about.iter().map(calls::reach).collect(), longest: *longest }
}

/// A value whose name says that it is secret is covered as a whole, whatever it looks like.
fn override_value(name: &str, value: &str) -> Shown {
    let covered = display::shown(&format!("{name}={value}"), Secrets::Mask)
        .spans
        .iter()
        .any(|span| span.kind == SpanKind::Secret);
    if !covered {
        return plain(value);
    }
    Shown {
        spans: vec![Span {
            kind: SpanKind::Secret,
            text: "••••••••".to_owned(),
            raw: Some(value.to_owned()),
        }],
    }
}

/// Text without secrets to cover.
fn plain(text: &str) -> Shown {
    display::shown(text, Secrets::Show)
}

fn at(path: &Path) -> Shown {
    plain(&path.to_string_lossy())
}

#[cfg(test)]
mod samples;
