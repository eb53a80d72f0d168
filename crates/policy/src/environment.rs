//! Which environment a command gets (command-analysis.md §12.2).

use std::collections::BTreeMap;

/// Overrides after checking.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Overrides {
    /// To be set, by portable name.
    pub accepted: BTreeMap<String, String>,
    /// Accepted names outside the short list of harmless ones: a rule does not cover these, a person must look.
    pub unusual: Vec<String>,
}

/// Overrides that must not be set; the text is the peers'.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("SYSTEM_RUN_DENIED: environment override rejected ({})", self.details())]
pub struct Rejected {
    /// Blocked names, sorted.
    pub blocked: Vec<String>,
    /// Names that are no portable names, sorted.
    pub invalid: Vec<String>,
}

impl Rejected {
    fn details(&self) -> String {
        todo!()
    }
}

/// Whether the command is a shell with inline text, for which fewer overrides survive.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Target {
    /// Any other program.
    Program,
    /// A shell.
    ShellWrapper,
}

/// Checks a request's overrides.
pub fn overrides(env: &BTreeMap<String, String>, target: Target) -> Result<Overrides, Rejected> {
    let _ = (env, target);
    todo!()
}

/// The app's own environment without what must not be inherited. Not UTF-8 names or values are dropped by the caller.
pub fn inherited(vars: impl IntoIterator<Item = (String, String)>) -> BTreeMap<String, String> {
    let _ = vars.into_iter();
    todo!()
}
