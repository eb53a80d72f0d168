//! What the policy of this machine says about calls of tools. It is about commands, and a tool that changes files or starts
//! something else goes no further than they may: where nothing may run, no tool may do anything either, and where everything runs
//! unasked, nobody is asked about a tool of an agent's own that could be a command as well.

use super::record::Recorder;
use super::refusal::{Refusal, denied, refused_by};
use super::{Host, Placement};
use countersign_approvals::question::{Question, Subject};
use countersign_commands::analysis;
use countersign_policy::evaluate::{DenyReason, Origin};
use countersign_protocol::question::Outcome;
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
    /// What policy and rules say about a call of a tool on this machine without a person. `may_allow` is whether a policy that lets
    /// every command run unasked counts for it too. Commands themselves are judged elsewhere: they stay open here.
    pub async fn settle_call(&self, question: &Question, may_allow: bool) -> Settled {
        let Subject::Tool(call) = &question.subject else { return Settled::Open };
        let recorder = Recorder::ask(&self.parts, question);
        let cwd = call.folder.as_ref().map_or("/", |folder| folder.given.as_str());
        for text in &call.commands {
            let glance = self.glance(analysis::analyze_text(text), cwd);
            let session = question.session.as_ref();
            let rule = self.refusing(&question.agent, session, &glance.analysis, &glance.facts).await;
            if let Some(rule) = rule {
                recorder.ended(refused_by(&rule.id)).await;
                return Settled::Refused(Box::new(denied(DenyReason::Rule, Origin::Fresh).by_rule(&rule)));
            }
        }
        let policy = Placement::default().policy(&*self.in_force(&question.agent).await);
        match (policy.security.value, policy.ask.value) {
            (Security::Deny, _) => {
                let refusal = denied(DenyReason::SecurityDeny, Origin::Fresh);
                recorder.ended(refusal.outcome.clone()).await;
                Settled::Refused(Box::new(refusal))
            }
            (Security::Full, Ask::Off | Ask::OnMiss) if may_allow => {
                match recorder.allowed(Outcome::AllowedByPolicy).await {
                    Ok(()) => Settled::Allowed,
                    Err(refusal) => {
                        recorder.ended(refusal.outcome.clone()).await;
                        Settled::Refused(Box::new(refusal))
                    }
                }
            }
            (Security::Full | Security::Allowlist, _) => Settled::Open,
        }
    }
}
