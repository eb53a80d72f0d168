//! How the app's connections to other gateways are.

use super::{Finding, Level, ok};
use countersign_protocol::shown::Shown;
use countersign_protocol::ui::{GatewayView, LinkProblem, LinkState};

/// Of all of them, what is not as it should be.
pub(super) fn finding(gateways: &[GatewayView]) -> Finding {
    let wanted: Vec<&GatewayView> =
        gateways.iter().filter(|gateway| !matches!(gateway.state, LinkState::Off)).collect();
    let wrong: Vec<String> = wanted.iter().filter_map(|gateway| wrong(gateway)).collect();
    match (wrong.is_empty(), wanted.len()) {
        (true, 0) => ok("other gateways", "none is connected to".to_owned()),
        (true, all) => ok("other gateways", format!("{all} connected")),
        (false, _) => Finding {
            check: "other gateways",
            level: Level::Warning,
            message: wrong.join("; "),
            remedy: Some("what helps is on the app's page Connections".to_owned()),
        },
    }
}

fn wrong(gateway: &GatewayView) -> Option<String> {
    let name = plain(&gateway.name);
    let url = &gateway.url;
    Some(match &gateway.state {
        LinkState::Off => return None,
        LinkState::Connected { link } if link.gaps.is_empty() => return None,
        LinkState::Connected { .. } => format!("{name} ({url}) keeps something from the app"),
        LinkState::Connecting => format!("{name} ({url}) is not connected yet"),
        LinkState::Waiting { problem, .. } => {
            format!("{name} ({url}) is not connected: {}; it is tried again", why(problem))
        }
        LinkState::Stopped { problem } => {
            format!("{name} ({url}) is not connected: {}; it is not tried again by itself", why(problem))
        }
    })
}

fn why(problem: &LinkProblem) -> String {
    let said = |text: &str, what: &str| {
        if text.is_empty() { what.to_owned() } else { format!("{what} ({text})") }
    };
    match problem {
        LinkProblem::Unreachable { text } => said(text, "nothing answers there"),
        LinkProblem::TimedOut => "it fell silent".to_owned(),
        LinkProblem::Starting => "it is starting".to_owned(),
        LinkProblem::Closed { code, text } => said(text, &format!("it ended the connection, code {code}")),
        LinkProblem::SecretMissing => "it wants a token or a password, and there is none here".to_owned(),
        LinkProblem::SecretWrong => "it wants another token or password".to_owned(),
        LinkProblem::SecretWithheld => {
            "its secret is in the desktop's keyring, which is locked or does not answer".to_owned()
        }
        LinkProblem::RateLimited => "there were too many wrong tokens or passwords".to_owned(),
        LinkProblem::NotPaired { .. } => {
            "this device has to be let in there first; the page of connections says by which command"
                .to_owned()
        }
        LinkProblem::Protocol { .. } => "it speaks another version of the protocol".to_owned(),
        LinkProblem::PinMismatch { .. } => "its certificate is not the pinned one".to_owned(),
        LinkProblem::Certificate { text } => said(text, "its certificate is not trusted"),
        LinkProblem::Refused { code, text } => said(text, &format!("it refused ({code})")),
        LinkProblem::NotAGateway { text } => said(text, "what answers there is no gateway"),
    }
}

/// The name as it is shown, hidden characters written out.
fn plain(shown: &Shown) -> String {
    shown.spans.iter().map(|span| span.text.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn gateway(name: &str, state: Value) -> GatewayView {
        serde_json::from_value(json!({
            "id": name, "name": { "spans": [{ "kind": "plain", "text": name }] }, "url": "ws://127.0.0.1:1",
            "enabled": true, "seesAgents": false, "runsOnNodes": false, "secretKind": "token", "secret": "none", "state": state, "pending": 0,
        }))
        .unwrap()
    }

    #[test]
    fn a_gateway_that_is_not_connected_is_named_with_why() {
        let gaps = |gaps: Value| json!({ "kind": "connected", "link": { "version": "1", "protocol": 4, "sinceMs": 0, "gaps": gaps } });
        assert_eq!(finding(&[]).level, Level::Ok);
        let well = [gateway("a", json!({ "kind": "off" })), gateway("b", gaps(json!([])))];
        assert_eq!((finding(&well).level, finding(&well).message.as_str()), (Level::Ok, "1 connected"));
        let waiting = json!({ "kind": "waiting", "problem": { "kind": "unreachable", "text": "Connection refused" },
            "retryAtMs": 0 });
        let stopped =
            json!({ "kind": "stopped", "problem": { "kind": "not-paired", "reason": "not-paired" } });
        for (state, words) in [
            (waiting, "nothing answers there (Connection refused); it is tried again"),
            (
                stopped,
                "let in there first; the page of connections says by which command; it is not tried again",
            ),
            (json!({ "kind": "connecting" }), "not connected yet"),
            (gaps(json!([{ "kind": "no-list" }])), "keeps something"),
        ] {
            let told = finding(&[gateway("b", gaps(json!([]))), gateway("work", state)]);
            assert_eq!(told.level, Level::Warning, "{words}");
            assert!(told.message.starts_with("work (ws://127.0.0.1:1)"), "{}", told.message);
            assert!(told.message.contains(words), "{}", told.message);
        }
    }
}
