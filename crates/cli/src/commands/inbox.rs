//! `countersign pending` and `countersign deny`.

use super::Exit;
use super::output::Output;
use clap::Args;
use countersign_companion::control::{self, ControlError};
use countersign_core::paths::Paths;
use countersign_policy::display;
use countersign_protocol::control::{ControlRequest, ControlResponse};
use countersign_protocol::edits::Confirmation;
use countersign_protocol::ui::Card;
use serde::Serialize;
use std::time::Duration;

// Arguments of `deny`.
#[derive(Args, Clone, Debug)]
pub(crate) struct DenyArgs {
    /// The request to deny, as `pending` lists it.
    #[arg(required_unless_present = "all")]
    id: Option<String>,
    /// Deny everything that waits.
    #[arg(long, conflicts_with = "id")]
    all: bool,
}

#[derive(Serialize)]
struct PendingReport<'a> {
    cards: &'a [Card],
    confirmations: &'a [Confirmation],
    /// Ids of the requests whose command is cut.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    shortened: &'a [String],
}

#[derive(Serialize)]
struct DenyReport<'a> {
    denied: &'a [String],
}

pub(super) async fn pending(paths: &Paths, output: &Output) -> anyhow::Result<Exit> {
    let (cards, confirmations, shortened) = match call(paths, &ControlRequest::Pending).await? {
        Some(ControlResponse::Pending { cards, confirmations, shortened }) => {
            (cards, confirmations, shortened)
        }
        Some(other) => anyhow::bail!("expected what is pending, got {other:?}"),
        None => {
            output.note("the Countersign app is not running, so nothing can be waiting");
            (Vec::new(), Vec::new(), Vec::new())
        }
    };
    output.result(
        &PendingReport { cards: &cards, confirmations: &confirmations, shortened: &shortened },
        |out| {
            for card in &cards {
                let agent = display::original(&card.agent).unwrap_or_default();
                writeln!(
                    out,
                    "{}  {}  {}",
                    card.id,
                    display::escape(&agent),
                    display::masked_text(&card.command.copy)
                )?;
            }
            for confirmation in &confirmations {
                for loosening in &confirmation.loosenings {
                    let to = display::escape(&loosening.to);
                    writeln!(
                        out,
                        "{}  loosens {}: {}",
                        confirmation.id,
                        display::escape(&loosening.scope),
                        to
                    )?;
                }
            }
            if cards.is_empty() && confirmations.is_empty() {
                writeln!(out, "Nothing is waiting.")?;
            }
            Ok(())
        },
    )?;
    Ok(Exit::Ok)
}

pub(super) async fn deny(paths: &Paths, args: DenyArgs, output: &Output) -> anyhow::Result<Exit> {
    let id = if args.all { None } else { args.id };
    match call(paths, &ControlRequest::Deny { id }).await? {
        Some(ControlResponse::Denied { ids }) => {
            output.result(&DenyReport { denied: &ids }, |out| match ids.len() {
                0 => writeln!(out, "Nothing was waiting."),
                count => writeln!(out, "Denied {count}."),
            })?;
            Ok(Exit::Ok)
        }
        Some(ControlResponse::Error { message }) => anyhow::bail!(message),
        Some(other) => anyhow::bail!("expected denied ids, got {other:?}"),
        None => anyhow::bail!("the Countersign app is not running, so nothing can be waiting"),
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

/// The app answers these at once.
const WAIT: Duration = Duration::from_secs(10);
