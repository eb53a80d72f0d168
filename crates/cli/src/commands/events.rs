//! `countersign events`: what sessions are told of runs that nobody waits for.

use super::Exit;
use super::output::Output;
use clap::Args;
use countersign_companion::control::{self, ControlError};
use countersign_core::paths::Paths;
use countersign_policy::display;
use countersign_protocol::control::{ControlRequest, ControlResponse};
use countersign_protocol::session_events::SessionEvent;
use serde::Serialize;
use std::time::Duration;

// Arguments of `events`.
#[derive(Clone, Debug, Args)]
pub(crate) struct EventsArgs {
    /// The session.
    #[arg(long, value_name = "SESSION")]
    session: String,
    /// Only events with a higher number.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    after: u64,
    /// Go on and print what comes, until interrupted; with --json one object a line.
    #[arg(long)]
    follow: bool,
}

/// What `events --json` prints.
#[derive(Serialize)]
struct Report<'a> {
    events: &'a [SessionEvent],
}

pub(super) async fn events(paths: &Paths, args: EventsArgs, output: &Output) -> anyhow::Result<Exit> {
    let EventsArgs { session, mut after, follow } = args;
    let mut is_first = true;
    loop {
        let wait = if follow && !is_first { FOLLOW_WAIT } else { Duration::ZERO };
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let request = ControlRequest::Events { session: session.clone(), after, wait_ms };
        let events = match control::call(&paths.control_socket(), &request, wait + ANSWER_WAIT).await {
            Ok(ControlResponse::Events { events }) => events,
            Ok(ControlResponse::Error { message }) => anyhow::bail!(message),
            Ok(other) => anyhow::bail!("expected the events of a session, got {other:?}"),
            Err(ControlError::NotRunning) => {
                output.failure(&anyhow::anyhow!(NO_APP));
                return Ok(Exit::NoApp);
            }
            Err(error) => return Err(error.into()),
        };
        after = events.last().map_or(after, |last| last.number);
        if follow {
            for event in &events {
                output.result(event, |out| line(out, event))?;
            }
        } else {
            output.result(&Report { events: &events }, |out| {
                if events.is_empty() {
                    writeln!(out, "Nothing happened that this session would be told.")?;
                }
                events.iter().try_for_each(|event| line(out, event))
            })?;
            return Ok(Exit::Ok);
        }
        is_first = false;
    }
}

/// The text has lines of its own; a node's words are in it.
fn line(out: &mut dyn std::io::Write, event: &SessionEvent) -> std::io::Result<()> {
    let lines: Vec<String> = event.text.lines().map(display::escape).collect();
    writeln!(out, "{}  {}", event.number, lines.join("\n    "))
}

/// How long each look waits for something: less than the app's own limit.
const FOLLOW_WAIT: Duration = Duration::from_secs(50);

/// What the app may take beyond that.
const ANSWER_WAIT: Duration = Duration::from_secs(10);

const NO_APP: &str = "the Countersign app is not running, and what sessions are told ends with it";
