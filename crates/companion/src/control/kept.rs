//! What runs changed, and putting it back, for the command line: of long lists what fits into a
//! line of the channel.

use super::listing::fitting;
use crate::desk::Desk;
use countersign_protocol::control::ControlResponse;
use countersign_protocol::ui::{CommandError, KeptChanges, KeptParams, KeptRange};

pub(super) async fn changes(desk: &Desk, seq: u64) -> ControlResponse {
    match desk.kept_changes(seq).await {
        Ok(changes) => ControlResponse::Changes { changes: fit(changes) },
        Err(error) => refused(error),
    }
}

pub(super) async fn session_changes(desk: &Desk, seq: u64) -> ControlResponse {
    match desk.kept_session(seq).await {
        Ok(mut session) => {
            session.listed = fit(session.listed);
            ControlResponse::SessionChanges { session }
        }
        Err(error) => refused(error),
    }
}

pub(super) async fn put_session_back(desk: &Desk, seq: u64) -> ControlResponse {
    match desk.kept_session(seq).await {
        Ok(session) => put_back(desk, seq, Some(session.range)).await,
        Err(error) => refused(error),
    }
}

pub(super) async fn put_back(desk: &Desk, seq: u64, session: Option<KeptRange>) -> ControlResponse {
    match desk.put_back_by(KeptParams { seq, session, change: None }, "command-line").await {
        Ok(mut result) => {
            result.more = result.more.saturating_add(fitting(&mut result.conflicts));
            ControlResponse::PutBack { result }
        }
        Err(error) => refused(error),
    }
}

fn fit(mut changes: KeptChanges) -> KeptChanges {
    changes.more = changes.more.saturating_add(fitting(&mut changes.changes));
    changes
}

fn refused(error: CommandError) -> ControlResponse {
    ControlResponse::Error { message: error.message }
}
