//! Asks for more scopes than the kept token of this device is good for. Releases from 2026.8 on take that
//! over a connection that is open; elsewhere only the person's secret opens the way to more.

use super::{Answers, CallError, DeviceToken, Live, Notice};
use crate::access::Scopes;
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;
use tokio::sync::mpsc;

/// What is asked for beyond what a token is good for: everything together, or `None` when the
/// token is enough.
pub(super) fn wider(kept: &[String], wanted: &[String]) -> Option<Vec<String>> {
    if Scopes::of(kept).cover(&Scopes::of(wanted)) {
        return None;
    }
    // A gateway refuses a request that leaves out what the connection has.
    let more = wanted.iter().filter(|scope| !kept.contains(scope));
    Some(kept.iter().chain(more).cloned().collect())
}

/// Asks until somebody there decides: the token that is good for `scopes`, or `None` when it is not to be had
/// this way. What helps is told meanwhile. Dropping this leaves the request there, where it expires.
pub(super) async fn ask(
    live: Live,
    scopes: Vec<String>,
    notices: mpsc::Sender<Notice>,
) -> Option<DeviceToken> {
    while live.has(REQUEST) && live.has(WAIT) {
        let asked = live.call(REQUEST, json!({ "scopes": scopes })).await;
        let Some(WideningRequested { request_id }) = read(asked, REQUEST) else { break };
        notices.send(Notice::Narrow { request_id: Some(request_id.clone()) }).await.ok()?;
        let ended =
            live.call_within(WAIT, json!({ "requestId": request_id }), Answers::One, ANSWER_WAIT).await;
        match read(ended, WAIT) {
            Some(Ended::Approved { device_token, scopes: given }) => {
                // One that is good for less would only be asked about again.
                if device_token.is_empty() || !Scopes::of(&given).cover(&Scopes::of(&scopes)) {
                    break;
                }
                return Some(DeviceToken { token: device_token, scopes: given });
            }
            // Nobody looked: the next request takes its place, so that the one that is named
            // is one that waits.
            Some(Ended::Expired) => {}
            Some(Ended::Other) | None => break,
        }
    }
    notices.send(Notice::Narrow { request_id: None }).await.ok()?;
    None
}

fn read<T: serde::de::DeserializeOwned>(
    answer: Result<serde_json::Value, CallError>,
    method: &str,
) -> Option<T> {
    match answer.map(serde_json::from_value) {
        Ok(Ok(read)) => Some(read),
        Ok(Err(_)) => {
            // Not its text: it may hold the token.
            tracing::warn!(method, "expected an answer about wider scopes, got something else");
            None
        }
        Err(error) => {
            tracing::info!(method, %error, "wider scopes are not to be had over this connection");
            None
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WideningRequested {
    request_id: String,
}

#[derive(Deserialize)]
#[serde(tag = "status", rename_all = "kebab-case", rename_all_fields = "camelCase")]
enum Ended {
    Approved {
        device_token: String,
        scopes: Vec<String>,
    },
    Expired,
    /// Rejected, or what a later release may add.
    #[serde(other)]
    Other,
}

/// Methods of releases from 2026.8 on.
const REQUEST: &str = "device.scopes.requestUpgrade";
const WAIT: &str = "device.scopes.waitUpgrade";

/// How long a gateway may let a request wait: it expires there after 5 minutes (docs/protocol/gateway.md,
/// "Pairing").
const ANSWER_WAIT: Duration = Duration::from_secs(6 * 60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_holds_what_there_is() {
        let check = |kept: &[&str], wanted: &[&str], expected: Option<&[&str]>| {
            let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
            assert_eq!(wider(&words(kept), &words(wanted)), expected.map(words), "{kept:?} {wanted:?}");
        };
        let (read, approvals, admin) = ("operator.read", "operator.approvals", "operator.admin");
        check(&[read, approvals], &[read, approvals], None);
        check(&[admin], &[read, approvals], None);
        check(&[read, approvals], &[read, approvals, admin], Some(&[read, approvals, admin]));
        check(&[read, "operator.talk"], &[read, approvals], Some(&[read, "operator.talk", approvals]));
        check(&[], &[read], Some(&[read]));
    }
}
