//! A message to a session: what it asks for, what would get looser by it, and what is answered.

use super::config::{Scope, ToolsDocument};
use super::edit::{RoutingError, looser};
use super::sessions::{Key, Setting, StoredOverrides, Value};
use super::{Router, surroundings};
use countersign_protocol::edits::Loosening;
use countersign_protocol::ui::RouteLasting;
use countersign_routing::Release;
use countersign_routing::directive::{Current, Message, Reply};
use countersign_routing::route::{self, Layers, RouteDefaults, RouteError, Surroundings, Tool, Weight};

/// A message that was understood. Nothing is set yet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Heard {
    /// What is left of it.
    pub(crate) cleaned: String,
    /// What is answered, once it is set.
    pub(crate) reply: Reply,
    /// What a person has to confirm first.
    pub(crate) loosenings: Vec<Loosening>,
    settings: Vec<Setting>,
}

impl Router {
    /// Takes a message to a session apart.
    pub(crate) async fn hear(&self, key: &Key, text: &str) -> Result<Heard, RoutingError> {
        let (file, sandbox) = self.look().await;
        let tools = file.tools.as_ref().map_err(|problem| RoutingError::Store(problem.to_string()))?;
        let around = surroundings(&sandbox);
        let message = Message::parse(text, RELEASE);
        let now = self.steady_ms();
        let scope = tools.of(key.agent.as_str());
        let holds = standing(tools, &scope, &self.inner.sessions.standing(key, &[], now), around);
        let runtime = holds.runtime();
        let current = Current {
            target: holds.target.value,
            host: holds.host,
            security: holds.security.value,
            ask: holds.ask.value,
            node: holds.node.as_ref().map(|node| node.value.clone()),
            elevated: holds.elevated.value,
        };
        let unavailable = self.unavailable(tools, &scope, runtime);
        let reply = message.reply(RELEASE, &current, unavailable.as_deref(), runtime);
        let mut heard =
            Heard { cleaned: message.cleaned.clone(), reply, loosenings: Vec::new(), settings: Vec::new() };
        if !matches!(heard.reply, Reply::Done(_)) {
            return Ok(heard);
        }
        heard.settings = settings_of(&message);
        heard.settings.retain(|setting| !self.inner.sessions.is_confirmed(key, setting, now));
        // Compared with what would hold had nothing been said of the same before: a word that takes the place
        // of one that was confirmed is not confirmed by that.
        let mut said = self.inner.sessions.standing(key, &heard.settings, now);
        let before = standing(tools, &scope, &said, around);
        for setting in &heard.settings {
            said.put(setting, Weight::Confirmed);
        }
        let after = standing(tools, &scope, &said, around);
        // StoredOverrides before anything is set, not at each of its runs.
        if after.problem(around) == Some(RouteError::ElevatedSandbox)
            && before.problem(around) != after.problem(around)
        {
            heard.reply = Reply::Unchanged(RouteError::ElevatedSandbox.to_string());
            heard.settings.clear();
            return Ok(heard);
        }
        heard.loosenings = looser(&before, &after, &key.to_string());
        Ok(heard)
    }

    /// Sets what was heard. `weight` says whether a person confirmed it.
    pub(crate) fn hold(&self, key: &Key, heard: &Heard, weight: Weight) -> Result<(), RoutingError> {
        if heard.settings.is_empty() {
            return Ok(());
        }
        Ok(self.inner.sessions.hold(key, heard.settings.clone(), weight, &*self.inner.parts.ports.clock)?)
    }

    /// What would get looser if what was said for a session were forgotten; `None` when nothing was said.
    pub(crate) async fn looser_without(&self, key: &Key) -> Option<Vec<Loosening>> {
        let (file, sandbox) = self.look().await;
        let said = self.inner.sessions.standing(key, &[], self.steady_ms());
        if said == StoredOverrides::default() {
            return None;
        }
        // Nothing is run by a file that is not understood, so nothing gets looser.
        let Ok(tools) = &file.tools else { return Some(Vec::new()) };
        let (around, scope) = (surroundings(&sandbox), tools.of(key.agent.as_str()));
        let before = standing(tools, &scope, &said, around);
        let after = standing(tools, &scope, &StoredOverrides::default(), around);
        Some(looser(&before, &after, &key.to_string()))
    }

    /// Forgets what was said for a session. False when there was nothing.
    pub(crate) fn revoke(&self, key: &Key) -> bool {
        self.inner.sessions.revoke(key)
    }
}

/// What holds for runs of these settings.
pub(super) fn standing(
    tools: &ToolsDocument,
    agent: &Scope,
    said: &StoredOverrides,
    around: Surroundings,
) -> route::RouteDefaults {
    let layers = Layers {
        tool: &Tool::default(),
        message: &said.message,
        session: &said.session,
        agent: &agent.exec,
        global: &tools.global.exec,
    };
    RouteDefaults::of(&layers, around)
}

/// What a message sets, and for how long: host, node and elevation for the session when it says nothing else,
/// security and ask always for its own run (docs/protocol/routing.md, "Messages").
fn settings_of(message: &Message) -> Vec<Setting> {
    let kept = if message.is_only_directives() { RouteLasting::Session } else { RouteLasting::NextRun };
    let mut settings = Vec::new();
    let mut set = |value: Option<Value>, lasting| {
        settings.extend(value.map(|value| Setting { value, lasting }));
    };
    if let Some(exec) = &message.exec {
        set(exec.host.map(Value::Host), kept);
        set(exec.node.clone().map(Value::Node), kept);
        set(exec.security.map(Value::Security), RouteLasting::NextRun);
        set(exec.ask.map(Value::Ask), RouteLasting::NextRun);
    }
    let level = message.elevated.as_ref().and_then(|elevated| elevated.level);
    set(level.map(Value::Elevated), kept);
    settings
}

const RELEASE: Release = Release::Newest;
