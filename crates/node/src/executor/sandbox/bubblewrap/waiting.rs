//! A box that was made before its command came.

use super::super::super::{Controls, NotStarted, Run, RunOutput, Started, Stop, start_in, verify, warden};
use super::super::entrance;
use super::super::order::{NotTaken, Order, Orders};
use super::super::workspace::{Plan, Workspace, unmade};
use super::stage::Held;
use super::walls::Walls;
use super::{Stage, Status, found};
use crate::descriptors;
use countersign_commands::environment;
use countersign_policy::ApprovedCommand;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// It, as long as it waits. Dropping it ends it.
pub(in super::super) struct Waiting {
    // Killed before nobody gives an order any more.
    started: Started,
    status: Status,
    orders: Orders,
}

/// A command that began in it.
pub(in super::super) struct Begun {
    run: Run,
    limit: Option<Duration>,
    since: Instant,
}

/// Makes the box that `plan` says on `stage`, and has its first program wait.
pub(in super::super) async fn stand(
    workspace: &Workspace,
    plan: &Plan,
    stage: &Stage,
) -> Result<Waiting, NotStarted> {
    let bubblewrap = found().await?;
    let (mut waiting, mut held) =
        make(workspace, plan, stage, &bubblewrap.program).map_err(|error| unmade(&error))?;
    descriptors::give_back(waiting.started.0.0.id());
    if let Err(error) = held.release(&mut waiting.status, Some(&workspace.limits)).await {
        // Killed first: who waits begins when nobody is there to say no any more.
        drop(waiting);
        drop(held);
        return Err(unmade(&error).into());
    }
    Ok(waiting)
}

fn make(workspace: &Workspace, plan: &Plan, stage: &Stage, bubblewrap: &Path) -> io::Result<(Waiting, Held)> {
    let mut walls = Walls::boxed(workspace, plan, true)?;
    walls.close();
    walls.start_in(Path::new("/"));
    let (status, writer) = Status::new()?;
    walls.report_to(writer);
    let held = Held::new(&mut walls)?;
    let (mut list, handed, laid) = walls.into_parts();
    let laid = laid.ok_or(io::ErrorKind::Unsupported)?;
    list.push("--".into());
    list.extend(entrance::waiting(&plan.writable(workspace)));
    let (orders, input) = Orders::new()?;
    let (mut process, first) = stage.process(&laid, bubblewrap, list, handed, Some(&input))?;
    process.env_clear();
    let started = start_in(process, None, Some(first), None)?;
    Ok((Waiting { started, status, orders }, held))
}

impl Waiting {
    /// Has the command begin in it, as long as `walls` stand. An order that is not taken leaves nothing
    /// behind. `base_env` is without what is the command's own.
    pub(in super::super) async fn begin(
        self,
        command: &ApprovedCommand,
        base_env: &BTreeMap<String, String>,
        walls: Vec<PathBuf>,
        most: Option<Duration>,
        Controls { tap, name, output, .. }: Controls,
    ) -> Result<Result<Begun, NotStarted>, NotTaken> {
        let Self { started: (process, _), status, orders } = self;
        if let Err(drift) = verify(command).await {
            return Ok(Err(drift.into()));
        }
        let order = order(command, base_env, walls).ok_or(NotTaken::Outdated)?;
        let since = Instant::now();
        orders.give(&order).await?;
        warden::begins(process.1.mark(), name.as_deref());
        let run = Run::of(process, output, tap).stopped_by(Stop::Namespace(status));
        let limit = command.timeout().into_iter().chain(most).min();
        Ok(Ok(Begun { run, limit, since }))
    }
}

impl Begun {
    /// Waits for its end.
    pub(in super::super) async fn finish(self, cancel: CancellationToken) -> RunOutput {
        let payload = self.run.finish(self.limit, self.since, &cancel).await;
        RunOutput { payload, duration: self.since.elapsed() }
    }
}

fn order(
    command: &ApprovedCommand,
    base_env: &BTreeMap<String, String>,
    walls: Vec<PathBuf>,
) -> Option<Order> {
    let (typed, arguments) = command.argv().split_first()?;
    let cwd = &command.pins().cwd.real_path;
    let mut all = command.environment(base_env);
    all.retain(|name, _| !environment::is_ours_alone(name));
    for (name, value) in [("OPENCLAW_CLI", "1"), ("PWD", cwd.to_str()?)] {
        all.insert(name.into(), value.into());
    }
    let (_, identity) = command.pins().programs.first()?;
    Some(Order {
        typed: typed.clone(),
        program: command.program().to_owned(),
        identity: (identity.dev, identity.ino),
        arguments: arguments.to_vec(),
        environment: all,
        folder: cwd.clone(),
        walls,
    })
}
