//! Tools over the gateway: lists of them for operators, and lists and calls over HTTP ([`http`]).
//!
//! Nothing here knows what a tool does, which ones a caller gets, or who has to be asked before one is
//! called: the [`Backend`] does. What a caller says of an approval is never read.

#[cfg(fuzzing)]
pub mod fuzzing;
pub(super) mod http;
mod request;

use super::Backend;
use super::connection::Call;
use super::params::Params;
use countersign_protocol::gateway::ErrorShape;
use countersign_protocol::tools::{RemovedTool, ToolFailure, ToolView};
use request::{Who, Words};
use serde_json::{Value, json};

/// What a caller gets of the tools, and why not of the others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// Name of the tool policy's profile that holds for the caller; none means all tools.
    pub profile: Option<String>,
    /// The tools that are left, in a steady order.
    pub tools: Vec<ToolView>,
    /// The same ones in the same order, as the caller's provider wants them declared; empty where the caller
    /// names no provider.
    pub declarations: Vec<Value>,
    /// The other ones.
    pub removed: Vec<RemovedTool>,
    /// What is odd about the tool policy, for people.
    pub warnings: Vec<String>,
    /// All tools that there are, whatever the policy says of them.
    pub catalog: Vec<Catalogued>,
}

/// A tool that there is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Catalogued {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The group of the tool policy that it belongs to, without `group:`: `fs`, `runtime`.
    pub section: String,
    /// The profiles that let it through: of `minimal`, `coding`, `messaging` and `full`.
    pub profiles: Vec<String>,
}

/// Why tools were not listed, or why a call brought nothing.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// It was understood, and came to nothing.
    #[error("{message}")]
    Failed {
        /// Which kind of nothing.
        failure: ToolFailure,
        /// Why, for the caller.
        message: String,
    },
    /// There are no tools here, or not now.
    #[error("{0}")]
    Unavailable(String),
}

/// What there is for an agent, in the newest release's shapes (2026.9.6, gateway protocol `tools.*`).
pub(super) async fn catalog<B: Backend>(call: &Call<B>, params: &Params) -> Result<Value, ErrorShape> {
    let agent = params.optional_string("agentId")?;
    // Whatever is there is built in, so that leaving plugins out changes nothing.
    if params.get("includePlugins").is_some_and(|include| !include.is_boolean()) {
        return Err(params.invalid("at /includePlugins: must be boolean"));
    }
    let who =
        Who::of(Words { agent, ..Words::default() }).map_err(|error| params.invalid(&error.to_string()))?;
    let mut caller = who.caller(Some(call.client.name().to_owned()));
    // What there is depends on no session.
    caller.session = None;
    let listing = call.gateway.backend.tools(caller).await.map_err(refused)?;
    Ok(catalog_of(&who.agent, &listing))
}

/// What is left of it for a session.
pub(super) async fn effective<B: Backend>(call: &Call<B>, params: &Params) -> Result<Value, ErrorShape> {
    let (agent, session) = (params.optional_string("agentId")?, params.string("sessionKey")?);
    let who = Who::of(Words { agent, session: Some(session), ..Words::default() })
        .map_err(|error| ErrorShape::invalid(error.to_string()))?;
    let caller = who.caller(Some(call.client.name().to_owned()));
    let listing = call.gateway.backend.tools(caller).await.map_err(refused)?;
    Ok(effective_of(&who.agent, &listing))
}

/// The agent and the session that a request is about, as a call of a tool names them.
pub(super) fn session_of(agent: Option<&str>, session: Option<&str>) -> Result<(String, String), ErrorShape> {
    let who = Who::of(Words { agent, session, ..Words::default() });
    who.map(|who| (who.agent, who.session)).map_err(|error| ErrorShape::invalid(error.to_string()))
}

/// Everything there is, by section.
fn catalog_of(agent: &str, listing: &Listing) -> Value {
    let known = SECTIONS.iter().copied();
    let unknown = listing.catalog.iter().map(|tool| (tool.section.as_str(), tool.section.as_str()));
    let mut sections: Vec<(&str, &str)> = Vec::new();
    for (id, label) in known.chain(unknown) {
        if !sections.iter().any(|(listed, _)| *listed == id) {
            sections.push((id, label));
        }
    }
    let groups: Vec<Value> = sections
        .into_iter()
        .filter_map(|(id, label)| {
            let tools: Vec<Value> =
                listing.catalog.iter().filter(|tool| tool.section == id).map(catalogued).collect();
            let group = json!({ "id": id, "label": label, "source": CORE, "tools": tools });
            (!tools.is_empty()).then_some(group)
        })
        .collect();
    let profiles: Vec<Value> =
        PROFILES.iter().map(|(id, label)| json!({ "id": id, "label": label })).collect();
    json!({ "agentId": agent, "profiles": profiles, "groups": groups })
}

fn catalogued(tool: &Catalogued) -> Value {
    // Clients of the peers take no other ones.
    let is_known = |profile: &&String| PROFILES.iter().any(|(known, _)| known == profile);
    let profiles: Vec<&String> = tool.profiles.iter().filter(is_known).collect();
    json!({
        "id": tool.name,
        "label": tool.name,
        "description": summary(&tool.description),
        "source": CORE,
        "fullDescription": tool.description,
        "defaultProfiles": profiles,
    })
}

/// What is left for a session. What was taken away, and what is odd about the policy, is told as notices.
fn effective_of(agent: &str, listing: &Listing) -> Value {
    let tools: Vec<Value> = listing
        .tools
        .iter()
        .map(|tool| {
            json!({
                "id": tool.name,
                "label": tool.name,
                "description": summary(&tool.description),
                "rawDescription": tool.description,
                "source": CORE,
            })
        })
        .collect();
    let group = json!({ "id": CORE, "label": "Built-in tools", "source": CORE, "tools": tools });
    let groups: Vec<Value> = (!tools.is_empty()).then_some(group).into_iter().collect();
    let warnings = listing.warnings.iter().enumerate().map(|(at, warning)| {
        json!({ "id": format!("tool-policy:{at}"), "severity": "warning", "message": warning })
    });
    let removed = listing.removed.iter().map(|RemovedTool { name, step }| {
        json!({
            "id": format!("tool-removed:{name}"),
            "severity": "info",
            "message": format!("{name} is not available: removed by {step}"),
        })
    });
    let notices: Vec<Value> = warnings.chain(removed).collect();
    let mut shown = json!({
        "agentId": agent,
        "profile": listing.profile.as_deref().filter(|profile| !profile.is_empty()).unwrap_or("full"),
        "groups": groups,
    });
    if !notices.is_empty() {
        shown["notices"] = notices.into();
    }
    shown
}

/// The first line of a description, shortened: lists show one line.
fn summary(description: &str) -> String {
    let line = description.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("Tool");
    if line.chars().count() <= MAX_SUMMARY {
        return line.to_owned();
    }
    let kept: String = line.chars().take(MAX_SUMMARY - 1).collect();
    format!("{}…", kept.trim_end())
}

fn refused(error: ToolError) -> ErrorShape {
    match error {
        ToolError::Failed { failure: ToolFailure::Invalid | ToolFailure::NotFound, message } => {
            ErrorShape::invalid(message)
        }
        ToolError::Failed { message, .. } | ToolError::Unavailable(message) => {
            ErrorShape::unavailable(message)
        }
    }
}

/// Where tools come from that are built in.
const CORE: &str = "core";

/// Longest line of a summary, in characters, as the peers have it.
const MAX_SUMMARY: usize = 120;

/// The profiles, as the peers name them for people.
const PROFILES: &[(&str, &str)] =
    &[("minimal", "Minimal"), ("coding", "Coding"), ("messaging", "Messaging"), ("full", "Full")];

/// The sections, as the peers order them and name them for people.
const SECTIONS: &[(&str, &str)] = &[
    ("fs", "Files"),
    ("runtime", "Runtime"),
    ("web", "Web"),
    ("memory", "Memory"),
    ("sessions", "Sessions"),
    ("ui", "UI"),
    ("messaging", "Messaging"),
    ("automation", "Automation"),
    ("nodes", "Nodes"),
    ("agents", "Agents"),
    ("media", "Media"),
];

#[cfg(test)]
mod tests;
