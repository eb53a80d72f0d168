//! What is set about tools: the peers' keys below `tools`, for all agents and for single ones
//! (docs/protocol/tools.md, "Allow and deny").
//!
//! Read from the document that says where commands run, once; what comes out has its patterns ready. Members
//! that mean nothing here are left alone below `tools`, where the peers have many of their own, and are an
//! error in the small objects, where a misspelt `deny` would leave open what it was to shut. So is a value
//! of the wrong kind.

use super::names::List;
use super::read::At;
use countersign_commands::text::is_js_space as is_space;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// All that is set. Without anything set every tool stays that no built-in rule takes.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Config {
    pub(super) global: Scope,
    /// By normalised id.
    pub(super) agents: BTreeMap<String, Scope>,
    /// `tools.subagents.tools`.
    pub(super) sub_agents: Lists,
    /// `agents.defaults.subagents.maxSpawnDepth`.
    max_spawn_depth: Option<u32>,
    /// `channels.<channel>.groups.<id>.tools`, by channel and id.
    groups: BTreeMap<(String, String), Lists>,
    pub(super) strictness: Strictness,
    /// Members that would restrict and are not taken into account.
    pub(super) unsupported: Vec<String>,
}

/// What becomes of an allowlist that names only tools of plugins which are not loaded, in the three steps
/// that ask (docs/protocol/tools.md, "Stale lists"). Denies always hold. A profile that is known names core
/// tools, so that it is a group's list that is dropped.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Strictness {
    /// It is dropped, and a warning says so: a stale list is not to take every core tool.
    #[default]
    Lenient,
    /// It holds, so that nothing is left. `tools.strict` is true.
    Strict,
}

/// Lists of one place.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Lists {
    /// `allow`: only these. Empty is like absent.
    pub allow: Option<List>,
    /// `alsoAllow`: these too. Where nothing else is allowed by name it restricts nothing.
    pub also_allow: Option<List>,
    /// `deny`: none of these, whatever is allowed.
    pub deny: Option<List>,
}

/// What is set for one agent or for all.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Scope {
    pub(super) tools: ProfileLists,
    /// `byProvider`, by normalised key.
    pub(super) by_provider: BTreeMap<String, ProfileLists>,
    /// `sandbox.tools`.
    pub(super) sandbox: Lists,
    pub(super) apply_patch: ApplyPatch,
}

/// Lists and the profile beside them.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct ProfileLists {
    pub(super) profile: Option<String>,
    pub(super) lists: Lists,
}

/// `exec.applyPatch`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct ApplyPatch {
    pub(super) enabled: Option<bool>,
    /// Normalised.
    pub(super) allow_models: Option<Vec<String>>,
}

/// Why what is set counts for nothing. Each names the member.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A value of the wrong kind.
    #[error("{path}: expected {expected}, got {got}")]
    Kind {
        /// The member.
        path: String,
        /// What it is to be.
        expected: &'static str,
        /// What it is.
        got: String,
    },
    /// A member that means nothing in an object that has few.
    #[error("{path}: expected {expected}, got {got:?}")]
    Unknown {
        /// The object.
        path: String,
        /// Its members.
        expected: String,
        /// The member.
        got: String,
    },
    /// More than are looked at.
    #[error("{path}: expected at most {most} {what}, got {got}")]
    TooMany {
        /// The member.
        path: String,
        /// Of what.
        what: &'static str,
        /// How many there may be.
        most: usize,
        /// How many there are.
        got: usize,
    },
    /// A text that is longer than any that means something.
    #[error("{path}: expected at most {most} characters, got {got}")]
    TooLong {
        /// The member.
        path: String,
        /// How long it may be.
        most: usize,
        /// How long it is.
        got: usize,
    },
    /// `allow` and `alsoAllow` say different things about what is not named.
    #[error("{path}: expected allow or alsoAllow, got both")]
    AllowTwice {
        /// The object.
        path: String,
    },
    /// Two keys that are the same to whoever looks them up.
    #[error("{path}: {key:?} is there twice")]
    SameKey {
        /// The object.
        path: String,
        /// The second of them.
        key: String,
    },
    /// What can only be set for all agents.
    #[error("{path}: expected only below tools, where it is for all agents")]
    ForAllAgents {
        /// The member.
        path: String,
    },
}

impl Config {
    /// Reads `tools`, `agents.entries.*.tools` and the older `agents.list[].tools`.
    ///
    /// # Errors
    ///
    /// Where something is of the wrong kind, is there twice, or is more than is looked at. All of it counts
    /// for nothing then, because what it was to shut would be open.
    pub fn read(document: &Map<String, Value>) -> Result<Self, ConfigError> {
        let root = At::root(document);
        let tools = root.object("tools")?;
        let mut config = Self { global: Scope::read(&tools)?, ..Self::default() };
        let sub_agents = tools.object("subagents")?.object("tools")?;
        config.sub_agents = Lists::alone(&sub_agents)?;
        if tools.truth("strict")? == Some(true) {
            config.strictness = Strictness::Strict;
        }
        config.notice(&tools);
        for (channel, about) in root.object("channels")?.objects()? {
            for (group, about) in about.object("groups")?.objects()? {
                config.notice(&about);
                let lists = Lists::alone(&about.object("tools")?)?;
                config.groups.insert((channel.to_lowercase(), group.to_owned()), lists);
            }
        }
        let agents = root.object("agents")?;
        config.max_spawn_depth = agents.object("defaults")?.object("subagents")?.count("maxSpawnDepth")?;
        for (id, agent) in agents.object("entries")?.objects()? {
            config.read_agent(id, &agent)?;
        }
        for agent in agents.list("list")? {
            let id = agent.text("id")?.ok_or_else(|| agent.wrong("id", "a text", "nothing"))?;
            config.read_agent(id, &agent)?;
        }
        agents.at_most(MAX_AGENTS, "agents", config.agents.len())?;
        Ok(config)
    }

    /// What is set for a group of a channel, or else for all groups of that channel.
    #[must_use]
    pub fn group(&self, channel: &str, id: &str) -> Option<&Lists> {
        let named = |id: &str| self.groups.get(&(channel.to_lowercase(), id.to_owned()));
        named(id).or_else(|| named("*"))
    }

    /// How far down runs may start others; one level where nobody says otherwise.
    #[must_use]
    pub fn max_spawn_depth(&self) -> u32 {
        self.max_spawn_depth.unwrap_or(1).max(1)
    }

    /// What becomes of an allowlist that names only tools of plugins which are not loaded.
    #[must_use]
    pub fn strictness(&self) -> Strictness {
        self.strictness
    }

    /// What is set for an agent, whose id is compared without regard to case.
    pub(super) fn agent(&self, id: &str) -> Option<&Scope> {
        self.agents.get(&key(id))
    }

    fn read_agent(&mut self, id: &str, agent: &At<'_>) -> Result<(), ConfigError> {
        let tools = agent.object("tools")?;
        for member in ["strict", "subagents"] {
            if tools.has(member) {
                return Err(ConfigError::ForAllAgents { path: tools.below(member) });
            }
        }
        self.notice(&tools);
        let scope = Scope::read(&tools)?;
        if self.agents.insert(key(id), scope).is_some() {
            return Err(ConfigError::SameKey { path: "agents".to_owned(), key: id.to_owned() });
        }
        Ok(())
    }

    fn notice(&mut self, tools: &At<'_>) {
        self.unsupported.extend(tools.has(BY_SENDER).then(|| tools.below(BY_SENDER)));
    }
}

impl Lists {
    /// Reads the lists of one group or channel, `{allow, alsoAllow, deny}`. `path` is where they are
    /// written, for the error.
    ///
    /// # Errors
    ///
    /// As [`Config::read`] has them.
    pub fn read(value: &Value, path: &str) -> Result<Self, ConfigError> {
        Self::alone(&At::value(value, path)?)
    }

    /// The lists of an object that has nothing beside them.
    fn alone(at: &At<'_>) -> Result<Self, ConfigError> {
        at.only(&["allow", "alsoAllow", "deny"])?;
        Self::of(at)
    }

    fn of(at: &At<'_>) -> Result<Self, ConfigError> {
        let list = |key: &str| match at.texts(key)? {
            Some(entries) => List::new(&entries, &at.below(key)).map(Some),
            None => Ok(None),
        };
        let lists = Self { allow: list("allow")?, also_allow: list("alsoAllow")?, deny: list("deny")? };
        let says = |list: &Option<List>| list.as_ref().is_some_and(|list| !list.is_empty());
        if says(&lists.allow) && says(&lists.also_allow) {
            return Err(ConfigError::AllowTwice { path: at.path().to_owned() });
        }
        Ok(lists)
    }
}

impl Scope {
    fn read(tools: &At<'_>) -> Result<Self, ConfigError> {
        let providers = tools.object("byProvider")?;
        let mut by_provider = BTreeMap::new();
        for (name, provider) in providers.objects()? {
            provider.only(&["allow", "alsoAllow", "deny", "profile"])?;
            if by_provider.insert(key(name), ProfileLists::read(&provider)?).is_some() {
                return Err(ConfigError::SameKey { path: providers.path().to_owned(), key: name.to_owned() });
            }
        }
        providers.at_most(MAX_PROVIDERS, "providers", by_provider.len())?;
        Ok(Self {
            tools: ProfileLists::read(tools)?,
            by_provider,
            sandbox: Lists::alone(&tools.object("sandbox")?.object("tools")?)?,
            apply_patch: ApplyPatch::read(&tools.object("exec")?.object("applyPatch")?)?,
        })
    }
}

impl ProfileLists {
    fn read(at: &At<'_>) -> Result<Self, ConfigError> {
        let profile = at.text("profile")?.map(key).filter(|profile| !profile.is_empty());
        Ok(Self { profile, lists: Lists::of(at)? })
    }
}

impl ApplyPatch {
    fn read(at: &At<'_>) -> Result<Self, ConfigError> {
        at.only(&["allowModels", "enabled", "workspaceOnly"])?;
        // No patch leaves the workspace here, so that it can only say what is so anyway.
        at.truth("workspaceOnly")?;
        // The same limits as those of any other list.
        let models = at.texts("allowModels")?;
        if let Some(models) = &models {
            List::new(models, &at.below("allowModels"))?;
        }
        let models = models.map(|models| models.into_iter().map(key).filter(|key| !key.is_empty()).collect());
        Ok(Self { enabled: at.truth("enabled")?, allow_models: models })
    }

    /// With what an agent's own says, member by member.
    pub(super) fn over<'a>(agent: Option<&'a Self>, global: &'a Self) -> (Option<bool>, &'a [String]) {
        let enabled = agent.and_then(|agent| agent.enabled).or(global.enabled);
        let models = agent.and_then(|agent| agent.allow_models.as_ref()).or(global.allow_models.as_ref());
        (enabled, models.map(Vec::as_slice).unwrap_or_default())
    }
}

/// How ids, providers, models and profiles are compared.
pub(super) fn key(text: &str) -> String {
    text.trim_matches(is_space).to_lowercase()
}

/// A layer of the newest release that is none here: the labels of ours have no place for it.
const BY_SENDER: &str = "toolsBySender";

/// Agents that may have settings of their own: more than anybody runs.
const MAX_AGENTS: usize = 256;

/// Providers and models with settings of their own, in one place: more than anybody uses.
const MAX_PROVIDERS: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn read(document: Value) -> Result<Config, ConfigError> {
        Config::read(document.as_object().unwrap())
    }

    fn check(document: Value, expected: &str) {
        let error = read(document.clone()).map(|_| ()).map_err(|error| error.to_string());
        assert_eq!(error, Err(expected.to_owned()), "{document}");
    }

    #[test]
    fn what_is_not_understood_is_an_error_that_names_the_member() {
        check(json!({"tools": 1}), "tools: expected an object, got a number");
        check(json!({"tools": {"deny": "exec"}}), "tools.deny: expected a list of texts, got a text");
        check(json!({"tools": {"deny": [1]}}), "tools.deny[0]: expected a text, got a number");
        check(json!({"tools": {"allow": null}}), "tools.allow: expected a list of texts, got nothing");
        check(json!({"tools": {"profile": []}}), "tools.profile: expected a text, got a list");
        check(json!({"tools": {"strict": "yes"}}), "tools.strict: expected true or false, got a text");
        check(
            json!({"tools": {"byProvider": {"openai": {"denny": ["exec"]}}}}),
            "tools.byProvider.openai: expected allow, alsoAllow, deny or profile, got \"denny\"",
        );
        check(
            json!({"tools": {"sandbox": {"tools": {"profile": "full"}}}}),
            "tools.sandbox.tools: expected allow, alsoAllow or deny, got \"profile\"",
        );
        check(
            json!({"tools": {"subagents": {"tools": {"denied": []}}}}),
            "tools.subagents.tools: expected allow, alsoAllow or deny, got \"denied\"",
        );
        check(
            json!({"agents": {"entries": {"a": {"tools": {"exec": {"applyPatch": {"on": true}}}}}}}),
            "agents.entries.a.tools.exec.applyPatch: expected allowModels, enabled or workspaceOnly, got \"on\"",
        );
        check(
            json!({"agents": {"list": [{"tools": {}}]}}),
            "agents.list[0].id: expected a text, got nothing",
        );
        let group = Lists::read(&json!([]), "channels.x.groups.1.tools").unwrap_err().to_string();
        assert_eq!(group, "channels.x.groups.1.tools: expected an object, got a list");
    }

    #[test]
    fn what_says_two_things_is_an_error() {
        check(
            json!({"tools": {"allow": ["exec"], "alsoAllow": ["read"]}}),
            "tools: expected allow or alsoAllow, got both",
        );
        check(
            json!({"tools": {"byProvider": {"openai": {}, "OpenAI ": {}}}}),
            "tools.byProvider: \"OpenAI \" is there twice",
        );
        check(
            json!({"agents": {"entries": {"Main": {}}, "list": [{"id": "main"}]}}),
            "agents: \"main\" is there twice",
        );
        check(
            json!({"agents": {"entries": {"main": {"tools": {"strict": true}}}}}),
            "agents.entries.main.tools.strict: expected only below tools, where it is for all agents",
        );
        let empty = json!({"tools": {"allow": [" "], "alsoAllow": ["read"]}});
        assert!(read(empty).is_ok(), "what allows nothing by name says nothing");
    }

    #[test]
    fn more_than_is_looked_at_is_an_error() {
        let many = |most: usize| (0..=most).map(|at| (format!("x{at}"), json!({}))).collect::<Map<_, _>>();
        check(
            json!({"tools": {"byProvider": many(MAX_PROVIDERS)}}),
            "tools.byProvider: expected at most 128 providers, got 129",
        );
        check(
            json!({"agents": {"entries": many(MAX_AGENTS)}}),
            "agents: expected at most 256 agents, got 257",
        );
        check(
            json!({"tools": {"profile": "x".repeat(201)}}),
            "tools.profile: expected at most 200 characters, got 201",
        );
        check(
            json!({"tools": {"exec": {"applyPatch": {"allowModels": vec!["m"; 513]}}}}),
            "tools.exec.applyPatch.allowModels: expected at most 512 entries, got 513",
        );
    }

    #[test]
    fn members_of_others_are_left_alone() {
        let document = json!({"tools": {
            "web": {"search": {}}, "loopDetection": 1, "elevated": {"enabled": false}, "exec": {"host": "auto"},
        }, "agents": {"defaults": {"model": "m"}, "entries": {"main": {"model": "m", "tools": {"fs": 1}}}}, "note": 1});
        let config = read(document).unwrap();
        assert_eq!(config.global, Scope::default());
        assert_eq!(config.agent(" MAIN "), Some(&Scope::default()));
        assert_eq!(config.agent("other"), None);
    }
}
