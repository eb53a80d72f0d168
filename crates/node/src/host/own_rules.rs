//! Rules of our own in the flow of a request: asked with everything else, and paid for before the run.

use super::{Host, Judged};
use crate::facts;
use countersign_approvals::rules::{Current, state};
use countersign_commands::analysis::Analysis;
use countersign_policy::calls::{self, CallFacts, CallRuling, Effects};
use countersign_policy::evaluate::{Evaluation, Evidence, LocalRules, Verdict};
use countersign_policy::facts::Facts;
use countersign_policy::rules::{Folders, Moment, Ruling, as_refused, describe, rulings, visited};
use countersign_policy::workspaces;
use countersign_protocol::ids::{AgentId, SessionKey};
use countersign_protocol::rule_edits::RuleState;
use countersign_protocol::rules::{Attendance, CallRule, CallSubject, CommandRule, NetPlace, Workspace};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The rules as they are asked about one command.
pub(super) struct OwnRules {
    current: Arc<Current>,
    folders: Folders,
    uses: HashMap<String, u32>,
    agent: AgentId,
    session: Option<SessionKey>,
    now_ms: i64,
    effects: Effects,
    /// The rule that refuses what the command may do without saying so.
    unclear: Option<String>,
}

/// A rule that refuses, as it is named: its id would tell nobody which one it is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct RefusingRule(pub(super) String);

impl RefusingRule {
    fn of(rule: &CommandRule) -> Self {
        Self(as_refused(&describe(rule), rule.note.as_deref()))
    }

    fn of_call(rule: &CallRule) -> Self {
        Self(as_refused(&calls::describe(rule), rule.note.as_deref()))
    }
}

/// What the rules say about a call that is no command.
pub(super) enum Ruled {
    /// It may be made, paid for by the rules with these ids.
    Allow(Vec<String>),
    /// A rule refuses it.
    Deny(RefusingRule),
    /// Nothing.
    Nothing,
    /// They cannot be understood: one of them may refuse it.
    Unknown,
}

/// Why a run must be judged again.
#[must_use]
pub(super) enum Payment {
    /// Nothing changed and every use is counted.
    Done,
    /// A rule no longer counts, could not be counted, or another one came.
    Refused,
}

impl OwnRules {
    pub(super) fn local(&self) -> LocalRules<'_> {
        if !self.current.is_known() {
            return LocalRules::Unreadable;
        }
        LocalRules::Known {
            rules: &self.current.index,
            folders: &self.folders,
            moment: self.moment(),
            unclear: self.unclear.as_deref(),
        }
    }

    fn moment(&self) -> Moment<'_> {
        Moment {
            agent: self.agent.as_str(),
            session: self.session.as_ref().map(SessionKey::as_str),
            now_ms: self.now_ms,
            uses: &self.uses,
        }
    }

    /// The open folder in which a run takes place.
    pub(super) fn open_around(&self, folder: &Path, attendance: Attendance) -> Option<Workspace> {
        let document = self.current.document.as_ref()?;
        let is_live = |one: &&Workspace| state(*one, &self.current.counts, self.now_ms) == RuleState::Live;
        let live: Vec<Workspace> = document.workspaces.iter().filter(is_live).cloned().collect();
        workspaces::around(&live, folder, attendance, self.moment())
    }

    /// Every folder that is open for anybody.
    pub(super) fn opened(&self) -> impl Iterator<Item = PathBuf> {
        let workspaces = self.current.document.iter().flat_map(|document| &document.workspaces);
        let open = workspaces.filter(|workspace| workspace.standing.is_open());
        open.map(|workspace| PathBuf::from(&workspace.folder))
    }

    /// Ports of this machine that a rule is about: whether it allows anything is for each connection to hear.
    pub(super) fn ports_of_this_machine(&self) -> impl Iterator<Item = u16> {
        let rules = self.current.document.iter().flat_map(|document| &document.calls);
        rules.filter_map(|rule| match &rule.about {
            CallSubject::Crossing { port, place: NetPlace::ThisMachine, .. } => Some(*port),
            _ => None,
        })
    }

    /// The rule that refuses.
    pub(super) fn refused_by(&self, evaluation: &Evaluation) -> Option<RefusingRule> {
        self.current.index.rules().get(evaluation.refused?).map(RefusingRule::of)
    }

    /// The rule about calls that refuses what the command is seen to do.
    pub(super) fn refuses_what_it_does(&self) -> Option<RefusingRule> {
        let Effects::Refused(at) = self.effects else { return None };
        self.current.document.as_ref()?.calls.get(at).map(RefusingRule::of_call)
    }

    /// Ids of the rules without which the command would not run.
    fn paying(&self, evaluation: &Evaluation) -> Vec<String> {
        match &evaluation.verdict {
            Verdict::Allow(Evidence::Entries | Evidence::FallbackEntries) => {}
            Verdict::Contain(contained) => return vec![contained.rule.clone()],
            Verdict::Allow(_) | Verdict::Ask(_) | Verdict::Deny(_) => return Vec::new(),
        }
        let rules = evaluation.spends.iter().filter_map(|index| self.current.index.rules().get(*index));
        rules.map(|rule| rule.id.clone()).collect()
    }

    /// Takes rules for used up, whatever their counts say: they could not be counted.
    pub(super) fn withdraw(&mut self, ids: Vec<String>) {
        self.uses.extend(ids.into_iter().map(|id| (id, u32::MAX)));
    }
}

impl Host {
    /// The rules as they are on disk now, asked by `agent` in `session` about a command; `argv` is its
    /// argument list, empty for a text.
    pub(super) async fn own_rules(
        &self,
        (agent, session): (&AgentId, Option<&SessionKey>),
        argv: &[String],
        analysis: &Analysis,
        facts: &Facts,
    ) -> OwnRules {
        let mut own = self.rules_of(agent, session, facts::real_folders(visited(analysis, facts))).await;
        let rules = own.current.document.as_ref().map_or(&[][..], |document| &document.calls);
        own.effects = calls::effects_of_command(rules, (analysis, argv, facts), own.moment(), &facts::Disk);
        if let Effects::Unclear(at) = own.effects {
            let named =
                rules.get(at).map(|rule| format!("{} ({})", RefusingRule::of_call(rule).0, rule.agent));
            own.unclear = Some(named.unwrap_or_default());
        }
        own
    }

    /// The same about what is no command, or one that moves to these folders.
    pub(super) async fn rules_of(
        &self,
        agent: &AgentId,
        session: Option<&SessionKey>,
        folders: Folders,
    ) -> OwnRules {
        let current = self.parts.rules.refresh().await;
        OwnRules {
            folders,
            uses: current.uses.clone(),
            agent: agent.clone(),
            session: session.cloned(),
            now_ms: self.parts.ports.clock.now_ms(),
            current,
            effects: Effects::Free,
            unclear: None,
        }
    }

    /// Pays for a run with the rules that allow it, as the last thing before it starts. Ids of the rules that
    /// it would have been paid with come along.
    pub(super) async fn pay(&self, judged: &Judged, evaluation: &Evaluation) -> (Payment, Vec<String>) {
        let changed = self.parts.rules.refresh().await.hash != judged.own.current.hash;
        // What a person answered was judged by the rules as they were after the answer.
        if changed && !matches!(evaluation.verdict, Verdict::Allow(Evidence::Person { .. })) {
            return (Payment::Refused, Vec::new());
        }
        let ids = judged.own.paying(evaluation);
        if ids.is_empty() {
            return (Payment::Done, ids);
        }
        match self.parts.rules.spend(ids.clone()).await {
            Ok(()) => (Payment::Done, ids),
            Err(error) => {
                tracing::info!(%error, "a rule did not pay for a run; asking");
                (Payment::Refused, ids)
            }
        }
    }

    /// The rule that refuses a command which somebody else would run.
    pub(super) async fn refusing(
        &self,
        agent: &AgentId,
        session: Option<&SessionKey>,
        analysis: &Analysis,
        facts: &Facts,
    ) -> Option<RefusingRule> {
        let own = self.own_rules((agent, session), &[], analysis, facts).await;
        let LocalRules::Known { rules, folders, moment, .. } = own.local() else { return None };
        if let Some(rule) = own.refuses_what_it_does() {
            return Some(rule);
        }
        let refusing =
            rulings(analysis, facts, folders, rules, moment).into_iter().find_map(|ruling| match ruling {
                Some(Ruling::Deny(index)) => rules.rules().get(index),
                Some(Ruling::Allow(_)) | None => None,
            });
        refusing.map(RefusingRule::of)
    }

    /// What the rules as they are on disk now say about a call that is no command.
    pub(super) async fn call_ruling(
        &self,
        agent: &AgentId,
        session: Option<&SessionKey>,
        call: &CallFacts,
    ) -> Ruled {
        let current = self.parts.rules.refresh().await;
        let Some(document) = &current.document else { return Ruled::Unknown };
        let now_ms = self.parts.ports.clock.now_ms();
        let is_live = |rule: &&CallRule| state(*rule, &current.counts, now_ms) == RuleState::Live;
        let rules: Vec<CallRule> = document.calls.iter().filter(is_live).cloned().collect();
        let moment = Moment {
            agent: agent.as_str(),
            session: session.map(SessionKey::as_str),
            now_ms,
            uses: &current.uses,
        };
        match calls::ruling(&rules, call, moment) {
            None => Ruled::Nothing,
            Some(CallRuling::Unclear) => Ruled::Unknown,
            Some(CallRuling::Allow(indexes)) => {
                let ids = indexes.iter().filter_map(|index| rules.get(*index)).map(|rule| rule.id.clone());
                Ruled::Allow(ids.collect())
            }
            Some(CallRuling::Deny(index)) => {
                rules.get(index).map_or(Ruled::Unknown, |rule| Ruled::Deny(RefusingRule::of_call(rule)))
            }
        }
    }
}
