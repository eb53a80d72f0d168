//! What a person's "always" leaves behind. The rules are those that were computed for the request; a window only says
//! which of them, and for how long. They are stored before the answer counts, and taken back when it came too late.

use super::{Desk, blocking, error, gone, store_error};
use countersign_approvals::book::Record;
use countersign_approvals::history;
use countersign_approvals::question::Question;
use countersign_approvals::rules::RuleChange;
use countersign_approvals::store::{Change, Looser, Writer};
use countersign_node::host::Past;
use countersign_policy::always::Proposal;
use countersign_policy::display;
use countersign_policy::rules::{Longest, Offer, longest_of};
use countersign_protocol::ids::AgentId;
use countersign_protocol::rules::{RuleDraft, RuleEffect, RuleLimits};
use countersign_protocol::ui::{
    CardKind, CommandError, DocumentEdit, ErrorCode, HistoryEntry, HistoryEvent, Lasting, MAX_LASTING_MS,
    MAX_LASTING_USES, MIN_LASTING_MS, Outcome, Remember, RuleBreadth, RuleEdit, RuleScope, Rung, RungBreadth,
    SESSION_MS,
};

/// What was stored for an answer, as the edits that take it back.
#[must_use]
pub(super) enum Kept {
    /// An entry in the peers' document.
    Entry(Vec<DocumentEdit>),
    /// Rules of our own.
    Rules(Vec<RuleEdit>),
}

impl Desk {
    /// Stores what the answer to `record` leaves behind.
    pub(super) async fn keep(
        &self,
        record: &Record,
        remember: Option<&Remember>,
    ) -> Result<Kept, CommandError> {
        let question = record.question.as_ref();
        let offer = &question.offer;
        let remember =
            remember.ok_or_else(|| error(ErrorCode::Invalid, "remember: expected with allow-always"))?;
        let offers = offer.choices.iter().find(|choice| choice.rung == remember.rung);
        let offers = offers
            .and_then(|choice| choice.rules.as_ref().ok())
            .ok_or_else(|| error(ErrorCode::Invalid, "rung: expected one of those offered on the card"))?;
        let limits = self.limits(&remember.lasting, question)?;
        if longest_of(offers) == Longest::Session && !ends_with_the_session(&remember.lasting) {
            let most = format!("lasting: expected the session or at most {SESSION_MS} milliseconds");
            return Err(error(ErrorCode::Invalid, most));
        }
        // The exact command without an end is what the peers remember too, so that is where it goes.
        let exact = offer.proposals.iter().find(|proposal| proposal.scope == RuleScope::Exact);
        // They do not look at what files contain.
        let is_theirs = remember.rung == Rung::Exact
            && limits.is_unlimited()
            && offers.iter().all(|offer| offer.contents.is_empty());
        match exact.filter(|_| is_theirs) {
            Some(proposal) => self.keep_entry(question, proposal).await,
            None => self.keep_rules(question, offers, limits).await,
        }
    }

    /// Takes back what was stored for an answer that came too late. What cannot be taken back is logged: the person finds
    /// it among the rules.
    pub(super) async fn take_back(&self, kept: Kept) {
        let parts = &self.inner.parts;
        let (looser, writer) = (Looser::Refuse, Writer::Answer);
        let failure = match kept {
            Kept::Entry(edits) => {
                let change = Change { base_hash: None, edits, looser, writer };
                parts.store.edit(change).await.err().map(|error| error.to_string())
            }
            Kept::Rules(edits) => {
                let change = RuleChange { base_hash: None, edits, looser, writer };
                parts.rules.edit(change).await.err().map(|error| error.to_string())
            }
        };
        if let Some(failure) = failure {
            tracing::error!(%failure, "what was stored for an answer that came too late could not be taken back");
        }
    }

    /// For each rung on a card, what its rules would have let run among past requests of the same agent.
    pub async fn breadth_of_card(&self, id: &str) -> Result<Vec<RungBreadth>, CommandError> {
        let record = self.inner.parts.approvals.snapshot(id).await.filter(|record| record.ending.is_none());
        let record = record.ok_or_else(|| gone(id))?;
        let past = self.past(PAST_REQUESTS, recalled).await?;
        let Question { agent, offer, .. } = record.question.as_ref();
        Ok(self.inner.parts.host.breadth_of_choices(agent, &offer.choices, &past).await)
    }

    /// For each stored rule, how many past requests it is about.
    pub async fn breadth_of_rules(&self) -> Result<Vec<RuleBreadth>, CommandError> {
        let past = self.past(PAST_REQUESTS, recalled).await?;
        Ok(self.inner.parts.host.breadth_of_rules(&past).await)
    }

    async fn keep_entry(&self, question: &Question, proposal: &Proposal) -> Result<Kept, CommandError> {
        let change = Change {
            base_hash: None,
            edits: vec![DocumentEdit::AddEntry {
                agent: question.agent.to_string(),
                pattern: proposal.pattern.clone(),
                arg_pattern: proposal.arg_pattern.clone(),
                source: proposal.generated.then(|| "allow-always".to_owned()),
            }],
            looser: Looser::Confirmed,
            writer: Writer::Answer,
        };
        let result = self.inner.parts.store.edit(change).await.map_err(store_error)?;
        Ok(Kept::Entry(result.undo))
    }

    async fn keep_rules(
        &self,
        question: &Question,
        offers: &[Offer],
        limits: RuleLimits,
    ) -> Result<Kept, CommandError> {
        let edit = |offer: &Offer| RuleEdit::AddRule {
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
        };
        let change = RuleChange {
            base_hash: None,
            edits: offers.iter().map(edit).collect(),
            looser: Looser::Confirmed,
            writer: Writer::Answer,
        };
        let result = self.inner.parts.rules.edit(change).await.map_err(super::rules::rules_error)?;
        Ok(Kept::Rules(result.undo))
    }

    fn limits(&self, lasting: &Lasting, question: &Question) -> Result<RuleLimits, CommandError> {
        let invalid = |what: &str| error(ErrorCode::Invalid, format!("lasting: {what}"));
        let none = RuleLimits::default();
        match *lasting {
            Lasting::Uses { uses } if (1..=MAX_LASTING_USES).contains(&uses) => {
                Ok(RuleLimits { uses: Some(uses), ..none })
            }
            Lasting::Uses { uses } => {
                Err(invalid(&format!("expected 1 to {MAX_LASTING_USES} uses, got {uses}")))
            }
            Lasting::For { ms } if (MIN_LASTING_MS..=MAX_LASTING_MS).contains(&ms) => {
                let until_ms = self.now_ms().saturating_add(i64::try_from(ms).unwrap_or(i64::MAX));
                Ok(RuleLimits { until_ms: Some(until_ms), ..none })
            }
            Lasting::For { ms } => {
                Err(invalid(&format!("expected {MIN_LASTING_MS} to {MAX_LASTING_MS} milliseconds, got {ms}")))
            }
            Lasting::Session => match &question.session {
                Some(session) => Ok(RuleLimits { session: Some(session.to_string()), ..none }),
                None => Err(invalid("the request names no session")),
            },
            Lasting::Always => Ok(none),
        }
    }

    /// The newest requests in the history that `recalled` wants, at most so many.
    pub(super) async fn past(
        &self,
        most: usize,
        recalled: fn(HistoryEvent) -> Option<Past>,
    ) -> Result<Vec<Past>, CommandError> {
        let dir = self.inner.parts.history_places.lines.clone();
        blocking(move || {
            let mut past = Vec::new();
            let mut before = None;
            for _ in 0..PAST_PAGES {
                let page = history::page(&dir, before, super::HISTORY_PAGE)?;
                past.extend(whole(page.entries).filter_map(recalled));
                before = page.next_before;
                if before.is_none() || past.len() >= most {
                    break;
                }
            }
            past.truncate(most);
            Ok(past)
        })
        .await
    }
}

/// What was written whole: of the others it is not known any more what was asked.
fn whole(entries: Vec<HistoryEntry>) -> impl Iterator<Item = HistoryEvent> {
    entries.into_iter().filter(|entry| entry.cut.is_empty()).map(|entry| entry.event)
}

/// Whether it is over when the session, or a working day, is.
fn ends_with_the_session(lasting: &Lasting) -> bool {
    match lasting {
        Lasting::Session => true,
        Lasting::For { ms } => *ms <= SESSION_MS,
        Lasting::Uses { .. } | Lasting::Always => false,
    }
}

/// A request that would run here.
pub(super) fn recalled(event: HistoryEvent) -> Option<Past> {
    let HistoryEvent::Request { agent, card, command, cwd, outcome, .. } = event else {
        return None;
    };
    if !matches!(card, CardKind::Exec | CardKind::Permit) {
        return None;
    }
    let argv = display::parse_argv_line(&command).filter(|argv| !argv.is_empty())?;
    Some(Past {
        agent: AgentId::of(Some(&display::unescape(&agent)?)),
        argv,
        cwd: cwd.as_deref().and_then(display::unescape),
        denied: matches!(outcome, Outcome::Denied),
    })
}

/// Requests that breadth is counted over: about a day of work, and read in an instant.
pub(super) const PAST_REQUESTS: usize = 200;

/// Most pages of history that are read for them; each request leaves at most two lines.
const PAST_PAGES: usize = 4;

#[cfg(test)]
mod tests;
