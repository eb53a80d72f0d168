//! What an approval of a command on a node is bound to (docs/protocol/approvals.md, "Binding"): without the
//! command, folder, agent, session, environment and node that a person was asked about, their answer counts
//! for nothing.

use countersign_protocol::digits::hex;
use countersign_protocol::gateway::approval::Plan;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;

/// What a person was asked about, as it came, and not as it was shown. Of the environment
/// only a hash is kept.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Binding {
    /// The argument list.
    pub argv: Vec<String>,
    /// The folder.
    pub cwd: Option<String>,
    /// The agent.
    pub agent_id: Option<String>,
    /// The session.
    pub session_key: Option<String>,
    /// Hash of the environment overrides; `None` without any.
    pub env_hash: Option<String>,
}

impl Binding {
    /// Of a request for a command on a node: what its plan says, and where it says nothing, what
    /// the request does.
    pub(super) fn of(
        plan: &Plan,
        cwd: Option<&str>,
        agent_id: Option<&str>,
        session_key: Option<&str>,
    ) -> Self {
        let of = |plan: &Option<String>, own: Option<&str>| text(plan.as_deref()).or_else(|| text(own));
        Self {
            argv: plan.argv.clone(),
            cwd: of(&plan.cwd, cwd),
            agent_id: of(&plan.agent_id, agent_id),
            session_key: of(&plan.session_key, session_key),
            env_hash: None,
        }
    }

    /// With these environment overrides.
    pub(super) fn with(self, env: &Environment<'_>) -> Self {
        Self { env_hash: env.hash(), ..self }
    }
}

/// Environment overrides as they came.
pub(super) struct Environment<'a> {
    /// Those that are bound.
    bound: BTreeMap<&'a str, &'a str>,
    /// Names of those that cannot be: no name of a variable, or no text.
    unbound: Vec<&'a str>,
}

impl<'a> Environment<'a> {
    pub(super) fn of(members: impl IntoIterator<Item = (&'a String, &'a Value)>) -> Self {
        let mut env = Self { bound: BTreeMap::new(), unbound: Vec::new() };
        for (name, value) in members {
            match value.as_str().filter(|_| is_name(name)) {
                Some(value) => {
                    env.bound.insert(name, value);
                }
                None => env.unbound.push(name),
            }
        }
        env
    }

    /// Whether some of them would not be part of the hash.
    pub(super) fn has_unbound(&self) -> bool {
        !self.unbound.is_empty()
    }

    /// The names of all of them, sorted.
    pub(super) fn names(&self) -> Vec<&'a str> {
        let mut names: Vec<&str> = self.bound.keys().copied().chain(self.unbound.iter().copied()).collect();
        names.sort_unstable();
        names
    }

    /// SHA-256 of the list of pairs as JSON, by name; `None` without any.
    pub(super) fn hash(&self) -> Option<String> {
        if self.bound.is_empty() {
            return None;
        }
        let pairs =
            Value::from_iter(self.bound.iter().map(|(name, value)| Value::from_iter([*name, *value])));
        Some(hex(Sha256::digest(pairs.to_string())))
    }
}

/// Names that every system takes, and those with brackets that Windows has too.
fn is_name(name: &str) -> bool {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_()".contains(&byte))
}

/// Without blanks around it, if anything is left.
pub(super) fn text(text: Option<&str>) -> Option<String> {
    text.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    #[test]
    fn an_environment_is_hashed_by_name_and_value_and_what_cannot_be_bound_is_told() {
        let check = |env: Value, hash: Option<&str>, unbound: bool| {
            let env = env.as_object().unwrap().clone();
            let env = Environment::of(&env);
            assert_eq!((env.hash().as_deref(), env.has_unbound()), (hash, unbound));
        };
        let known = "c89968fbefadd96af07c45a214d55c00b4929ada53945b0d5a6b51c14b6ac15f";
        check(json!({"B_X": "two words", "A": "1"}), Some(known), false);
        check(json!({"B_X": "two words", "A": "1", "BASH_FUNC_x%%": "() { id; }"}), Some(known), true);
        check(json!({"B_X": "two words", "A": "1", "C": 1}), Some(known), true);
        check(json!({}), None, false);
        check(json!({"1A": "x", "": "y", "A=B": "z", " A": "1"}), None, true);
    }
}
