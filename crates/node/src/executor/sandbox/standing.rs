//! Boxes that are made before their commands come: making one takes longer than most commands do.
//!
//! One that stands there is used only if a box that was made now would be the same. So everything is looked
//! at again when the command comes, and its first program looks whether every wall is still where it was put
//! up: one falls where somebody outside replaces what it stands before. Else it is thrown away,
//! and a new one made.

use super::super::{Controls, NotStarted, RunOutput};
use super::bubblewrap::{self, Waiting};
use super::order::NotTaken;
use super::workspace::{Plan, Planned, Seen, Workspace, guarded, planned};
use super::{Grounds, check_box};
use countersign_policy::ApprovedCommand;
use std::collections::BTreeMap;
use tokio_util::sync::CancellationToken;

/// A box that waits for its command. Dropping it ends it.
pub struct Standing {
    workspace: Workspace,
    seen: Seen,
    // Ends before what it is made of is given back.
    waiting: Waiting,
    plan: Plan,
}

impl Standing {
    /// Makes one around `workspace`, which has a way out. `None` where boxes cannot wait on this machine.
    /// Dropping the future ends what was begun.
    pub async fn make(workspace: &Workspace, grounds: &Grounds) -> Result<Option<Self>, NotStarted> {
        check_box(workspace, grounds).await?;
        if !workspace.is_entered() {
            return Ok(None);
        }
        let Planned { plan, seen, stage: Some(stage) } = planned(workspace, grounds).await? else {
            return Ok(None);
        };
        let waiting = bubblewrap::stand(workspace, &plan, &stage).await?;
        let workspace = Workspace { variables: BTreeMap::new(), ..workspace.clone() };
        Ok(Some(Self { workspace, seen, waiting, plan }))
    }

    /// Whether a command could run in it: it is around the same workspace, no terminal is wanted, and the
    /// command's program is in it as it is here.
    pub(super) fn fits(&self, command: &ApprovedCommand, workspace: &Workspace, controls: &Controls) -> bool {
        let is_same = self.workspace == Workspace { variables: BTreeMap::new(), ..workspace.clone() };
        is_same && controls.terminal.is_none() && self.plan.shows(command.program(), &workspace.folder)
    }

    /// Runs it, once `ready` is cancelled. After an error nothing ran, and the box is gone.
    pub(super) async fn run(
        self,
        command: &ApprovedCommand,
        base_env: &BTreeMap<String, String>,
        workspace: &Workspace,
        grounds: &Grounds,
        controls: Controls,
        ready: &CancellationToken,
    ) -> Result<Result<RunOutput, NotStarted>, NotTaken> {
        let seen = workspace.seen(grounds).await;
        if self.plan.is_broken() || seen.ok().as_ref() != Some(&self.seen) {
            return Err(NotTaken::Outdated);
        }
        let cancel = controls.cancel.clone();
        tokio::select! {
            () = ready.cancelled() => {}
            () = cancel.cancelled() => return Ok(Err(NotStarted::Cancelled)),
        }
        let env = workspace.environment(base_env);
        let Self { waiting, plan, .. } = self;
        let begun = match waiting.begin(command, &env, plan.walls(), workspace.limits.time, controls).await? {
            Ok(begun) => begun,
            Err(error) => return Ok(Err(error)),
        };
        Ok(guarded(async |cancel| Ok(begun.finish(cancel).await), &plan, &cancel).await)
    }
}
