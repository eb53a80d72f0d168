//! All tools there are, and what is left of them for one caller.
//!
//! The order is fixed (docs/protocol/tools.md, "Steps"): tools are built, the tool policy removes some, the
//! schemas of those that are left are written as the agent's provider takes them, hooks are put around them,
//! and only then can they be called.

use crate::gate::{Gate, Gating};
use crate::hooks::Hooks;
use crate::room::CallPermits;
use crate::tool::wrapped::Wrapped;
use crate::tool::{Declaration, Tool, ToolError};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio_util::task::TaskTracker;

/// What a toolbox is made of.
pub struct Parts {
    /// The tools.
    pub tools: Vec<Arc<dyn Tool>>,
    /// What runs around each call.
    pub hooks: Hooks,
    /// Who allows what changes something.
    pub gate: Arc<dyn Gate>,
    /// What else is judged.
    pub gating: Gating,
    /// Acts run here, so that none is cut off half-way when its caller goes away.
    pub tracker: TaskTracker,
    /// How names are compared: the tool policy's way.
    pub normalise: Normalise,
}

/// A tool's name as it is compared.
pub type Normalise = fn(&str) -> Cow<'_, str>;

/// Why there is no toolbox.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolboxError {
    /// There are too many tools.
    #[error("tools: expected at most {MAX_TOOLS}, got {0}")]
    TooMany(usize),
    /// A name that agents cannot be told, or that no call could mean.
    #[error("tools: expected a normalised name of 1 to {MAX_NAME} characters a-z, 0-9, - and _, got {0:?}")]
    Name(String),
    /// Two tools would answer to one name.
    #[error("tools: there are two with the name {0:?}")]
    Twice(String),
    /// Parameters that are no object.
    #[error("tools: expected the parameters of {0:?} to have the type object")]
    Parameters(String),
}

/// Every tool there is, by name. Does not change. Clones are the same one.
#[derive(Clone)]
pub struct Toolbox {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    tools: BTreeMap<String, Arc<dyn Tool>>,
    hooks: Hooks,
    pub(crate) gate: Arc<dyn Gate>,
    pub(crate) gating: Gating,
    pub(crate) tracker: TaskTracker,
    normalise: Normalise,
    pub(crate) seats: CallPermits,
}

/// What the tool policy says about one tool.
#[derive(Clone, Debug, PartialEq)]
pub enum Availability {
    /// Its caller has it.
    Left,
    /// Its caller does not.
    Removed {
        /// The step that removed it: `tools.global`.
        by: String,
    },
}

/// What is left of a toolbox for one caller. It is as old as the policy that it was made by: whoever calls by
/// it makes it anew when that changes. Clones are the same one.
#[derive(Clone)]
pub struct Selection {
    pub(crate) inner: Arc<Inner>,
    tools: Arc<BTreeMap<String, Wrapped>>,
    removed: Arc<BTreeMap<String, String>>,
}

impl Toolbox {
    /// Puts tools together.
    pub fn new(parts: Parts) -> Result<Self, ToolboxError> {
        let Parts { tools, hooks, gate, gating, tracker, normalise } = parts;
        if tools.len() > MAX_TOOLS {
            return Err(ToolboxError::TooMany(tools.len()));
        }
        let mut by_name = BTreeMap::new();
        for tool in tools {
            let Declaration { name, parameters, .. } = tool.declaration();
            let fits = !name.is_empty() && name.len() <= MAX_NAME && name.bytes().all(is_of_name);
            if !fits || normalise(name) != name.as_str() {
                return Err(ToolboxError::Name(name.clone()));
            }
            if parameters.get("type").and_then(Value::as_str) != Some("object") {
                return Err(ToolboxError::Parameters(name.clone()));
            }
            let name = name.clone();
            if by_name.insert(name.clone(), tool).is_some() {
                return Err(ToolboxError::Twice(name));
            }
        }
        let seats = CallPermits::default();
        let inner = Inner { tools: by_name, hooks, gate, gating, tracker, normalise, seats };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// What every tool says of itself, by name, before any policy.
    pub fn declarations(&self) -> impl Iterator<Item = &Declaration> {
        self.inner.tools.values().map(|tool| tool.declaration())
    }

    /// Leaves a caller the tools of which `judge`, the tool policy, says so, with their parameters as
    /// `normalised` writes them for the caller's provider. `judge` is asked about every tool once;
    /// `normalised` about none that it removed.
    pub fn select(
        &self,
        mut judge: impl FnMut(&Declaration) -> Availability,
        mut normalised: impl FnMut(&Declaration) -> Value,
    ) -> Selection {
        let (mut tools, mut removed) = (BTreeMap::new(), BTreeMap::new());
        for (name, tool) in &self.inner.tools {
            let declaration = tool.declaration();
            match judge(declaration) {
                Availability::Removed { by } => {
                    removed.insert(name.clone(), by);
                }
                Availability::Left => {
                    let parameters = normalised(declaration);
                    let description = declaration.description.clone();
                    let declaration = Declaration { name: name.clone(), description, parameters };
                    tools.insert(name.clone(), Wrapped::around(tool, declaration, &self.inner.hooks));
                }
            }
        }
        Selection { inner: Arc::clone(&self.inner), tools: Arc::new(tools), removed: Arc::new(removed) }
    }
}

impl Selection {
    /// What the agent is told of its tools, by name.
    pub fn declarations(&self) -> impl Iterator<Item = &Declaration> {
        self.tools.values().map(Tool::declaration)
    }

    /// The tool that a call means.
    pub(crate) fn find(&self, called: &str) -> Result<&Wrapped, ToolError> {
        let name = (self.inner.normalise)(called);
        self.tools.get(&*name).ok_or_else(|| ToolError::NotThere {
            tool: called.chars().take(MAX_NAME).collect(),
            removed_by: self.removed.get(&*name).cloned(),
        })
    }
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_')
}

/// Tools that there can be: more than any agent can make use of.
pub const MAX_TOOLS: usize = 512;

/// Characters of a name: more no provider takes.
pub const MAX_NAME: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, Scripted};
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn check(tools: Vec<Scripted>, expected: Result<&[&str], &str>) {
        let tools: Vec<Arc<dyn Tool>> =
            tools.into_iter().map(|tool| Arc::new(tool) as Arc<dyn Tool>).collect();
        let toolbox = Toolbox::new(Parts { tools, ..testing::parts() });
        let names = toolbox.as_ref().map(|toolbox| {
            toolbox.declarations().map(|declaration| declaration.name.clone()).collect::<Vec<_>>()
        });
        match (names, expected) {
            (Ok(names), Ok(expected)) => assert_eq!(names, expected),
            (Err(error), Err(expected)) => assert_eq!(error.to_string(), expected),
            (got, expected) => panic!("expected {expected:?}, got {got:?}"),
        }
    }

    #[test]
    fn a_toolbox_has_each_name_once_and_in_order() {
        let tools = || vec![Scripted::named("read_file"), Scripted::named("exec")];
        check(tools(), Ok(&["exec", "read_file"]));
        check(Vec::new(), Ok(&[]));
        let twice = tools().into_iter().chain([Scripted::named("exec")]).collect();
        check(twice, Err("tools: there are two with the name \"exec\""));
    }

    #[test]
    fn names_that_no_call_could_mean_are_refused() {
        let long = "x".repeat(MAX_NAME + 1);
        // `bash` means `exec` to whoever calls.
        for name in ["", "Exec", " exec", "ex ec", "exec*", "bash", "ex\u{e9}c", &long] {
            let expected = format!(
                "tools: expected a normalised name of 1 to 64 characters a-z, 0-9, - and _, got {name:?}"
            );
            check(vec![Scripted::named(name)], Err(&expected));
        }
        check(vec![Scripted::named(&"x".repeat(MAX_NAME))], Ok(&[&"x".repeat(MAX_NAME)]));
    }

    #[test]
    fn the_number_of_tools_and_the_form_of_their_parameters_are_bounded() {
        let many = |count| (0..count).map(|number| Scripted::named(&format!("t{number:04}"))).collect();
        check(many(MAX_TOOLS + 1), Err("tools: expected at most 512, got 513"));
        assert!(many(MAX_TOOLS).len() == MAX_TOOLS);
        for parameters in [json!({}), json!({"type": "array"}), json!(true), json!({"type": ["object"]})] {
            let tool = Scripted::named("t").with_parameters(parameters);
            check(vec![tool], Err("tools: expected the parameters of \"t\" to have the type object"));
        }
    }

    #[test]
    fn the_policy_judges_each_tool_once_before_its_schema_is_written() {
        let tools: Vec<Arc<dyn Tool>> =
            ["a", "b", "c"].map(|name| Arc::new(Scripted::named(name)) as Arc<dyn Tool>).into();
        let toolbox = Toolbox::new(Parts { tools, ..testing::parts() }).unwrap();
        let seen = std::cell::RefCell::new(Vec::new());
        let selection = toolbox.select(
            |declaration| {
                seen.borrow_mut().push(format!("judge {}", declaration.name));
                match declaration.name.as_str() {
                    "b" => Availability::Removed { by: "tools.global".to_owned() },
                    _ => Availability::Left,
                }
            },
            |declaration| {
                seen.borrow_mut().push(format!("write {}", declaration.name));
                json!({"type": "object", "title": declaration.name})
            },
        );
        assert_eq!(seen.into_inner(), ["judge a", "write a", "judge b", "judge c", "write c"]);
        let told: Vec<_> = selection.declarations().map(|told| told.parameters["title"].clone()).collect();
        assert_eq!(told, ["a", "c"]);
        let find = |name: &str| selection.find(name).map(|_| ()).map_err(|error| error.to_string());
        assert_eq!(find(" A "), Ok(()));
        let removed = "the tool \"B\" is not available here: removed by tools.global";
        assert_eq!(find("B"), Err(removed.to_owned()));
        assert_eq!(find("d"), Err("there is no tool \"d\"".to_owned()));
    }
}
