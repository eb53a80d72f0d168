//! What a person's "always" leaves behind. Its rules were computed for the question; whoever answers only
//! says which of them, and for how long. They are stored before the answer counts, and taken back when
//! it came too late.

use crate::actor::Approvals;
use crate::book::{NotAnswered, Record};
use crate::question::Question;
use crate::rules::{RuleChange, RuleStore, RulesError};
use crate::store::{Change, Looser, Store, StoreError, Writer};
use countersign_policy::rules::{Longest, Offer, longest_of};
use countersign_protocol::edits::DocumentEdit;
use countersign_protocol::question::RuleScope;
use countersign_protocol::remember::{
    Lasting, MAX_LASTING_MS, MAX_LASTING_USES, MIN_LASTING_MS, Remember, Rung, SESSION_MS,
};
use countersign_protocol::rule_edits::RuleEdit;
use countersign_protocol::rules::{
    Attendance, CallRuleDraft, CallSubject, FolderStanding, RuleDraft, RuleEffect, RuleLimits, WorkspaceDraft,
};
use countersign_protocol::vocabulary::Decision;

/// Where answers are remembered.
#[derive(Clone, Copy)]
pub struct Memory<'a> {
    /// The peers' document.
    pub store: &'a Store,
    /// Our own rules.
    pub rules: &'a RuleStore,
}

/// Why an "always" did not count. The question goes on waiting, unless it is gone; nothing is stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotRemembered {
    /// The question cannot be answered so.
    #[error(transparent)]
    NotAnswered(#[from] NotAnswered),
    /// What is to be remembered is not one of the rules that were offered.
    #[error("rung: expected one of those offered with the question")]
    NotOffered,
    /// Nobody remembers anything for so long, or for so many runs.
    #[error("lasting: {0}")]
    Lasting(NotLasting),
    /// The document did not take it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The rules did not take it.
    #[error(transparent)]
    Rules(#[from] RulesError),
}

/// Why something is not remembered for as long as was wanted.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NotLasting {
    /// Too few or too many runs.
    #[error("expected 1 to {MAX_LASTING_USES} uses, got {0}")]
    Uses(u32),
    /// Too short or too long.
    #[error("expected {MIN_LASTING_MS} to {MAX_LASTING_MS} milliseconds, got {0}")]
    Time(u64),
    /// There is no session that it could end with.
    #[error("the request names no session")]
    NoSession,
    /// The same words do the same harm to whatever is there by then.
    #[error("expected the session or at most {SESSION_MS} milliseconds")]
    BeyondTheSession,
}

/// What was stored for an answer, as the edits that take it back.
enum TakeBack {
    Entry(Vec<DocumentEdit>),
    Rules(Vec<RuleEdit>),
}

impl Memory<'_> {
    /// Answers a question with "always": stores what `remember` chooses of its offer, then answers it. `by`
    /// is who answers, `now_ms` the wall clock. Not cancel-safe in its middle: what was stored stays when the
    /// future is dropped before the answer counted, and the person finds it among the rules.
    ///
    /// A folder that is opened answers nothing by itself: whoever asked finds that its command runs in a box
    /// now, and withdraws the question. Where it does not, the person is still asked.
    pub async fn allow_always(
        &self,
        approvals: &Approvals,
        record: &Record,
        remember: &Remember,
        by: &str,
        now_ms: i64,
    ) -> Result<(), NotRemembered> {
        let question = record.question.as_ref();
        if let Some(objection) = question.objection(Decision::AllowAlways) {
            return Err(objection.into());
        }
        if remember.rung == Rung::Workspace {
            return self.open(question, remember, now_ms).await;
        }
        let kept = self.keep(question, remember, now_ms).await?;
        let answered = approvals.resolve(&record.id, Decision::AllowAlways, by).await;
        if answered.is_err() {
            self.take_back(kept).await;
        }
        Ok(answered?)
    }

    async fn open(&self, question: &Question, remember: &Remember, now_ms: i64) -> Result<(), NotRemembered> {
        let folder = question.offer.workspace.clone().ok_or(NotRemembered::NotOffered)?;
        if let Lasting::Uses { uses } = remember.lasting {
            return Err(NotRemembered::Lasting(NotLasting::Uses(uses)));
        }
        let limits = limits(&remember.lasting, question, now_ms).map_err(NotRemembered::Lasting)?;
        let rule = WorkspaceDraft {
            agent: question.agent.to_string(),
            folder,
            standing: FolderStanding::Open,
            attendance: Attendance::Attended,
            places: Vec::new(),
            limits,
            note: None,
        };
        self.keep_rules(vec![RuleEdit::OpenWorkspace { rule }]).await.map(drop)
    }

    async fn keep(
        &self,
        question: &Question,
        remember: &Remember,
        now_ms: i64,
    ) -> Result<TakeBack, NotRemembered> {
        let offer = &question.offer;
        let limits = limits(&remember.lasting, question, now_ms).map_err(NotRemembered::Lasting)?;
        let is_kept_for = |longest: Longest| match longest {
            Longest::Session if !ends_with_the_session(&remember.lasting) => {
                Err(NotRemembered::Lasting(NotLasting::BeyondTheSession))
            }
            Longest::Session | Longest::Always => Ok(()),
        };
        if let Some(choice) = offer.calls.iter().find(|choice| choice.rung == remember.rung) {
            is_kept_for(choice.longest)?;
            let edits = choice.about.iter().map(|about| added_for_calls(about, question, &limits)).collect();
            return self.keep_rules(edits).await;
        }
        let chosen = offer.choices.iter().find(|choice| choice.rung == remember.rung);
        let offers = chosen.and_then(|choice| choice.rules.as_ref().ok()).ok_or(NotRemembered::NotOffered)?;
        is_kept_for(longest_of(offers))?;
        // The exact command without an end is what the peers remember too, so that is where it goes.
        let exact = offer.proposals.iter().find(|proposal| proposal.scope == RuleScope::Exact);
        // They do not look at what files contain.
        let is_theirs = remember.rung == Rung::Exact
            && limits.is_unlimited()
            && offers.iter().all(|offer| offer.contents.is_empty());
        match exact.filter(|_| is_theirs) {
            Some(proposal) => {
                let edits = vec![proposal.entry(&question.agent)];
                let (looser, writer) = (Looser::Confirmed, Writer::Answer);
                let change = Change { base_hash: None, edits, looser, writer };
                Ok(TakeBack::Entry(self.store.edit(change).await?.undo))
            }
            None => {
                self.keep_rules(offers.iter().map(|offer| added(offer, question, &limits)).collect()).await
            }
        }
    }

    async fn keep_rules(&self, edits: Vec<RuleEdit>) -> Result<TakeBack, NotRemembered> {
        let change = RuleChange { base_hash: None, edits, looser: Looser::Confirmed, writer: Writer::Answer };
        Ok(TakeBack::Rules(self.rules.edit(change).await?.undo))
    }

    /// What cannot be taken back is logged: the person finds it among the rules.
    async fn take_back(&self, kept: TakeBack) {
        let (looser, writer) = (Looser::Refuse, Writer::Answer);
        let failure = match kept {
            TakeBack::Entry(edits) => {
                let change = Change { base_hash: None, edits, looser, writer };
                self.store.edit(change).await.err().map(|error| error.to_string())
            }
            TakeBack::Rules(edits) => {
                let change = RuleChange { base_hash: None, edits, looser, writer };
                self.rules.edit(change).await.err().map(|error| error.to_string())
            }
        };
        if let Some(failure) = failure {
            tracing::error!(%failure, "what was stored for an answer that came too late could not be taken back");
        }
    }
}

fn added(offer: &Offer, question: &Question, limits: &RuleLimits) -> RuleEdit {
    RuleEdit::AddRule {
        rule: RuleDraft {
            agent: question.agent.to_string(),
            effect: RuleEffect::Allow,
            program: offer.program.clone(),
            arguments: offer.arguments.clone(),
            folder: offer.folder.clone(),
            contents: offer.contents.clone(),
            limits: limits.clone(),
            note: None,
        },
    }
}

fn added_for_calls(about: &CallSubject, question: &Question, limits: &RuleLimits) -> RuleEdit {
    RuleEdit::AddCallRule {
        rule: CallRuleDraft {
            agent: question.agent.to_string(),
            effect: RuleEffect::Allow,
            about: about.clone(),
            limits: limits.clone(),
            note: None,
        },
    }
}

fn limits(lasting: &Lasting, question: &Question, now_ms: i64) -> Result<RuleLimits, NotLasting> {
    let none = RuleLimits::default();
    match *lasting {
        Lasting::Uses { uses } if (1..=MAX_LASTING_USES).contains(&uses) => {
            Ok(RuleLimits { uses: Some(uses), ..none })
        }
        Lasting::Uses { uses } => Err(NotLasting::Uses(uses)),
        Lasting::For { ms } if (MIN_LASTING_MS..=MAX_LASTING_MS).contains(&ms) => {
            let until_ms = now_ms.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX));
            Ok(RuleLimits { until_ms: Some(until_ms), ..none })
        }
        Lasting::For { ms } => Err(NotLasting::Time(ms)),
        Lasting::Session => match &question.session {
            Some(session) => Ok(RuleLimits { session: Some(session.to_string()), ..none }),
            None => Err(NotLasting::NoSession),
        },
        Lasting::Always => Ok(none),
    }
}

/// Whether it is over when the session, or a working day, is.
fn ends_with_the_session(lasting: &Lasting) -> bool {
    match lasting {
        Lasting::Session => true,
        Lasting::For { ms } => *ms <= SESSION_MS,
        Lasting::Uses { .. } | Lasting::Always => false,
    }
}

#[cfg(test)]
mod tests;
