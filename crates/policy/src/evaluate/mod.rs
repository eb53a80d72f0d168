//! The precedence function: one numbered list, run twice. The first pass has no answer and may say
//! [`Verdict::Ask`]; the second has one. Its [`Evaluation::trace`] is its own output, not a
//! second implementation.

mod containment;
mod coverage;
mod local;
mod segments;
mod trace;

pub use containment::{Contained, Held, Walls};
pub use local::LocalRules;
pub(crate) use segments::place_of;
pub use segments::{Cover, InlineEval, Miss, SkillBin, Skills, Trust, covers};
pub use trace::unbound_cause;

use crate::allowlist::EntryIndex;
use crate::bind::{Bound, Unbound};
use crate::effective::Effective;
use crate::facts::Facts;
use countersign_commands::analysis::{Analysis, OpaqueReason};
use countersign_protocol::ids::RequestId;
use countersign_protocol::trace::{MissCause, TraceStep};
use countersign_protocol::vocabulary::{Ask, Decision, Security};
use coverage::Coverage;

/// What is judged.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The argument list that would run.
    pub argv: &'a [String],
    /// It taken apart.
    pub analysis: &'a Analysis,
    /// What was probed.
    pub facts: &'a Facts,
    /// What is in force.
    pub policy: &'a Effective,
    /// Entries in evaluation order: those of `*` first.
    pub entries: &'a EntryIndex,
    /// Rules of our own.
    pub local: LocalRules<'a>,
    /// The box that it could run in.
    pub walls: Walls<'a>,
    /// What runs without an entry, and what needs a person in spite of one.
    pub trust: &'a Trust,
    /// Environment overrides that no rule can cover: with any of these the allowlist counts as missed.
    pub unusual_env: &'a [String],
    /// How the request was decided elsewhere.
    pub origin: Origin,
}

/// What the requester says was decided before (docs/protocol/approval-socket.md, "Grants from elsewhere").
/// Checked by the caller against the policy snapshot before it gets here.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Origin {
    /// Nothing.
    #[default]
    Fresh,
    /// Nobody could be asked there: security is at most the fallback, and nobody is asked here.
    AskFallback,
    /// A reviewer program let it pass there.
    AutoReview,
    /// A person answered there, under a policy that is still current.
    Forwarded(Decision),
}

/// An answer to the question of the first pass.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Answer {
    /// A person answered a recorded request.
    Person {
        /// The request in the book and the history.
        request_id: RequestId,
        /// The answer.
        decision: Decision,
    },
    /// Nobody can be asked: the fallback decides.
    Nobody,
}

/// What follows.
#[must_use]
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Evaluation {
    /// What follows.
    pub verdict: Verdict,
    /// What covers each segment, or why nothing does; empty for an opaque command.
    pub covers: Vec<Result<Cover, Miss>>,
    /// Indexes of the entries that cover it, each once, when every segment is covered.
    pub matched: Vec<usize>,
    /// Indexes of the rules of our own that cover the rest of it, each once. They are spent before it runs.
    pub spends: Vec<usize>,
    /// Index of the rule of our own that refuses it.
    pub refused: Option<usize>,
    /// Why it is not contained although its folder is open.
    pub held: Option<Held>,
    /// Indexes of the segments that nothing covers, in order.
    pub missed_segments: Vec<usize>,
    /// What runs when nobody looked. Absent when it cannot be bound.
    pub bound: Option<Bound>,
    /// Why it cannot.
    pub unbound: Option<Unbound>,
    /// What was judged. Private, so that no evaluation is made by hand.
    argv: Vec<String>,
}

impl Evaluation {
    /// The argument list that was judged.
    pub fn argv(&self) -> &[String] {
        &self.argv
    }

    /// Whether the rule of our own with this index covers a part of it.
    pub(crate) fn covers_by_rule(&self, index: usize) -> bool {
        self.covers.contains(&Ok(Cover::Rule(index)))
    }

    /// How it came about, in order; `subject` is what was judged. Written out only here: most decisions are
    /// never explained.
    pub fn trace(&self, subject: &Subject<'_>) -> Vec<TraceStep> {
        trace::steps(subject, self)
    }
}

/// Allow, contain, ask or deny.
#[must_use]
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// It may run, for this reason.
    Allow(Evidence),
    /// It may run in this box and nowhere else.
    Contain(Contained),
    /// A person must be asked.
    Ask(AskReason),
    /// It must not run.
    Deny(DenyReason),
}

/// Why something may run. There is no allow without one of these.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Evidence {
    /// Security is full and nobody needs to be asked.
    Policy,
    /// Every segment is covered by an entry and the command is bound.
    Entries,
    /// A person allowed this recorded request.
    Person {
        /// The request.
        request_id: RequestId,
        /// Once or always.
        decision: Decision,
    },
    /// A person allowed it elsewhere, under a policy that is still current.
    Forwarded(Decision),
    /// A reviewer program let it pass elsewhere, under a policy that is still current.
    AutoReview,
    /// Nobody could be asked, and the fallback is full.
    Fallback,
    /// Nobody could be asked, and the fallback is allowlist with every segment covered.
    FallbackEntries,
    /// A box holds it: only what runs in one has this.
    Contained,
}

/// Why a person must be asked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AskReason {
    /// Ask is always.
    Always,
    /// No entry covers it.
    Miss,
    /// It could not be taken apart.
    Opaque(OpaqueReason),
    /// No entry may cover a part of it, for this cause.
    Uncoverable(MissCause),
    /// It is covered, but cannot be pinned.
    Unbound(Unbound),
    /// It overrides the environment in an unusual way.
    Environment,
    /// It hides what it runs or does, and a rule of our own may refuse that.
    MayBeRefused,
    /// Rules of our own cannot be read, and one may refuse it.
    RulesUnreadable,
}

impl AskReason {
    /// For traces and logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Always => "ask=always",
            Self::Miss => "allowlist-miss",
            Self::Opaque(reason) => reason.as_str(),
            Self::Uncoverable(_) => "uncoverable",
            Self::Unbound(reason) => reason.as_str(),
            Self::Environment => "environment",
            Self::MayBeRefused => "may-be-refused",
            Self::RulesUnreadable => "rules-unreadable",
        }
    }
}

/// Why it must not run; the texts are the peers', as far as they have one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DenyReason {
    /// Security is deny.
    SecurityDeny,
    /// A person said no.
    UserDenied,
    /// A reviewer program cannot answer for a person when ask is always.
    AskAlways,
    /// Not covered, and nobody is or was asked.
    AllowlistMiss,
    /// Covered, but it cannot be pinned to one program.
    AllowlistUnbound,
    /// A rule of our own refuses it.
    Rule,
    /// A rule of our own may refuse it, and nobody can be asked.
    RuleDoubt,
}

impl DenyReason {
    /// For programs: `security=deny`, `user-denied`, `ask=always`, `allowlist-miss`, `allowlist-unbound`,
    /// `rule`, `rule-doubt`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SecurityDeny => "security=deny",
            Self::UserDenied => "user-denied",
            Self::AskAlways => "ask=always",
            Self::AllowlistMiss => "allowlist-miss",
            Self::AllowlistUnbound => "allowlist-unbound",
            Self::Rule => "rule",
            Self::RuleDoubt => "rule-doubt",
        }
    }
}

/// Judges `subject`. Without an answer the verdict may be [`Verdict::Ask`]; with one it never is.
pub fn evaluate(subject: &Subject<'_>, answer: Option<&Answer>) -> Evaluation {
    let coverage = Coverage::of(subject);
    let mut held = None;
    let verdict = precedence(subject, &coverage, answer, &mut held);
    Evaluation {
        verdict,
        held,
        matched: coverage.winners(),
        spends: coverage.spends(),
        refused: coverage.ruled.refused,
        missed_segments: coverage.missed_segments,
        covers: coverage.covers,
        unbound: coverage.bound.as_ref().err().copied(),
        bound: coverage.bound.ok(),
        argv: subject.argv.to_vec(),
    }
}

/// Whether a person must be asked (docs/protocol/commands.md, "When a person is asked").
pub fn needs_prompt(security: Security, ask: Ask, covered: Covered) -> bool {
    match (ask, security, covered) {
        (Ask::Always, _, _) | (Ask::OnMiss, Security::Allowlist, Covered::No) => true,
        (Ask::OnMiss, Security::Allowlist, Covered::ByRules)
        | (Ask::OnMiss, Security::Full | Security::Deny, _)
        | (Ask::Off, _, _) => false,
    }
}

/// Whether entries cover the whole command and what they cover can be pinned.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Covered {
    /// Every segment.
    ByRules,
    /// Not all of it, or not in a way that can be pinned.
    No,
}

/// The precedence of all that has a say. `held` is why it is not contained where it could have been.
fn precedence(
    subject: &Subject<'_>,
    coverage: &Coverage,
    answer: Option<&Answer>,
    held: &mut Option<Held>,
) -> Verdict {
    let Effective { security, ask, .. } = subject.policy;
    // 1. Security deny: nothing runs, whoever says so.
    if security.value == Security::Deny {
        return Verdict::Deny(DenyReason::SecurityDeny);
    }
    // 2. A person said no, here or elsewhere.
    let grant = match grant(subject.origin, answer) {
        Grant::Refused => return Verdict::Deny(DenyReason::UserDenied),
        other => other,
    };
    // 3. A rule of ours refuses it, whoever allows it.
    if coverage.ruled.refused.is_some() {
        return Verdict::Deny(DenyReason::Rule);
    }
    // 4. A reviewer program does not stand in for a person where every command needs one.
    let a_person_answered = matches!(answer, Some(Answer::Person { .. }));
    if subject.origin == Origin::AutoReview && ask.value == Ask::Always && !a_person_answered {
        return Verdict::Deny(DenyReason::AskAlways);
    }
    // 5. A rule of ours may refuse it: only a person who looks at it can tell.
    let a_person_allowed = matches!(grant, Grant::Given(Evidence::Person { .. }));
    if let (Some(doubt), false) = (coverage.ruled.doubt, a_person_allowed) {
        return match grant {
            Grant::NobodyCanBeAsked => Verdict::Deny(DenyReason::RuleDoubt),
            Grant::Given(_) | Grant::Refused | Grant::None => Verdict::Ask(doubt.into()),
        };
    }
    // 6. In an open folder what no rule covers runs behind walls, which hold whatever it is.
    let open = subject.origin == Origin::Fresh && answer.is_none();
    if open && security.value == Security::Allowlist && coverage.covered == Covered::No {
        match containment::of(subject) {
            Ok(Some(contained)) => return Verdict::Contain(contained),
            Ok(None) => {}
            Err(why) => *held = Some(why),
        }
    }
    // 7. Ask, as long as that is still possible.
    if open && needs_prompt(security.value, ask.value, coverage.covered) {
        return Verdict::Ask(coverage.ask_reason(ask.value, subject.analysis));
    }
    // 8. Nobody can be asked: the fallback decides.
    if grant == Grant::NobodyCanBeAsked {
        return match subject.policy.clone().fallen_back().security.value {
            Security::Deny => Verdict::Deny(DenyReason::SecurityDeny),
            Security::Allowlist => covered_or_miss(coverage, Evidence::FallbackEntries),
            Security::Full => Verdict::Allow(Evidence::Fallback),
        };
    }
    // 9. A grant given for this command.
    if let Grant::Given(evidence) = grant {
        return Verdict::Allow(evidence);
    }
    // 10. The allowlist, when it is what counts; 11. else security is full and nobody needs to be asked.
    match security.value {
        Security::Allowlist => covered_or_miss(coverage, Evidence::Entries),
        Security::Full => Verdict::Allow(Evidence::Policy),
        Security::Deny => Verdict::Deny(DenyReason::SecurityDeny),
    }
}

/// What origin and answer come to together.
#[derive(Debug, Eq, PartialEq)]
enum Grant {
    /// It may run because of this.
    Given(Evidence),
    /// It must not run.
    Refused,
    /// Nobody can be asked.
    NobodyCanBeAsked,
    /// Nothing was said.
    None,
}

fn grant(origin: Origin, answer: Option<&Answer>) -> Grant {
    match (origin, answer) {
        (Origin::Forwarded(Decision::Deny), _)
        | (_, Some(Answer::Person { decision: Decision::Deny, .. })) => Grant::Refused,
        (Origin::AskFallback, _) | (_, Some(Answer::Nobody)) => Grant::NobodyCanBeAsked,
        (_, Some(Answer::Person { request_id, decision })) => {
            Grant::Given(Evidence::Person { request_id: request_id.clone(), decision: *decision })
        }
        (Origin::Forwarded(decision), None) => Grant::Given(Evidence::Forwarded(decision)),
        (Origin::AutoReview, None) => Grant::Given(Evidence::AutoReview),
        (Origin::Fresh, None) => Grant::None,
    }
}

/// Rules decide and nobody may be asked any more.
fn covered_or_miss(coverage: &Coverage, evidence: Evidence) -> Verdict {
    match coverage.covered {
        Covered::ByRules => Verdict::Allow(evidence),
        Covered::No if coverage.only_binding_failed() => Verdict::Deny(DenyReason::AllowlistUnbound),
        Covered::No => Verdict::Deny(DenyReason::AllowlistMiss),
    }
}
