//! What all file tools share: planning and acting away from the threads that serve others.

use super::apply::carry_out;
use super::error::FileError;
use super::params::Params;
use super::planned::{Planner, Step, told};
use super::workspace::Workspace;
use crate::tool::{Act, Call, Declaration, Output, Plan, Preview, Progress, Tool, ToolError};
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// A tool that reads or changes files of the call's workspace.
#[derive(Debug)]
pub struct FileTool {
    declaration: Declaration,
    plan: Planning,
}

/// How a tool plans. Blocking; reads at most.
pub(super) type Planning = fn(Params<'_>, Workspace) -> Result<Plan, ToolError>;

impl FileTool {
    pub(super) fn new(name: &str, description: &str, parameters: Value, plan: Planning) -> Self {
        let declaration =
            Declaration { name: name.to_owned(), description: description.to_owned(), parameters };
        Self { declaration, plan }
    }
}

impl Tool for FileTool {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn plan<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<Plan, ToolError>> {
        let (plan, name) = (self.plan, self.declaration.name.clone());
        let (params, workspace) = (call.params.clone(), call.workspace.clone());
        Box::pin(blocking(move || plan(Params::new(&name, &params), Workspace::open(&workspace)?)))
    }
}

/// Plans changes: `plan` says which. Changes that change nothing need nobody's leave.
pub(super) fn changes(
    workspace: Workspace,
    plan: impl FnOnce(&mut Planner<'_>) -> Result<(), ToolError>,
) -> Result<Plan, ToolError> {
    let mut planner = Planner::new(&workspace);
    plan(&mut planner)?;
    let (changes, steps) = planner.finish();
    let (text, details) = told(&changes);
    let output = Output { text, details: Some(details) };
    Ok(Plan { preview: Preview::Changes(changes), act: Box::new(Change { workspace, steps, output }) })
}

/// Plans something that only reads.
pub(super) fn reading(read: impl FnOnce() -> Result<Output, ToolError> + Send + 'static) -> Plan {
    Plan { preview: Preview::Harmless, act: Box::new(Read { read: Box::new(read) }) }
}

struct Change {
    workspace: Workspace,
    steps: Vec<Step>,
    output: Output,
}

impl Act for Change {
    /// Once it has begun it ends by itself, changed or undone, even if nobody waits for it any longer.
    fn run(
        self: Box<Self>,
        _: Progress,
        abort: CancellationToken,
    ) -> BoxFuture<'static, Result<Output, ToolError>> {
        let work = move || match carry_out(&self.workspace, &self.steps, &|| abort.is_cancelled()) {
            Ok(()) => Ok(self.output),
            Err(error @ (FileError::Aborted | FileError::Stuck { .. })) => Err(error.into()),
            Err(error) => Err(ToolError::Failed(format!("{error}. Nothing was changed."))),
        };
        Box::pin(blocking(work))
    }
}

struct Read {
    read: Box<dyn FnOnce() -> Result<Output, ToolError> + Send>,
}

impl Act for Read {
    fn run(
        self: Box<Self>,
        _: Progress,
        abort: CancellationToken,
    ) -> BoxFuture<'static, Result<Output, ToolError>> {
        Box::pin(async move {
            tokio::select! {
                biased;
                () = abort.cancelled() => Err(ToolError::Aborted),
                result = blocking(self.read) => result,
            }
        })
    }
}

/// Runs what waits for a disk where that keeps nobody else waiting.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(ToolError::Failed(format!("the tool ended unexpectedly: {error}"))),
    }
}
