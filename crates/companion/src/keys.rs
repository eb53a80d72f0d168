//! Every key that can be set in a file of the person's or in the environment, so that what
//! nobody obeys is named.
//!
//! Files of which every member decides something refuse an unknown one when they are read. In these three
//! others keep members of their own: the approvals document and `tools.json` hold the peers' keys too, and
//! settings may come from another version.

use serde_json::Value;
use std::collections::BTreeSet;

/// Keys of a file, a path each. `*` is any name, `[]` any place of a list.
#[derive(Debug)]
pub struct Keys {
    /// Those that something obeys.
    obeyed: &'static [&'static str],
    /// Notes that programs keep for people: they are to have no effect.
    notes: &'static [&'static str],
    /// Those that are known and have no effect here, with why.
    idle: &'static [(&'static str, &'static str)],
    /// Of these, the switches that are as here when they are on. The others are as here when they
    /// are off, or empty.
    always_on: &'static [&'static str],
}

/// A member that nothing obeys.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Idle {
    /// Where it stands.
    pub path: String,
    /// Why it has no effect; `None` when it is not known at all.
    pub why: Option<&'static str>,
}

impl Idle {
    /// Why it has no effect, as a person reads it.
    pub fn reason(&self) -> &'static str {
        self.why.unwrap_or("nothing here knows such a key")
    }
}

impl Keys {
    /// Members of `document` that nothing obeys, in order, each once. What lies below one is not told again.
    pub fn idle_in(&self, document: &Value) -> Vec<Idle> {
        let mut found = Vec::new();
        self.look(document, &mut Vec::new(), String::new(), &mut found);
        found
    }

    fn look(&self, value: &Value, steps: &mut Vec<String>, path: String, found: &mut Vec<Idle>) {
        let below: Vec<(String, String, &Value)> = match value {
            Value::Object(members) => members
                .iter()
                .map(|(name, value)| {
                    let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    (name.clone(), path, value)
                })
                .collect(),
            Value::Array(items) => items
                .iter()
                .enumerate()
                .map(|(at, item)| ("[]".to_owned(), format!("{path}[{at}]"), item))
                .collect(),
            _ => return,
        };
        for (step, path, value) in below {
            steps.push(step);
            match self.standing(steps) {
                Standing::Above => self.look(value, steps, path, found),
                Standing::Obeyed => {}
                Standing::Idle(why) => {
                    let is_on_here = self.always_on.iter().any(|key| meets(key, steps) == Some(0));
                    if why.is_none() || !is_as_here(value, is_on_here) {
                        found.push(Idle { path, why });
                    }
                }
            }
            steps.pop();
        }
    }

    fn standing(&self, steps: &[String]) -> Standing {
        let idle = self.idle.iter().find(|(key, _)| meets(key, steps) == Some(0));
        if let Some((_, why)) = idle {
            return Standing::Idle(Some(why));
        }
        let left = self.obeyed.iter().chain(self.notes).filter_map(|key| meets(key, steps)).max();
        match left {
            Some(0) => Standing::Obeyed,
            Some(_) => Standing::Above,
            None => Standing::Idle(None),
        }
    }
}

/// Whether a value that is not obeyed would change nothing if it were.
fn is_as_here(value: &Value, is_on_here: bool) -> bool {
    match value {
        Value::Bool(is_on) => *is_on == is_on_here,
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Number(_) | Value::String(_) => false,
    }
}

/// What stands at a place.
enum Standing {
    /// Something that holds keys.
    Above,
    /// A key that is obeyed, with all that is below it.
    Obeyed,
    /// A key that is not.
    Idle(Option<&'static str>),
}

/// How many steps a key goes on behind these; `None` when it is another way.
fn meets(key: &str, steps: &[String]) -> Option<usize> {
    let parts: Vec<&str> = key.split('.').collect();
    let fits = parts.iter().zip(steps).all(|(part, step)| *part == "*" && step != "[]" || part == step);
    (parts.len() >= steps.len() && fits).then(|| parts.len() - steps.len())
}

/// Variables of ours in an environment that no part of the program reads.
pub fn idle_variables(names: impl Iterator<Item = String>) -> BTreeSet<String> {
    names.filter(|name| name.starts_with("COUNTERSIGN_") && !VARIABLES.contains(&name.as_str())).collect()
}

/// Our variables. The last two are handed from one of our processes to another.
const VARIABLES: [&str; 8] = [
    "COUNTERSIGN_GATEWAY_PORT",
    "COUNTERSIGN_GATEWAY_TOKEN",
    "COUNTERSIGN_KEYRING",
    "COUNTERSIGN_LOG",
    "COUNTERSIGN_STATE_DIR",
    // Read by the agents that docs/agents.md tells to.
    "COUNTERSIGN_MCP_TOKEN",
    "COUNTERSIGN_GUARDIAN",
    "COUNTERSIGN_WARDEN",
];

/// The approvals document (docs/protocol/document.md, "Members").
pub const DOCUMENT: Keys = Keys {
    obeyed: &[
        "version",
        "socket.path",
        "socket.token",
        "defaults.security",
        "defaults.ask",
        "defaults.askFallback",
        "agents.*.security",
        "agents.*.ask",
        "agents.*.askFallback",
        "agents.*.allowlist.[].id",
        "agents.*.allowlist.[].pattern",
        "agents.*.allowlist.[].argPattern",
        "agents.*.allowlist.[].source",
        "agents.*.allowlist.[].lastUsedAt",
        "agents.*.allowlist.[].lastUsedCommand",
        "agents.*.allowlist.[].lastResolvedPath",
    ],
    // The newest release takes it for a command that is allowed; here its pattern `=command:` alone is one.
    notes: &["agents.*.allowlist.[].commandText"],
    idle: &[
        ("defaults.autoAllowSkills", SKILLS),
        ("agents.*.autoAllowSkills", SKILLS),
        (
            "agents.*.mcpTools",
            "the peers' own MCP clients obey it; tools of other MCP servers do not come by here",
        ),
    ],
    always_on: &[],
};

const SKILLS: &str = "it has no effect here; allow the programs of skills by entries or rules";

/// `settings.json`.
pub const SETTINGS: Keys = Keys {
    obeyed: &[
        "theme",
        "language",
        "armDelayMs",
        "notifications",
        "forwardedGrants",
        "limits.waiting",
        "limits.runSeconds",
        "limits.outputKb",
        "limits.historyMb",
        "gateway.enabled",
        "gateway.port",
        "pet.enabled",
    ],
    notes: &[],
    idle: &[],
    always_on: &[],
};

/// Keys of `tools` that can be set for all agents, for one among the entries, and for one in the older list.
macro_rules! tools_keys {
    ($($key:literal)*; $($other:literal)*) => {
        &[
            $(
                concat!("tools.", $key),
                concat!("agents.entries.*.tools.", $key),
                concat!("agents.list.[].tools.", $key),
            )*
            $($other,)*
        ]
    };
}

/// `tools.json`.
pub const TOOLS: Keys = Keys {
    obeyed: tools_keys![
        "allow" "alsoAllow" "deny" "profile"
        "byProvider.*.allow" "byProvider.*.alsoAllow" "byProvider.*.deny" "byProvider.*.profile"
        "sandbox.tools.allow" "sandbox.tools.alsoAllow" "sandbox.tools.deny"
        "exec.host" "exec.node" "exec.mode" "exec.security" "exec.ask" "exec.sandbox.required"
        "exec.safeBins" "exec.safeBinTrustedDirs" "exec.strictInlineEval" "exec.extensions.*"
        "exec.safeBinProfiles.*.minPositional" "exec.safeBinProfiles.*.maxPositional"
        "exec.safeBinProfiles.*.allowedValueFlags" "exec.safeBinProfiles.*.deniedFlags"
        "exec.applyPatch.allowModels" "exec.applyPatch.enabled"
        "elevated.enabled" "elevated.allowFrom.*";
        "agents.list.[].id"
        "agents.defaults.subagents.maxSpawnDepth"
        "channels.*.groups.*.tools.allow" "channels.*.groups.*.tools.alsoAllow" "channels.*.groups.*.tools.deny"
        "tools.strict"
        "tools.subagents.tools.allow" "tools.subagents.tools.alsoAllow" "tools.subagents.tools.deny"
        "tools.exec.sandbox.backend" "tools.exec.sandbox.image" "tools.exec.sandbox.network"
        "tools.exec.timeoutSec" "tools.exec.timeoutSeconds" "tools.exec.backgroundMs" "tools.exec.notifyOnExit"
        "tools.hooks.[].name" "tools.hooks.[].command" "tools.hooks.[].priority" "tools.hooks.[].when"
        "tools.subagent.command" "tools.spawn.command"
        "tools.askAbout" "tools.pet.askAbout" "tools.gateway.askAbout"
    ],
    notes: &[],
    idle: &[
        ("tools.exec.applyPatch.workspaceOnly", PATCHES),
        ("agents.entries.*.tools.exec.applyPatch.workspaceOnly", PATCHES),
        ("agents.list.[].tools.exec.applyPatch.workspaceOnly", PATCHES),
        ("tools.toolsBySender", SENDERS),
        ("agents.entries.*.tools.toolsBySender", SENDERS),
        ("agents.list.[].tools.toolsBySender", SENDERS),
        ("channels.*.groups.*.toolsBySender", SENDERS),
    ],
    always_on: &[
        "tools.exec.applyPatch.workspaceOnly",
        "agents.entries.*.tools.exec.applyPatch.workspaceOnly",
        "agents.list.[].tools.exec.applyPatch.workspaceOnly",
    ],
};

const PATCHES: &str = "a patch changes files of its workspace alone here, whatever this says";

const SENDERS: &str = "who sent a message is not known here, so it takes no tool from anybody";

#[cfg(test)]
mod tests;
