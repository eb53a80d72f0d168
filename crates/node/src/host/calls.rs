//! What rules and the policy of this machine say about calls of tools. The policy is about commands, and a
//! tool that changes files or starts something else goes no further than they may: where nothing may run, no
//! tool may do anything either, and where everything runs unasked, nobody is asked about a tool of an agent's
//! own that could be a command as well. In between, a person's rules about calls allow some
//! ([`countersign_policy::calls`]).

use super::own_rules::{RefusingRule, Ruled};
use super::record::Recorder;
use super::refusal::{Refusal, denied, refused_by};
use super::{Host, Placement};
use countersign_approvals::question::{Offer, Question, Subject};
use countersign_commands::analysis;
use countersign_policy::effective::Effective;
use countersign_policy::evaluate::{DenyReason, Origin};
use countersign_protocol::question::Outcome;
use countersign_protocol::state::StoreState;
use countersign_protocol::trace::PolicyLayer;
use countersign_protocol::vocabulary::{Ask, Security};

/// What is left of a question after the policy.
#[derive(Debug)]
#[must_use]
pub enum Settled {
    /// A person has to be asked.
    Open,
    /// The policy lets everything through unasked, and the history has its line.
    Allowed,
    /// The policy or a rule of the person's refuses it, and the history has its line.
    Refused(Box<Refusal>),
}

impl Host {
    /// What policy and rules say about a call of a tool on this machine without a person. `may_allow` is
    /// whether a policy that lets every command run unasked counts for it too. A question that stays open
    /// gets what can be remembered about it. Commands themselves are judged elsewhere: they stay open here.
    pub async fn settle_call(&self, question: &mut Question, may_allow: bool) -> Settled {
        let recorder = Recorder::ask(&self.parts, question);
        let Subject::Tool(call) = &mut question.subject else { return Settled::Open };
        call.facts.home = self.parts.home.to_str().map(str::to_owned);
        if let Some(rule) = self.refusing_call(question).await {
            recorder.ended(refused_by(&rule)).await;
            return Settled::Refused(Box::new(denied(DenyReason::Rule, Origin::Fresh).by_rule(&rule)));
        }
        let Subject::Tool(call) = &question.subject else { return Settled::Open };
        let ruling = self.call_ruling(&question.agent, question.session.as_ref(), &call.facts).await;
        if let Ruled::Deny(rule) = &ruling {
            recorder.ended(refused_by(rule)).await;
            return Settled::Refused(Box::new(denied(DenyReason::Rule, Origin::Fresh).by_rule(rule)));
        }
        let policy = Placement::default().policy(&*self.in_force(&question.agent).await);
        let (security, ask) = (policy.security.value, policy.ask.value);
        let ruling = match ruling {
            Ruled::Nothing => {
                let session = question.session.as_ref();
                self.open_for_call(&question.agent, session, &call.facts, policy.attendance()).await
            }
            ruling => ruling,
        };
        let outcome = match (security, ask, ruling) {
            (Security::Deny, ..) => {
                let refusal = self.nothing_may_run();
                recorder.ended(refusal.outcome.clone()).await;
                return Settled::Refused(Box::new(refusal));
            }
            (.., Ruled::Unknown) => None,
            (Security::Full, Ask::Off | Ask::OnMiss, _) if may_allow => Some(Outcome::AllowedByPolicy),
            (Security::Allowlist, Ask::Off | Ask::OnMiss, Ruled::Allow(ids)) => {
                match self.parts.rules.spend(ids).await {
                    Ok(()) => Some(Outcome::AllowedByRule),
                    Err(error) => {
                        tracing::info!(%error, "a rule did not pay for a call; asking");
                        None
                    }
                }
            }
            (Security::Full | Security::Allowlist, ..) => None,
        };
        let Some(outcome) = outcome else {
            question.offer = Offer::for_call(&call.facts, security, ask);
            return Settled::Open;
        };
        allowed(&recorder, outcome).await
    }

    /// Refuses a call that is asked about next, or judged as something else, where a rule is about the call
    /// itself; the history has its line then.
    pub async fn refuse_call(&self, question: &Question) -> Result<(), Box<Refusal>> {
        let Some(rule) = self.refusing_call(question).await else { return Ok(()) };
        let recorder = Recorder::ask(&self.parts, question);
        recorder.ended(refused_by(&rule)).await;
        Err(Box::new(denied(DenyReason::Rule, Origin::Fresh).by_rule(&rule)))
    }

    /// Refuses a call that nobody is asked about, by the rules and where somebody said that nothing may be
    /// done: what nobody set is no reason to keep an agent from reading.
    pub async fn refuse_unasked(&self, question: &Question) -> Result<(), Box<Refusal>> {
        self.refuse_call(question).await?;
        let policy = Placement::default().policy(&*self.in_force(&question.agent).await);
        let is_said = policy.security.layer != PolicyLayer::BuiltIn
            || !matches!(self.parts.store.current().state, StoreState::Missing | StoreState::Ready);
        if policy.security.value != Security::Deny || !is_said {
            return Ok(());
        }
        let refusal = self.nothing_may_run();
        Recorder::ask(&self.parts, question).ended(refusal.outcome.clone()).await;
        Err(Box::new(refusal))
    }

    /// Security is `deny`, by the document or because that cannot be used.
    pub(super) fn nothing_may_run(&self) -> Refusal {
        denied(DenyReason::SecurityDeny, Origin::Fresh).of_document(&self.parts.store.current())
    }

    /// The rule that refuses a call of a tool, one of the commands in its parameters, or a connection.
    pub(super) async fn refusing_call(&self, question: &Question) -> Option<RefusingRule> {
        let session = question.session.as_ref();
        if let Subject::Tool(call) = &question.subject {
            let cwd = call.folder.as_ref().map_or("/", |folder| folder.given.as_str());
            for text in &call.commands {
                let glance = self.glance(analysis::analyze_text(text), cwd);
                let rule = self.refusing(&question.agent, session, &glance.analysis, &glance.facts).await;
                if rule.is_some() {
                    return rule;
                }
            }
        }
        match self.call_ruling(&question.agent, session, question.subject.call_facts()?).await {
            Ruled::Deny(rule) => Some(rule),
            Ruled::Allow(_) | Ruled::Nothing | Ruled::Unknown => None,
        }
    }

    /// The same about a connection out of a box, by the policy of the run in it: rules decide, and where
    /// nobody is asked, what no rule covers is refused. What `by_rule` says is asked about whatever rules say
    /// is not allowed by one.
    pub(super) async fn settle_crossing(
        &self,
        question: &mut Question,
        policy: &Effective,
        by_rule: ByRule,
    ) -> Settled {
        let recorder = Recorder::ask(&self.parts, question);
        let Some(facts) = question.subject.call_facts() else { return Settled::Open };
        let ruling = self.call_ruling(&question.agent, question.session.as_ref(), facts).await;
        let refused = match (ruling, by_rule, policy.ask.value) {
            (Ruled::Deny(rule), ..) => denied(DenyReason::Rule, Origin::Fresh).by_rule(&rule),
            (Ruled::Allow(ids), ByRule::Decides, Ask::Off | Ask::OnMiss) => {
                match self.parts.rules.spend(ids).await {
                    Ok(()) => return allowed(&recorder, Outcome::AllowedByRule).await,
                    Err(error) => {
                        tracing::info!(%error, "a rule did not pay for a connection");
                        denied(DenyReason::AllowlistMiss, Origin::Fresh)
                    }
                }
            }
            _ => denied(DenyReason::AllowlistMiss, Origin::Fresh),
        };
        let by_a_rule = refused.said_by_rule().is_some();
        if !by_a_rule && policy.ask.value != Ask::Off {
            question.offer = Offer::for_call(facts, policy.security.value, policy.ask.value);
            return Settled::Open;
        }
        recorder.ended(refused.outcome.clone()).await;
        Settled::Refused(Box::new(refused))
    }
}

/// Whether rules that allow have a say.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ByRule {
    /// They have.
    Decides,
    /// A person has to look whatever they say.
    Asks,
}

async fn allowed(recorder: &Recorder, outcome: Outcome) -> Settled {
    match recorder.allowed(outcome).await {
        Ok(()) => Settled::Allowed,
        Err(refusal) => {
            recorder.ended(refusal.outcome.clone()).await;
            Settled::Refused(Box::new(refusal))
        }
    }
}
