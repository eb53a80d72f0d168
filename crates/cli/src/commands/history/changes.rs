//! `countersign history changes` and `put-back`: the app looks into the states that it keeps.

use super::super::Exit;
use super::super::output::Output;
use clap::Args;
use countersign_companion::control::{self, ControlError};
use countersign_core::paths::Paths;
use countersign_policy::display;
use countersign_protocol::control::{ControlRequest, ControlResponse};
use countersign_protocol::shown::Shown;
use countersign_protocol::ui::{KeptChange, KeptChanges, KeptConflict, KeptHow, KeptSession, KeptWhy};
use std::io::{self, Write};
use std::time::Duration;

// Which line of the history is meant.
#[derive(Args, Clone, Debug)]
pub(super) struct LineArgs {
    /// The line about what changed, by the number that `history` prints with it.
    line: u64,
    /// All that the session of that run changed in the same folder, as one.
    #[arg(long)]
    session: bool,
}

pub(super) async fn changes(paths: &Paths, args: &LineArgs, output: &Output) -> anyhow::Result<Exit> {
    let request = ControlRequest::Changes { seq: args.line, session: args.session };
    match call(paths, &request).await? {
        Some(ControlResponse::Changes { changes }) => output.result(&changes, |out| list(&changes, out))?,
        Some(ControlResponse::SessionChanges { session }) => {
            output.result(&session, |out| sum(&session, out))?;
        }
        Some(ControlResponse::Error { message }) => anyhow::bail!(message),
        Some(other) => anyhow::bail!("expected what changed, got {other:?}"),
        None => return Ok(no_app(output)),
    }
    Ok(Exit::Ok)
}

pub(super) async fn put_back(paths: &Paths, args: &LineArgs, output: &Output) -> anyhow::Result<Exit> {
    let request = ControlRequest::PutBack { seq: args.line, session: args.session };
    match call(paths, &request).await? {
        Some(ControlResponse::PutBack { result }) => {
            output.result(&result, |out| {
                writeln!(out, "{} put back.", result.put)?;
                for KeptConflict { path, why } in &result.conflicts {
                    writeln!(out, "stays: {}: {}", text(path), reason(why))?;
                }
                more(result.more, out)
            })?;
            let is_whole = result.conflicts.is_empty() && result.more == 0;
            Ok(if is_whole { Exit::Ok } else { Exit::Failed })
        }
        Some(ControlResponse::Error { message }) => anyhow::bail!(message),
        Some(other) => anyhow::bail!("expected what was put back, got {other:?}"),
        None => Ok(no_app(output)),
    }
}

fn no_app(output: &Output) -> Exit {
    output.note("the Countersign app is not running; it keeps what was there before");
    Exit::NoApp
}

fn sum(session: &KeptSession, out: &mut dyn Write) -> io::Result<()> {
    let KeptSession { folder, range, lost, made, changed, deleted, .. } = session;
    writeln!(out, "{folder}: {made} made, {changed} changed, {deleted} deleted in {} runs", range.runs)?;
    if *lost > 0 {
        writeln!(out, "{lost} more runs changed something that is not kept, or not any more")?;
    }
    if let Some(since_ms) = session.since_ms {
        writeln!(out, "runs before {} are not in this", super::time_of(since_ms))?;
    }
    list(&session.listed, out)
}

fn list(changes: &KeptChanges, out: &mut dyn Write) -> io::Result<()> {
    for KeptChange { path, from, how, between, returns, .. } in &changes.changes {
        let how = match how {
            KeptHow::Made => "made",
            KeptHow::Changed => "changed",
            KeptHow::Deleted => "deleted",
            KeptHow::Moved => "moved",
        };
        let from = from.as_ref().map(|from| format!(" from {}", text(from))).unwrap_or_default();
        let stays = match (between, returns) {
            (true, _) => "  (somebody else changed it between the runs)",
            (false, false) => "  (not kept)",
            (false, true) => "",
        };
        writeln!(out, "{how}  {}{from}{stays}", text(path))?;
    }
    more(changes.more, out)
}

fn more(more: u32, out: &mut dyn Write) -> io::Result<()> {
    if more > 0 { writeln!(out, "and {more} more") } else { Ok(()) }
}

fn text(shown: &Shown) -> String {
    display::escape(&display::original(shown).unwrap_or_default())
}

fn reason(why: &KeptWhy) -> String {
    match why {
        KeptWhy::Between => "somebody else changed it between the runs".to_owned(),
        KeptWhy::Cancelled => "called off before its turn".to_owned(),
        KeptWhy::Changed => "changed since".to_owned(),
        KeptWhy::Damaged => "what was kept of it is damaged".to_owned(),
        KeptWhy::NotEmpty => "the folder has something in it that stays".to_owned(),
        KeptWhy::NotKept => "what was there, or what is there now, is not kept".to_owned(),
        KeptWhy::Protected => "a setting that other programs run things by".to_owned(),
        KeptWhy::System { said } => format!("the system did not let it be done: {}", text(said)),
    }
}

/// Asks the app; `None` when it is not running.
async fn call(paths: &Paths, request: &ControlRequest) -> anyhow::Result<Option<ControlResponse>> {
    match control::call(&paths.control_socket(), request, WAIT).await {
        Ok(response) => Ok(Some(response)),
        Err(ControlError::NotRunning) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Longer than the app may take to look at a large folder.
const WAIT: Duration = Duration::from_secs(120);
