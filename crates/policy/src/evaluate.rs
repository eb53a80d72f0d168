//! The precedence function: one numbered list, run twice. The first pass has no answer and may say [`Verdict::Ask`];
//! the second has one. Its [`Evaluation::trace`] is its own output, not a second implementation.

use crate::allowlist::Rule;
use crate::analysis::{Analysis, OpaqueReason};
use crate::effective::Effective;
use crate::facts::Facts;
use countersign_protocol::ui::TraceStep;
use countersign_protocol::vocabulary::Decision;

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
    pub rules: &'a [Rule],
    /// Environment overrides that no rule can cover: with any of these the allowlist counts as missed.
    pub unusual_env: &'a [String],
    /// How the request was decided elsewhere.
    pub origin: Origin,
}

/// What the requester says was decided before (approval-socket.md §6.4, §7). Checked by the caller against the policy
/// snapshot before it gets here.
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
        request_id: String,
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
    /// Allow, deny or ask.
    pub verdict: Verdict,
    /// How it came about, in order.
    pub trace: Vec<TraceStep>,
    /// Winning entry of each segment, when every segment is covered.
    pub matched: Vec<Rule>,
    /// The first segment that no entry covers.
    pub missed_segment: Option<usize>,
    /// The argument list to run when nobody looked: real path first. Absent when it cannot be bound.
    pub bound: Option<Vec<String>>,
}

/// Allow, deny or ask.
#[must_use]
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// It may run, for this reason.
    Allow(Evidence),
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
    Rules,
    /// A person allowed this recorded request.
    Person {
        /// The request.
        request_id: String,
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
    FallbackRules,
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
    /// It overrides the environment in an unusual way.
    Environment,
}

/// Why it must not run; the texts are the peers'.
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
}

impl DenyReason {
    /// For programs: `security=deny`, `user-denied`, `ask=always`, `allowlist-miss`, `allowlist-unbound`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SecurityDeny => "security=deny",
            Self::UserDenied => "user-denied",
            Self::AskAlways => "ask=always",
            Self::AllowlistMiss => "allowlist-miss",
            Self::AllowlistUnbound => "allowlist-unbound",
        }
    }
}

/// Judges `subject`. Without an answer the verdict may be [`Verdict::Ask`]; with one it never is.
pub fn evaluate(subject: &Subject<'_>, answer: Option<&Answer>) -> Evaluation {
    let _ = (subject, answer);
    todo!()
}
