//! Who may lift a session out of its sandbox (docs/protocol/routing.md, "Elevation"): the gates of
//! `tools.elevated`.

use super::directive::Runtime;
use std::collections::BTreeMap;

/// What is set at one place.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Gates {
    /// `enabled`; absent means yes.
    pub enabled: Option<bool>,
    /// `allowFrom`: who, by where they come from.
    pub allow_from: Option<BTreeMap<String, Vec<String>>>,
}

/// Who wants it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Sender<'a> {
    /// Where they come from.
    pub provider: &'a str,
    /// Who they are there.
    pub id: &'a str,
}

/// A gate that is shut, and the key that opens it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Shut {
    /// `enabled` or `allowFrom`.
    pub gate: &'static str,
    /// The key.
    pub key: String,
}

/// The gates that are shut for a sender. Both places have to let it through: nothing is open unless it says
/// so, as without `allowFrom` for all agents nobody is.
#[must_use]
pub fn shut(global: &Gates, agent: &Gates, sender: Sender<'_>) -> Vec<Shut> {
    let mut shut = Vec::new();
    if global.enabled == Some(false) {
        shut.push(Shut { gate: "enabled", key: "tools.elevated.enabled".to_owned() });
    }
    if agent.enabled == Some(false) {
        shut.push(Shut { gate: "enabled", key: format!("{AGENT}.enabled") });
    }
    if !shut.is_empty() {
        return shut;
    }
    if !global.allow_from.as_ref().is_some_and(|from| lets(from, sender)) {
        let key = format!("tools.elevated.allowFrom.{}", sender.provider);
        shut.push(Shut { gate: "allowFrom", key });
    } else if !agent.allow_from.as_ref().is_none_or(|from| lets(from, sender)) {
        shut.push(Shut { gate: "allowFrom", key: format!("{AGENT}.allowFrom.{}", sender.provider) });
    }
    shut
}

/// What is said where a gate is shut; `None` where all are open.
#[must_use]
pub fn unavailable(shut: &[Shut], runtime: Runtime) -> Option<String> {
    if shut.is_empty() {
        return None;
    }
    let gates = shut.iter().map(|shut| format!("{} ({})", shut.gate, shut.key)).collect::<Vec<_>>();
    Some(format!(
        "elevated is not available right now (runtime={}).\nFailing gates: {}",
        runtime.as_str(),
        gates.join(", ")
    ))
}

fn lets(from: &BTreeMap<String, Vec<String>>, sender: Sender<'_>) -> bool {
    let entries = from.get(sender.provider).map(Vec::as_slice).unwrap_or_default();
    entries.iter().map(|entry| entry.trim()).any(|entry| entry == "*" || entry == sender.id)
}

const AGENT: &str = "agents.entries.*.tools.elevated";

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn gates(enabled: Option<bool>, allow: Option<&[&str]>) -> Gates {
        let allow_from = allow.map(|allow| {
            BTreeMap::from([("cli".to_owned(), allow.iter().map(|entry| (*entry).to_owned()).collect())])
        });
        Gates { enabled, allow_from }
    }

    #[test]
    fn nobody_is_elevated_unless_both_places_let_them() {
        let sender = Sender { provider: "cli", id: "1000" };
        let check = |global: Gates, agent: Gates, expected: &str| {
            let keys: Vec<String> = shut(&global, &agent, sender).into_iter().map(|shut| shut.key).collect();
            assert_eq!(keys.join(" "), expected, "{global:?} {agent:?}");
        };
        let unset = Gates::default();
        check(unset.clone(), unset.clone(), "tools.elevated.allowFrom.cli");
        check(gates(None, Some(&[])), unset.clone(), "tools.elevated.allowFrom.cli");
        check(gates(None, Some(&["1001"])), unset.clone(), "tools.elevated.allowFrom.cli");
        check(gates(None, Some(&["1000"])), unset.clone(), "");
        check(gates(Some(true), Some(&[" * "])), unset.clone(), "");
        check(gates(Some(false), Some(&["*"])), unset, "tools.elevated.enabled");
        let agent = "agents.entries.*.tools.elevated";
        check(gates(None, Some(&["*"])), gates(Some(false), None), &format!("{agent}.enabled"));
        check(gates(None, Some(&["*"])), gates(None, Some(&["9"])), &format!("{agent}.allowFrom.cli"));
        check(gates(None, Some(&["*"])), gates(None, Some(&["*"])), "");
    }

    #[test]
    fn what_is_said_names_the_gates() {
        let shut = shut(&Gates::default(), &Gates::default(), Sender { provider: "cli", id: "1" });
        assert_eq!(
            unavailable(&shut, Runtime::Direct).unwrap(),
            "elevated is not available right now (runtime=direct).\nFailing gates: allowFrom (tools.elevated.allowFrom.cli)"
        );
        assert_eq!(unavailable(&[], Runtime::Sandboxed), None);
    }
}
