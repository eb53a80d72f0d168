//! What is said about a command, from what the analysis, the probes and the policy found: pure, and about all
//! of its programs.

use super::{Finding, Folder, Offer};
use countersign_commands::analysis::Analysis;
use countersign_policy::always;
use countersign_policy::evaluate::{AskReason, Evaluation, Subject, unbound_cause};
use countersign_policy::facts::Facts;
use countersign_policy::powers::{Powers, Seen, powers};
use countersign_protocol::question::{AlwaysUnavailable, Why, WhyReason};
use countersign_protocol::vocabulary::{Ask, Decision};
use std::path::PathBuf;

/// What was looked at for a command.
#[derive(Clone, Copy, Debug)]
pub struct Looked<'a> {
    /// Its argument list; empty for a text.
    pub argv: &'a [String],
    /// It taken apart.
    pub analysis: &'a Analysis,
    /// What was found.
    pub facts: &'a Facts,
}

impl Looked<'_> {
    /// What was found out about all its programs, powers first.
    pub fn findings(&self) -> Vec<Finding> {
        let Self { argv, analysis, facts } = self;
        let Powers { elevation, network, seen } = powers(analysis, argv, facts);
        let mut found = Vec::new();
        if elevation.is_empty() && seen == Seen::All {
            found.push(Finding::OwnRights);
        }
        found.extend(elevation.into_iter().map(|program| Finding::Elevation { program }));
        found.extend(network.into_iter().map(|program| Finding::Network { program }));
        if let Some(script) = &facts.script {
            found.push(Finding::Script {
                path: script.real_path.clone(),
                lines: script.lines,
                head: script.head.clone(),
                complete: script.complete,
            });
        }
        found.extend(self.programs());
        found
    }

    /// The folder that was named as `given`, and where it is.
    pub fn folder(&self, given: &str) -> Folder {
        let real = self.facts.cwd.as_ref().map(|folder| folder.real_path.clone());
        Folder { given: given.to_owned(), real }
    }

    /// Every program that the commands start, each once. What a shell does by itself is none.
    fn programs(&self) -> Vec<Finding> {
        let Self { argv, analysis, facts } = self;
        let mut names: Vec<&str> = Vec::new();
        for segment in &analysis.segments {
            let by_programs = analysis.starts(segment).filter(|word| !analysis.is_by_shell(segment, word));
            let started = by_programs.map(|word| word.text.as_str());
            names.extend(started.filter(|name| facts.programs.contains_key(*name)));
        }
        if analysis.opaque.is_some() {
            names.extend(argv.first().map(String::as_str));
        }
        let mut told = Vec::new();
        for name in names {
            let program = facts.programs.get(name);
            let path: Option<PathBuf> = program.and_then(|found| found.path.clone());
            let real_path = program.and_then(|found| found.real_path.clone());
            let finding = Finding::Program {
                name: name.to_owned(),
                real_path: real_path.filter(|real| Some(real) != path.as_ref()),
                path,
                writable: program.is_some_and(|found| found.writable),
            };
            if !told.contains(&finding) {
                told.push(finding);
            }
        }
        told
    }
}

/// Why a command that would run here is asked about.
pub fn why(subject: &Subject<'_>, evaluation: &Evaluation, reason: AskReason) -> Why {
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
        entries_checked: u32::try_from(subject.entries.entries().len()).unwrap_or(u32::MAX),
        trace: evaluation.trace(subject),
    }
}

impl Offer {
    /// What the policy lets a person decide about a command that runs here.
    pub fn for_exec(subject: &Subject<'_>, first: &Evaluation) -> Self {
        let choices = always::choices(subject, first);
        let proposals = always::proposals(subject.analysis, subject.facts, subject.policy);
        if choices.iter().any(|choice| choice.rules.is_ok()) {
            return Self {
                decisions: vec![Decision::AllowOnce, Decision::AllowAlways, Decision::Deny],
                proposals: proposals.unwrap_or_default(),
                choices,
                ..Self::default()
            };
        }
        let unavailable = Some(always::unavailable(subject, &choices, proposals.err()));
        Self { unavailable, ..Self::once() }
    }

    /// The same about a sandbox. What is remembered counts on the machine itself as well, so
    /// nothing is from there.
    pub fn for_sandbox() -> Self {
        Self { unavailable: Some(AlwaysUnavailable::Sandbox), ..Self::once() }
    }

    /// What an asker offers (docs/protocol/approval-socket.md, "Offered decisions"): its own list in its
    /// order, else by its ask.
    pub fn for_ask(allowed: &[Decision], ask: Option<&str>) -> Self {
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
        Self { decisions, unavailable, ..Self::default() }
    }
}

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
}
