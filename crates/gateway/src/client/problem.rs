//! Why there is no connection, by what helps (docs/protocol/gateway.md, "Failed handshakes").

use countersign_protocol::gateway::{ErrorShape, code};
pub use countersign_protocol::ui::LinkProblem;
use countersign_protocol::ui::PairingReason;
use serde_json::Value;

/// Whether trying again by itself can help, and how.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Retry {
    /// Soon, then less and less often.
    BackOff,
    /// Now and then: somebody has to do something at the gateway first.
    Slowly,
    /// Not before the person did something here.
    Never,
}

/// How to go on after a problem.
pub fn retry(problem: &LinkProblem) -> Retry {
    match problem {
        LinkProblem::Unreachable { .. }
        | LinkProblem::TimedOut
        | LinkProblem::Starting
        | LinkProblem::Closed { .. } => Retry::BackOff,
        LinkProblem::NotPaired { .. }
        | LinkProblem::RateLimited
        | LinkProblem::SecretWithheld
        | LinkProblem::NotAGateway { .. } => Retry::Slowly,
        LinkProblem::SecretMissing
        | LinkProblem::SecretWrong
        | LinkProblem::Protocol { .. }
        | LinkProblem::PinMismatch { .. }
        | LinkProblem::Certificate { .. }
        | LinkProblem::Refused { .. } => Retry::Never,
    }
}

/// What a failed `connect` means. The newest release says it by code, older ones only in words.
pub(super) fn of_handshake(error: &ErrorShape) -> LinkProblem {
    let details = error.details.as_deref().unwrap_or(&Value::Null);
    let detail = details["code"].as_str().unwrap_or_default();
    let text = error.message.to_ascii_lowercase();
    let says = |words: &str| text.contains(words);
    match detail {
        "PAIRING_REQUIRED" => return not_paired(details),
        "PROTOCOL_MISMATCH" => return protocol(details),
        "AUTH_RATE_LIMITED" => return LinkProblem::RateLimited,
        "AUTH_TOKEN_MISSING" | "AUTH_PASSWORD_MISSING" | "AUTH_REQUIRED" => {
            return LinkProblem::SecretMissing;
        }
        "AUTH_TOKEN_MISMATCH"
        | "AUTH_PASSWORD_MISMATCH"
        | "AUTH_DEVICE_TOKEN_MISMATCH"
        | "AUTH_BOOTSTRAP_TOKEN_INVALID"
        | "AUTH_UNAUTHORIZED" => return LinkProblem::SecretWrong,
        _ => {}
    }
    if error.code == code::UNAVAILABLE {
        LinkProblem::Starting
    } else if error.code == code::NOT_PAIRED && says("pairing required") {
        not_paired(details)
    } else if says("protocol mismatch") {
        protocol(details)
    } else if says("too many failed authentication") {
        LinkProblem::RateLimited
    } else if says("unauthorized:") && says("missing") {
        LinkProblem::SecretMissing
    } else if says("unauthorized:") && says("mismatch") {
        LinkProblem::SecretWrong
    } else {
        let code = if detail.is_empty() { error.code.clone() } else { detail.to_owned() };
        LinkProblem::Refused { code, text: error.message.clone() }
    }
}

fn not_paired(details: &Value) -> LinkProblem {
    let reason = match details["reason"].as_str() {
        Some("not-paired") => PairingReason::NotPaired,
        Some("role-upgrade") => PairingReason::RoleUpgrade,
        Some("scope-upgrade") => PairingReason::ScopeUpgrade,
        Some("metadata-upgrade") => PairingReason::MetadataUpgrade,
        Some(_) | None => PairingReason::Unknown,
    };
    LinkProblem::NotPaired { reason, request_id: details["requestId"].as_str().map(str::to_owned) }
}

fn protocol(details: &Value) -> LinkProblem {
    let expected = details["expectedProtocol"].as_u64().and_then(|number| u32::try_from(number).ok());
    LinkProblem::Protocol { expected }
}

/// Whether the gateway does not know the name by which the program introduced itself
/// (docs/protocol/gateway.md, "Names of programs").
pub(super) fn is_unknown_client(error: &ErrorShape) -> bool {
    let text = error.message.to_ascii_lowercase();
    error.code == code::INVALID_REQUEST
        && text.contains("invalid connect params")
        && text.contains("client/id")
}

/// Whether the gateway would take the device's own token instead of the secret (docs/protocol/gateway.md,
/// "Failed handshakes").
pub(super) fn takes_device_token(error: &ErrorShape) -> bool {
    error.details.as_deref().is_some_and(|details| details["canRetryWithDeviceToken"] == true)
}

/// Whether the device's own token is no longer good.
pub(super) fn rejects_device_token(error: &ErrorShape) -> bool {
    let detail = error.details.as_deref().and_then(|details| details["code"].as_str());
    matches!(detail, Some("AUTH_DEVICE_TOKEN_MISMATCH" | "AUTH_SCOPE_MISMATCH"))
        || error.message.to_ascii_lowercase().contains("device token mismatch")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(code: &str, message: &str, details: Value, expected: &LinkProblem, again: Retry) {
        let mut error = ErrorShape::new(code, message);
        if !details.is_null() {
            error = error.with(details);
        }
        let problem = of_handshake(&error);
        assert_eq!(&problem, expected, "{message}");
        assert_eq!(retry(&problem), again, "{message}");
    }

    #[test]
    fn every_failure_of_both_ends_of_the_range_of_releases_is_told_apart() {
        let invalid = code::INVALID_REQUEST;
        let pairing =
            |reason, id: Option<&str>| LinkProblem::NotPaired { reason, request_id: id.map(str::to_owned) };
        check(
            code::UNAVAILABLE,
            "gateway starting",
            json!({"reason": "startup-sidecars"}),
            &LinkProblem::Starting,
            Retry::BackOff,
        );
        check(
            invalid,
            "unauthorized: gateway token missing (…)",
            Value::Null,
            &LinkProblem::SecretMissing,
            Retry::Never,
        );
        check(
            invalid,
            "unauthorized",
            json!({"code": "AUTH_TOKEN_MISMATCH"}),
            &LinkProblem::SecretWrong,
            Retry::Never,
        );
        check(
            invalid,
            "unauthorized: device token mismatch (…)",
            Value::Null,
            &LinkProblem::SecretWrong,
            Retry::Never,
        );
        check(
            invalid,
            "unauthorized: too many failed authentication attempts (retry later)",
            Value::Null,
            &LinkProblem::RateLimited,
            Retry::Slowly,
        );
        check(
            code::NOT_PAIRED,
            "pairing required",
            json!({"requestId": "r1"}),
            &pairing(PairingReason::Unknown, Some("r1")),
            Retry::Slowly,
        );
        check(
            code::NOT_PAIRED,
            "pairing required: scope upgrade",
            json!({"code": "PAIRING_REQUIRED", "reason": "scope-upgrade", "requestId": "r2"}),
            &pairing(PairingReason::ScopeUpgrade, Some("r2")),
            Retry::Slowly,
        );
        check(
            invalid,
            "protocol mismatch",
            json!({"expectedProtocol": 5}),
            &LinkProblem::Protocol { expected: Some(5) },
            Retry::Never,
        );
        check(
            code::NOT_PAIRED,
            "device identity required",
            json!({"code": "DEVICE_IDENTITY_REQUIRED"}),
            &LinkProblem::Refused {
                code: "DEVICE_IDENTITY_REQUIRED".into(),
                text: "device identity required".into(),
            },
            Retry::Never,
        );
    }

    #[test]
    fn an_unknown_program_is_told_from_other_bad_parameters() {
        let unknown = ErrorShape::invalid("invalid connect params: at /client/id: must be one of the known");
        assert!(is_unknown_client(&unknown));
        assert!(!is_unknown_client(&ErrorShape::invalid("invalid connect params: at /client/mode: no")));
        assert!(!is_unknown_client(&ErrorShape::unavailable("client/id")));
    }
}
