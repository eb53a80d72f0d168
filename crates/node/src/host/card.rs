//! What the person is shown about a request: the command as boxes, probed facts, and why they are asked.

use countersign_approvals::book::Request;
use countersign_policy::always::{self, Choice, Proposal};
use countersign_policy::analysis::Analysis;
use countersign_policy::display::{self, Secrets};
use countersign_policy::evaluate::{AskReason, Evaluation, Subject, unbound_cause};
use countersign_policy::facts::Facts;
use countersign_policy::powers::{Powers, Seen, powers};
use countersign_policy::rules::reach;
use countersign_protocol::ui::{
    AlwaysUnavailable, Card, CardKind, CommandView, EnvOverride, Fact, HostKind, HostView, LadderStep,
    OnExpiry, Shown, Span, SpanKind, Via, Why, WhyReason,
};
use countersign_protocol::vocabulary::{Ask, Decision};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::socket::server::Peer;

/// Everything about one request that a card shows.
pub(super) struct Material<'a> {
    pub(super) kind: CardKind,
    pub(super) generation: u32,
    pub(super) peer: &'a Peer,
    pub(super) via: Via,
    pub(super) agent: &'a str,
    pub(super) session: Option<&'a str>,
    pub(super) host: HostView,
    pub(super) command: CommandView,
    pub(super) facts: Vec<Fact>,
    pub(super) why: Why,
    pub(super) offer: Offer,
}

/// Which decisions are offered, and what "always" would store.
pub(super) struct Offer {
    pub(super) decisions: Vec<Decision>,
    pub(super) proposals: Vec<Proposal>,
    pub(super) choices: Vec<Choice>,
    pub(super) unavailable: Option<AlwaysUnavailable>,
}

impl Offer {
    /// What the policy lets a person decide about a command that runs here.
    pub(super) fn for_exec(subject: &Subject<'_>, first: &Evaluation) -> Self {
        let choices = always::choices(subject, first);
        let proposals = always::proposals(subject.analysis, subject.facts, subject.policy);
        if choices.iter().any(|choice| choice.rules.is_ok()) {
            return Self {
                decisions: vec![Decision::AllowOnce, Decision::AllowAlways, Decision::Deny],
                proposals: proposals.unwrap_or_default(),
                choices,
                unavailable: None,
            };
        }
        Self {
            decisions: vec![Decision::AllowOnce, Decision::Deny],
            proposals: Vec::new(),
            choices: Vec::new(),
            unavailable: Some(always::unavailable(subject, &choices, proposals.err())),
        }
    }

    /// The same about a sandbox. What is remembered counts on the machine itself as well, so nothing is from there.
    pub(super) fn for_sandbox() -> Self {
        Self {
            decisions: vec![Decision::AllowOnce, Decision::Deny],
            proposals: Vec::new(),
            choices: Vec::new(),
            unavailable: Some(AlwaysUnavailable::Sandbox),
        }
    }

    /// What an asker offers (docs/protocol/approval-socket.md, "Offered decisions"): its own list in its
    /// order, else by its ask.
    pub(super) fn for_ask(allowed: &[Decision], ask: Option<&str>) -> Self {
        let ask_always = ask.map(str::trim).and_then(Ask::from_word) == Some(Ask::Always);
        let decisions = if !allowed.is_empty() {
            let mut unique = Vec::new();
            for decision in allowed {
                if !unique.contains(decision) {
                    unique.push(*decision);
                }
            }
            unique
        } else if ask_always {
            vec![Decision::AllowOnce, Decision::Deny]
        } else {
            vec![Decision::AllowOnce, Decision::AllowAlways, Decision::Deny]
        };
        let unavailable = (!decisions.contains(&Decision::AllowAlways)).then_some(if ask_always {
            AlwaysUnavailable::AskAlways
        } else {
            AlwaysUnavailable::NotOffered
        });
        Self { decisions, proposals: Vec::new(), choices: Vec::new(), unavailable }
    }
}

impl Material<'_> {
    /// The request as the book keeps it; ids and times are stamped there.
    pub(super) fn into_request(self) -> Request {
        let allow_blocked = display::allow_blocked(&self.command);
        let always = self.offer.choices.iter().map(|choice| step(choice, self.agent)).collect();
        Request {
            card: Card {
                id: String::new(),
                generation: self.generation,
                kind: self.kind,
                via: self.via,
                gateway: None,
                agent: plain(self.agent),
                session: self.session.map(plain),
                peer: self.peer.program.as_deref().map(plain),
                host: self.host,
                created_at_ms: 0,
                expires_at_ms: 0,
                on_expiry: match self.kind {
                    CardKind::Exec | CardKind::Permit | CardKind::Tool => OnExpiry::NotRun,
                    CardKind::Ask | CardKind::Plugin | CardKind::SystemAgent => OnExpiry::NoAnswer,
                },
                command: self.command,
                facts: self.facts,
                why: self.why,
                decisions: self.offer.decisions,
                always,
                always_unavailable: self.offer.unavailable,
                allow_blocked,
            },
            proposals: self.offer.proposals,
            choices: self.offer.choices,
            agent: self.agent.to_owned(),
            session: self.session.map(str::to_owned),
        }
    }
}

/// Why a command that would run here is asked about.
pub(super) fn why(subject: &Subject<'_>, evaluation: &Evaluation, reason: AskReason) -> Why {
    let policy = subject.policy;
    let (mut opaque, mut cause, mut unbound) = (None, None, None);
    let code = match reason {
        AskReason::Always => WhyReason::AskAlways,
        AskReason::Miss => WhyReason::AllowlistMiss,
        AskReason::Opaque(reason) => {
            opaque = Some(reason.as_str().to_owned());
            WhyReason::Opaque
        }
        AskReason::Uncoverable(miss) => {
            cause = Some(miss);
            WhyReason::Uncoverable
        }
        AskReason::Unbound(reason) => {
            unbound = Some(unbound_cause(reason));
            WhyReason::Unbound
        }
        AskReason::Environment => WhyReason::Environment,
        AskReason::MayBeRefused => WhyReason::MayBeRefused,
        AskReason::RulesUnreadable => WhyReason::RulesUnreadable,
    };
    Why {
        reason: code,
        opaque,
        cause,
        unbound,
        segments: evaluation.missed_segments.iter().filter_map(|index| u32::try_from(*index).ok()).collect(),
        security: policy.security.value,
        ask: policy.ask.value,
        layer: policy.ask.layer,
        entries_checked: u32::try_from(subject.rules.rules().len()).unwrap_or(u32::MAX),
        trace: evaluation.trace(subject),
    }
}

/// This machine, or what the asker calls its host.
pub(super) fn host_view(claimed: Option<&str>) -> HostView {
    match claimed.map(str::trim) {
        None | Some("" | "node" | "gateway") => HostView { kind: HostKind::ThisMachine, name: None },
        Some("sandbox") => HostView { kind: HostKind::Sandbox, name: None },
        Some(other) => HostView { kind: HostKind::Remote, name: Some(plain(other)) },
    }
}

/// What was looked at for a command.
pub(super) struct Looked<'a> {
    /// Its argument list; empty for a text.
    pub(super) argv: &'a [String],
    /// It taken apart.
    pub(super) analysis: &'a Analysis,
    /// What was found.
    pub(super) facts: &'a Facts,
    /// Its folder as it was given.
    pub(super) given_cwd: &'a str,
}

/// It cannot be written down that it runs.
pub(super) fn unrecorded(problem: &str) -> Fact {
    Fact::Unrecorded { problem: plain(problem) }
}

/// Probed facts about all commands of a request, flagged ones first.
pub(super) fn facts(
    looked: &Looked<'_>,
    env: &BTreeMap<String, String>,
    timeout: Option<Duration>,
) -> Vec<Fact> {
    let Looked { argv, analysis, facts, given_cwd } = looked;
    let mut shown = Vec::new();
    if !env.is_empty() {
        shown.push(Fact::Environment {
            overrides: env
                .iter()
                .map(|(name, value)| EnvOverride { name: plain(name), value: override_value(name, value) })
                .collect(),
        });
    }
    let Powers { elevation, network, seen } = powers(analysis, argv, facts);
    if elevation.is_empty() && seen == Seen::All {
        shown.push(Fact::OwnRights);
    }
    shown.extend(elevation.into_iter().map(|program| Fact::Elevation { program }));
    shown.extend(network.into_iter().map(|program| Fact::Network { program }));
    if let Some(script) = &facts.script {
        shown.push(Fact::Script {
            path: path_shown(&script.real_path),
            lines: script.lines,
            content: display::shown(&script.head, Secrets::Show),
            complete: script.complete,
        });
    }
    shown.extend(programs(looked));
    if let Some(folder) = &facts.cwd {
        let given = (folder.real_path != Path::new(given_cwd)).then(|| plain(given_cwd));
        shown.push(Fact::Folder { path: path_shown(&folder.real_path), given });
    }
    if let Some(limit) = timeout {
        shown.push(Fact::TimeLimit { ms: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX) });
    }
    shown
}

/// Every program that the commands start, each once. What a shell does by itself is none.
fn programs(looked: &Looked<'_>) -> Vec<Fact> {
    let Looked { argv, analysis, facts, .. } = looked;
    let mut names: Vec<&str> = Vec::new();
    for segment in &analysis.segments {
        let started = analysis.starts(segment).map(|word| word.text.as_str());
        names.extend(started.filter(|name| facts.programs.contains_key(*name)));
    }
    if analysis.opaque.is_some() {
        names.extend(argv.first().map(String::as_str));
    }
    let mut told = Vec::new();
    for name in names {
        let program = facts.programs.get(name);
        let path = program.and_then(|found| found.path.as_deref());
        let real_path =
            program.and_then(|found| found.real_path.as_deref()).filter(|real| Some(*real) != path);
        let fact = Fact::Program {
            name: plain(name),
            path: path.map(path_shown),
            real_path: real_path.map(path_shown),
            writable: program.is_some_and(|found| found.writable),
        };
        if !told.contains(&fact) {
            told.push(fact);
        }
    }
    told
}

/// Probed facts about a text that somebody else runs. Where no folder was given, none is shown.
pub(super) fn facts_of_text(looked: &Looked<'_>) -> Vec<Fact> {
    let mut shown = facts(looked, &BTreeMap::new(), None);
    if looked.given_cwd.is_empty() {
        shown.retain(|fact| !matches!(fact, Fact::Folder { .. }));
    }
    shown
}

/// Text without secrets to cover.
pub(super) fn plain(text: &str) -> Shown {
    display::shown(text, Secrets::Show)
}

fn step(choice: &Choice, agent: &str) -> LadderStep {
    let rung = choice.rung;
    match &choice.rules {
        Ok(offers) => {
            let rule = |offer: &countersign_policy::rules::Offer| {
                offer.clone().into_rule(String::new(), agent.to_owned(), 0)
            };
            LadderStep::Offered {
                rung,
                rules: offers.iter().map(|offer| reach(&rule(offer))).collect(),
                longest: countersign_policy::rules::longest_of(offers),
            }
        }
        Err(cause) => LadderStep::Withheld { rung, cause: *cause },
    }
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

fn path_shown(path: &Path) -> Shown {
    plain(&path.to_string_lossy())
}

#[cfg(test)]
mod samples;

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn offered_decisions_follow_the_asker_then_its_ask() {
        use Decision::{AllowAlways, AllowOnce, Deny};
        for (allowed, ask, expected) in [
            (vec![Deny, AllowOnce], Some("on-miss"), vec![Deny, AllowOnce]),
            (vec![Deny, AllowOnce, Deny], None, vec![Deny, AllowOnce]),
            (vec![], Some("always"), vec![AllowOnce, Deny]),
            (vec![], Some("on-miss"), vec![AllowOnce, AllowAlways, Deny]),
            (vec![], None, vec![AllowOnce, AllowAlways, Deny]),
        ] {
            assert_eq!(Offer::for_ask(&allowed, ask).decisions, expected, "{allowed:?} {ask:?}");
        }
    }

    fn facts_of(argv: &[&str]) -> Vec<Fact> {
        let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        let analysis = countersign_policy::analysis::analyze_argv(&argv);
        let folder = tempfile::tempdir().unwrap();
        for program in ["docker", "git", "make", "sudo", "tail"] {
            let path = folder.path().join(program);
            std::fs::write(&path, "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        }
        let places = crate::facts::Places {
            path: folder.path().as_os_str(),
            cwd: folder.path(),
            home: Path::new("/home/u"),
        };
        let found = crate::facts::gather(&argv, &analysis, places);
        facts(
            &Looked { argv: &argv, analysis: &analysis, facts: &found, given_cwd: "/" },
            &BTreeMap::new(),
            None,
        )
    }

    fn programs_of(facts: &[Fact]) -> Vec<String> {
        let name = |fact: &Fact| match fact {
            Fact::Program { name, path, .. } => {
                let mark = if path.is_none() { "?" } else { "" };
                Some(display::original(name).unwrap() + mark)
            }
            _ => None,
        };
        facts.iter().filter_map(name).collect()
    }

    #[test]
    fn facts_are_about_every_command_of_a_request() {
        let facts = facts_of(&["sh", "-c", "cd src && git push && make install | tail -n 5; nothing"]);
        assert_eq!(programs_of(&facts), ["git", "make", "tail", "nothing?"]);
        assert!(facts.contains(&Fact::Network { program: "git push".to_owned() }), "{facts:?}");
        assert!(!facts.contains(&Fact::OwnRights), "make starts others: {facts:?}");
    }

    #[test]
    fn t03_a_container_with_the_machines_root_folder_is_shown_as_elevation() {
        let argv = ["docker", "run", "-v", "/:/host", "alpine", "chroot", "/host", "sh"];
        let facts = facts_of(&argv);
        assert!(facts.contains(&Fact::Elevation { program: "docker run".to_owned() }), "{facts:?}");
        let facts = facts_of(&["sh", "-c", "git status && sudo make install > log"]);
        assert!(facts.contains(&Fact::Elevation { program: "sudo".to_owned() }), "{facts:?}");
    }

    #[test]
    fn t04_another_machine_is_never_called_this_one() {
        assert_eq!(host_view(None).kind, HostKind::ThisMachine);
        assert_eq!(host_view(Some("node")).kind, HostKind::ThisMachine);
        assert_eq!(host_view(Some("build-02")).kind, HostKind::Remote);
        assert_eq!(host_view(Some("sandbox")).kind, HostKind::Sandbox);
    }
}
