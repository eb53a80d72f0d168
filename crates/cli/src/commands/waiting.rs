//! Says that a request waits for a person, so that whoever typed it knows what it waits for.

use super::output::Output;
use countersign_approvals::ports::Ports;
use countersign_companion::control;
use countersign_core::paths::Paths;
use countersign_policy::display;
use countersign_protocol::control::{ControlRequest, ControlResponse};
use std::pin::pin;
use std::time::Duration;
use tokio::time::timeout;

/// A request as the app's questions name it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    /// Whose it is.
    pub(super) agent: &'a str,
    /// Its command in one line.
    pub(super) command: &'a str,
}

/// Waits for what comes of a request. Where a person is asked about it, that is said once on standard error;
/// programs that read JSON are told nothing but the end.
pub(super) async fn telling<R>(
    paths: &Paths,
    wanted: Wanted<'_>,
    output: &Output,
    asked: impl Future<Output = R>,
) -> R {
    let mut asked = pin!(asked);
    if output.is_json() {
        return asked.await;
    }
    for pause in LOOKS {
        if let Ok(answer) = timeout(pause, &mut asked).await {
            return answer;
        }
        let left = tokio::select! {
            biased;
            answer = &mut asked => return answer,
            left = left(paths, wanted) => left,
        };
        if let Some(left) = left {
            let seconds = left.as_secs().max(1);
            output.note(&format!(
                "this waits for a person's answer in the app's window, {seconds} s at most; Ctrl+C takes it back"
            ));
            break;
        }
    }
    asked.await
}

/// How long a person still has for the request, if one is asked about it.
async fn left(paths: &Paths, wanted: Wanted<'_>) -> Option<Duration> {
    let pending = control::call(&paths.control_socket(), &ControlRequest::Pending, LOOK_WAIT).await;
    let Ok(ControlResponse::Pending { cards, .. }) = pending else { return None };
    let is_it = |agent: &str, command: &str| agent == wanted.agent && command == wanted.command;
    let card = cards
        .iter()
        .find(|card| is_it(&display::original(&card.agent).unwrap_or_default(), &card.command.copy))?;
    let left_ms = card.expires_at_ms.saturating_sub(Ports::system().clock.now_ms());
    u64::try_from(left_ms).ok().map(Duration::from_millis)
}

/// Pauses before each look at what waits: a question comes within moments, or does not.
const LOOKS: [Duration; 4] =
    [Duration::from_millis(500), Duration::from_millis(500), Duration::from_secs(1), Duration::from_secs(2)];

/// The app answers at once what waits.
const LOOK_WAIT: Duration = Duration::from_secs(2);
