//! What sessions are told of commands that went on in the background: the peers' texts, as of runs on nodes.

use countersign_core::session_events::SessionEvents;
use countersign_gateway::embedded::{RunPlace, run_text};
use countersign_protocol::gateway::node::{RunEvent, event};
use countersign_protocol::ids::SessionKey;
use countersign_tools::runs::{Outcome, Outlived};

/// Tells a run's session of its end. A run of no session has nobody to tell: its agent looks with `process`.
pub(super) fn of_run(events: &SessionEvents, at_ms: i64, run: &Outlived<'_>) {
    let Some(session) = run.session else { return };
    if let Some(text) = text(session, run) {
        events.put(session, run.id, text, at_ms);
    }
}

fn text(session: &SessionKey, run: &Outlived<'_>) -> Option<String> {
    let about = RunEvent {
        session_key: session.as_str().to_owned(),
        run_id: run.id.to_owned(),
        command: run.label.to_owned(),
        ..RunEvent::default()
    };
    match run.outcome {
        Outcome::Ended { output, exit_code, timed_out, node } => {
            let output = Some(output.to_owned());
            let told = RunEvent { exit_code, timed_out: Some(timed_out), output, ..about };
            run_text(event::FINISHED, node.map_or(RunPlace::Gateway, RunPlace::Node), &told)
        }
        Outcome::NotDone(why) => {
            let told = RunEvent { reason: Some(why.to_string()), ..about };
            run_text(event::DENIED, RunPlace::Gateway, &told)
        }
    }
}
