//! A tool with the hooks around it.
//!
//! Hooks run once around each call, however a tool comes into a toolbox: whoever is given a tool that has
//! hooks around it takes those for its own. There is no way to put a [`Wrapped`] into another one.

use super::{Call, Declaration, Plan, Tool, ToolError};
use crate::hooks::Hooks;
use futures_util::future::BoxFuture;
use std::sync::Arc;

/// A tool with hooks around it.
#[derive(Clone)]
pub struct Wrapped {
    tool: Arc<dyn Tool>,
    declaration: Arc<Declaration>,
    hooks: Hooks,
}

/// A call whose hooks have run, and its plan.
pub(crate) struct Prepared {
    /// With its parameters as hooks left them.
    pub(crate) call: Call,
    pub(crate) plan: Plan,
}

impl Wrapped {
    /// Puts `hooks` around a tool that agents are told of by `declaration`. A tool with hooks around
    /// it keeps its own.
    #[must_use]
    pub fn around(tool: &Arc<dyn Tool>, declaration: Declaration, hooks: &Hooks) -> Self {
        let declaration = Arc::new(declaration);
        match tool.wrapped() {
            Some(Self { tool, hooks, .. }) => {
                Self { tool: Arc::clone(tool), declaration, hooks: hooks.clone() }
            }
            None => Self { tool: Arc::clone(tool), declaration, hooks: hooks.clone() },
        }
    }

    /// Runs the hooks and has the tool plan what they left of the call.
    pub(crate) async fn prepare(&self, mut call: Call) -> Result<Prepared, ToolError> {
        call.params = self.hooks.before(&call).await?;
        let plan = self.tool.plan(&call).await?;
        Ok(Prepared { call, plan })
    }

    pub(crate) fn hooks(&self) -> &Hooks {
        &self.hooks
    }
}

impl Tool for Wrapped {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn plan<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<Plan, ToolError>> {
        Box::pin(async move { Ok(self.prepare(call.clone()).await?.plan) })
    }

    fn wrapped(&self) -> Option<&Wrapped> {
        Some(self)
    }
}
