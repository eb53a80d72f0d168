//! Why a command was not run: for the wire, for the history, for exit codes.

use super::own_rules::RefusingRule;
use crate::executor::sandbox::Unavailable;
use countersign_approvals::history::HistoryError;
use countersign_approvals::store::Current;
use countersign_policy::display;
use countersign_policy::evaluate::{Answer, DenyReason, Origin};
use countersign_protocol::question::{CancelCause, Outcome};
use countersign_protocol::socket::ExecError;
use countersign_protocol::state::StoreState;

/// Why a command was not run. Codes, messages and reasons are the peers'.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Refusal {
    /// For the wire.
    pub error: ExecError,
    /// For the history and for exit codes.
    pub outcome: Outcome,
}

impl Refusal {
    pub(super) fn invalid(message: &str) -> Self {
        Self {
            error: exec_error("INVALID_REQUEST", message, Some("invalid")),
            outcome: Outcome::Refused { reason: message.to_owned() },
        }
    }

    pub(super) fn unavailable(message: &str, reason: &str) -> Self {
        Self {
            error: exec_error("UNAVAILABLE", message, Some(reason)),
            outcome: Outcome::Refused { reason: message.to_owned() },
        }
    }

    /// Nobody was asked, and it could not be written down that it would run.
    pub(super) fn unrecorded(why: &HistoryError) -> Self {
        let message = format!("SYSTEM_RUN_DENIED: what runs unasked has to be recorded first: {why}");
        Self {
            error: exec_error("UNAVAILABLE", &message, Some("history-unavailable")),
            outcome: Outcome::Refused { reason: format!("it cannot be recorded: {why}") },
        }
    }

    pub(super) fn no_sandbox(why: &Unavailable) -> Self {
        Self::unavailable(&format!("exec host sandbox: {why}; {}", why.remedy()), "sandbox-unavailable")
    }

    pub(super) fn no_box(why: &str) -> Self {
        Self::unavailable(&format!("SYSTEM_RUN_DENIED: no box to run in: {why}"), "box-unavailable")
    }

    /// Its asker has it run in a box instead.
    pub(super) fn contained() -> Self {
        let message = "SYSTEM_RUN_DENIED: its folder was opened, and it runs in a box";
        Self { error: exec_error("UNAVAILABLE", message, Some(CANCELLED)), outcome: Outcome::Contained }
    }

    /// Nobody decided, and the asker is told which way.
    pub(super) fn unanswered(outcome: Outcome) -> Self {
        let (message, reason) = match &outcome {
            Outcome::Expired => ("approval expired: nobody answered in time", EXPIRED),
            Outcome::Cancelled { cause } => (
                match cause {
                    CancelCause::RequesterGone => "approval withdrawn: the asker is gone",
                    CancelCause::Shutdown => "approval withdrawn: the app was closing",
                    CancelCause::ConnectionLost => "approval withdrawn: the connection was lost",
                    CancelCause::Withdrawn => "approval withdrawn where it came from",
                },
                CANCELLED,
            ),
            _ => ("approval prompt closed without decision", CANCELLED),
        };
        let message = format!("SYSTEM_RUN_DENIED: {message}");
        Self { error: exec_error("UNAVAILABLE", &message, Some(reason)), outcome }
    }

    pub(super) fn outdated(detail: &str) -> Self {
        let message = "SYSTEM_RUN_DENIED: exec approvals update unavailable";
        Self {
            error: exec_error("UNAVAILABLE", message, Some("approval-store-unavailable")),
            outcome: Outcome::Refused { reason: detail.to_owned() },
        }
    }

    /// Rules or policy became tighter before it began.
    pub(super) fn tightened(why: &str) -> Self {
        let message = format!("SYSTEM_RUN_DENIED: it may not be started any more: {}", display::escape(why));
        Self {
            error: exec_error("UNAVAILABLE", &message, None),
            outcome: Outcome::Refused { reason: why.to_owned() },
        }
    }

    /// The rule that it is for.
    pub(super) fn by_rule(mut self, rule: &RefusingRule) -> Self {
        self.error.message = format!("{}: {}", self.error.message, display::escape(&rule.0));
        self.outcome = refused_by(rule);
        self
    }

    /// With why security is `deny`, where a document that cannot be used is why.
    pub(super) fn of_document(mut self, current: &Current) -> Self {
        if let (StoreState::Unreadable { problem }, Some(reason)) = (&current.state, &self.error.reason)
            && reason == DenyReason::SecurityDeny.as_str()
        {
            let (path, problem) = (current.path.display().to_string(), display::escape(problem));
            let why = format!("{} is not usable, so everything is denied: {problem}", display::escape(&path));
            self.error.message = format!("{}: {why}", self.error.message);
        }
        self
    }

    /// What a rule that refuses says, where one does.
    pub fn said_by_rule(&self) -> Option<&str> {
        self.error.message.strip_prefix(BY_RULE)?.strip_prefix(": ")
    }

    pub(super) fn changed(detail: &str) -> Self {
        Self {
            error: exec_error(
                "UNAVAILABLE",
                &format!("SYSTEM_RUN_DENIED: {detail}"),
                Some("execution-plan-miss"),
            ),
            outcome: Outcome::Refused { reason: detail.to_owned() },
        }
    }
}

/// Before the words of the rule.
const BY_RULE: &str = "SYSTEM_RUN_DENIED: refused by a rule";

/// The reason of a question whose time was over; gateways call it so too.
const EXPIRED: &str = "approval-timeout";

/// The reason of a question that was withdrawn.
const CANCELLED: &str = "approval-cancelled";

/// The policy, or a person elsewhere, said no.
pub(super) fn denied(reason: DenyReason, origin: Origin) -> Refusal {
    let outcome = match (reason, origin) {
        (DenyReason::UserDenied, _) => Outcome::DeniedElsewhere,
        _ => Outcome::DeniedByPolicy { reason: reason.as_str().to_owned() },
    };
    Refusal { error: deny_error(reason), outcome }
}

/// The answer to the question was no.
pub(super) fn answered_no(reason: DenyReason, answer: &Answer) -> Refusal {
    let outcome = match answer {
        Answer::Person { .. } if reason == DenyReason::UserDenied => Outcome::Denied,
        Answer::Person { .. } => Outcome::DeniedByPolicy { reason: reason.as_str().to_owned() },
        Answer::Nobody => Outcome::NotShown,
    };
    Refusal { error: deny_error(reason), outcome }
}

fn deny_error(reason: DenyReason) -> ExecError {
    let message = match reason {
        DenyReason::SecurityDeny => "SYSTEM_RUN_DISABLED: security=deny",
        DenyReason::UserDenied => "SYSTEM_RUN_DENIED: user denied",
        DenyReason::AskAlways => "SYSTEM_RUN_DENIED: ask=always",
        DenyReason::AllowlistMiss => "SYSTEM_RUN_DENIED: allowlist miss",
        DenyReason::AllowlistUnbound => "SYSTEM_RUN_DENIED: reusable approval could not bind executable",
        DenyReason::Rule => BY_RULE,
        DenyReason::RuleDoubt => "SYSTEM_RUN_DENIED: a rule may refuse it, and nobody could be asked",
    };
    exec_error("UNAVAILABLE", message, Some(reason.as_str()))
}

pub(super) fn exec_error(code: &str, message: &str, reason: Option<&str>) -> ExecError {
    ExecError { code: code.to_owned(), message: message.to_owned(), reason: reason.map(str::to_owned) }
}

/// A rule of the person's refuses, and nobody is asked.
pub(super) fn refused_by(RefusingRule(said): &RefusingRule) -> Outcome {
    Outcome::DeniedByPolicy { reason: format!("rule {}", display::escape(said)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_asker_hears_in_which_way_nobody_decided() {
        let check = |outcome: Outcome, message: &str, reason: &str| {
            let error = Refusal::unanswered(outcome.clone()).error;
            assert!(error.message.contains(message), "{outcome:?}: {}", error.message);
            assert_eq!(error.reason.as_deref(), Some(reason), "{outcome:?}");
        };
        check(Outcome::Expired, "expired: nobody answered in time", "approval-timeout");
        for (cause, message) in [
            (CancelCause::RequesterGone, "the asker is gone"),
            (CancelCause::Shutdown, "the app was closing"),
            (CancelCause::ConnectionLost, "the connection was lost"),
            (CancelCause::Withdrawn, "withdrawn where it came from"),
        ] {
            check(Outcome::Cancelled { cause }, message, "approval-cancelled");
        }
    }
}
