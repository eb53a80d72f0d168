//! What came of a run, in the words of the peers (docs/protocol/nodes.md, "Denials", "Events of a run").

use countersign_node::host::Refusal;
use countersign_policy::display;
use countersign_protocol::gateway::node::{NodeError, RunEvent};
use countersign_protocol::limits::OUTPUT_TAIL_CHARS;
use countersign_protocol::question::Outcome;
use countersign_protocol::socket::{ExecError, ExecPayload};

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ended {
    /// It ran.
    Ran(ExecPayload),
    /// It did not, and the agent's session hears why.
    Denied { reason: String, message: String },
    /// It made no sense.
    Invalid { message: String },
}

/// Which words a gateway knows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Words {
    /// Generation 3.
    Older,
    /// Generation 4 has a code for denials.
    Newer,
}

impl Ended {
    /// Of the app, or of the same flow without it.
    pub(super) fn of(error: ExecError) -> Self {
        let ExecError { code, message, reason } = error;
        if code == INVALID_REQUEST {
            return Self::Invalid { message: prefixed(&message) };
        }
        let reason = match reason.as_deref() {
            Some("approval-cancelled" | "approval-timeout") | None => APPROVAL_REQUIRED.to_owned(),
            Some("approval-store-unavailable") => "approval-state-write-failed".to_owned(),
            Some(reason) => reason.to_owned(),
        };
        Self::Denied { reason, message }
    }

    /// Of the flow in this process, where nobody can be asked.
    pub(super) fn of_refusal(refusal: Refusal) -> Self {
        if refusal.outcome == Outcome::NotShown {
            return Self::Denied {
                reason: APPROVAL_REQUIRED.to_owned(),
                message: "SYSTEM_RUN_DENIED: approval required".to_owned(),
            };
        }
        Self::of(refusal.error)
    }

    /// The app is there and did not answer.
    pub(super) fn silent() -> Self {
        Self::Denied {
            reason: COMPANION_UNAVAILABLE.to_owned(),
            message: "COMPANION_APP_UNAVAILABLE: the app did not answer".to_owned(),
        }
    }

    /// Whoever wanted it does not want it any more.
    pub(super) fn cancelled() -> Self {
        Self::Denied { reason: "cancelled".to_owned(), message: "SYSTEM_RUN_DENIED: cancelled".to_owned() }
    }

    /// For the gateway.
    pub(super) fn result(self, words: Words) -> Result<ExecPayload, NodeError> {
        match self {
            Self::Ran(payload) => Ok(payload),
            Self::Invalid { message } => Err(NodeError::new(INVALID_REQUEST, message)),
            Self::Denied { reason, message } => {
                let code = match words {
                    Words::Newer if reason != COMPANION_UNAVAILABLE => "SYSTEM_RUN_DENIED",
                    Words::Newer | Words::Older => UNAVAILABLE,
                };
                Err(NodeError::new(code, message))
            }
        }
    }

    /// For the agent's session: the event's name and what belongs to it. `about` has what every event has.
    pub(super) fn event(&self, about: RunEvent) -> Option<(&'static str, RunEvent)> {
        use countersign_protocol::gateway::node::event::{DENIED, FINISHED};
        match self {
            Self::Ran(payload) => {
                let texts = [Some(&payload.stdout), Some(&payload.stderr), payload.error.as_ref()];
                let texts: Vec<&str> =
                    texts.into_iter().flatten().map(String::as_str).filter(|text| !text.is_empty()).collect();
                let finished = RunEvent {
                    exit_code: payload.exit_code.map(i64::from),
                    timed_out: Some(payload.timed_out),
                    success: Some(payload.success),
                    output: Some(display::output_tail(texts.join("\n").trim(), OUTPUT_TAIL_CHARS)),
                    ..about
                };
                Some((FINISHED, finished))
            }
            Self::Denied { reason, .. } => {
                let denied =
                    RunEvent { reason: Some(reason.clone()), suppress_notify_on_exit: None, ..about };
                Some((DENIED, denied))
            }
            Self::Invalid { .. } => None,
        }
    }
}

fn prefixed(message: &str) -> String {
    let is_prefixed = message.starts_with(INVALID_REQUEST) || message.starts_with("SYSTEM_RUN_DENIED");
    if is_prefixed { message.to_owned() } else { format!("{INVALID_REQUEST}: {message}") }
}

/// Codes of failures (docs/protocol/nodes.md, "Denials").
pub(super) const INVALID_REQUEST: &str = "INVALID_REQUEST";
pub(super) const UNAVAILABLE: &str = "UNAVAILABLE";

const APPROVAL_REQUIRED: &str = "approval-required";
const COMPANION_UNAVAILABLE: &str = "companion-unavailable";

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn error(code: &str, message: &str, reason: Option<&str>) -> ExecError {
        ExecError { code: code.into(), message: message.into(), reason: reason.map(str::to_owned) }
    }

    #[test]
    fn a_denial_has_the_code_that_the_release_knows() {
        let check = |ended: Ended, older: &str, newer: &str, reason: Option<&str>| {
            let code = |words| ended.clone().result(words).unwrap_err().code.unwrap();
            assert_eq!((code(Words::Older).as_str(), code(Words::Newer).as_str()), (older, newer));
            let event = ended.event(RunEvent::default());
            assert_eq!(event.and_then(|(_, event)| event.reason).as_deref(), reason);
        };
        let denied = error("UNAVAILABLE", "SYSTEM_RUN_DENIED: user denied", Some("user-denied"));
        check(Ended::of(denied), "UNAVAILABLE", "SYSTEM_RUN_DENIED", Some("user-denied"));
        let closed = error("UNAVAILABLE", "SYSTEM_RUN_DENIED: closed", Some("approval-cancelled"));
        check(Ended::of(closed), "UNAVAILABLE", "SYSTEM_RUN_DENIED", Some("approval-required"));
        let expired = error("UNAVAILABLE", "SYSTEM_RUN_DENIED: expired", Some("approval-timeout"));
        check(Ended::of(expired), "UNAVAILABLE", "SYSTEM_RUN_DENIED", Some("approval-required"));
        check(Ended::silent(), "UNAVAILABLE", "UNAVAILABLE", Some("companion-unavailable"));
        let invalid = error("INVALID_REQUEST", "command required", Some("invalid"));
        check(Ended::of(invalid), "INVALID_REQUEST", "INVALID_REQUEST", None);
    }

    #[test]
    fn the_end_of_what_was_printed_goes_with_the_event() {
        let payload = ExecPayload {
            exit_code: Some(3),
            stdout: "out\n".into(),
            stderr: String::new(),
            error: Some("exit 3".into()),
            ..ExecPayload::default()
        };
        let (name, event) = Ended::Ran(payload).event(RunEvent::default()).unwrap();
        assert_eq!((name, event.output.as_deref()), ("exec.finished", Some("out\n\nexit 3")));
        assert_eq!((event.exit_code, event.success), (Some(3), Some(false)));
        let long = ExecPayload { stdout: "x".repeat(30_000), ..ExecPayload::default() };
        let (_, event) = Ended::Ran(long).event(RunEvent::default()).unwrap();
        let output = event.output.unwrap();
        assert!(output.starts_with("... (truncated) ") && output.len() == 20_000 + 16);
    }
}
