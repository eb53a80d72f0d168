//! Cases about the approvals document.

use super::Profile;
use super::cases::{Surroundings, Version};
use crate::reference;
use crate::reference::Release;
use crate::reference::document::{self as peers, Overrides, Values};
use countersign_policy::currency;
use countersign_policy::document::{self, Parsed};
use countersign_policy::effective::Requested;
use countersign_protocol::document::Document;
use countersign_protocol::secret::SocketToken;
use countersign_protocol::socket::PolicySnapshot;
use countersign_protocol::vocabulary::{Ask, Security};
use serde::Deserialize;
use serde_json::{Map, Value, json};

#[derive(Deserialize)]
pub(crate) struct Case {
    #[serde(default)]
    version: Version,
    #[serde(flatten)]
    action: Action,
}

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case", rename_all_fields = "camelCase")]
enum Action {
    Load {
        text: Option<String>,
    },
    MergeSocket {
        incoming: Members,
        current: Option<Members>,
    },
    Normalise {
        document: Members,
    },
    Redact {
        document: Members,
    },
    Resolve {
        text: Option<String>,
        agent_id: Option<String>,
        #[serde(default)]
        overrides: Below,
    },
    Serialise {
        document: Members,
    },
    Snapshot {
        document: Members,
        agent_id: Option<String>,
    },
    SnapshotCurrent {
        before: Members,
        after: Members,
        agent_id: Option<String>,
    },
}

/// A document's members.
type Members = Map<String, Value>;

/// What a configuration puts below the document.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Below {
    security: Option<Security>,
    ask: Option<Ask>,
    ask_fallback: Option<Security>,
    auto_allow_skills: Option<bool>,
}

pub(crate) const EXPECTED: &str = "action load, merge-socket, normalise, redact, resolve, serialise, snapshot or \
                                   snapshot-current with its members, version?";

pub(crate) fn answer(case: Case, surroundings: &Surroundings) -> Value {
    let release = Release::from(case.version);
    match (case.action, surroundings.profile) {
        (Action::Load { text }, Profile::Reference) => {
            let loaded = peers::load(release, text.as_deref(), &mut new_id);
            let mut answer = json!({
                "exists": loaded.exists,
                "hash": loaded.hash,
                "document": loaded.document,
            });
            if let (Release::Newest, Some(members)) = (release, answer.as_object_mut()) {
                members.insert("valid".into(), loaded.problem.is_none().into());
                members.insert("error".into(), loaded.problem.into());
            }
            answer
        }
        (Action::Load { text }, Profile::Attentive) => load(text.as_deref()),
        (Action::MergeSocket { incoming, current }, profile) => {
            merge_socket(release, &Document(incoming), current.map(Document), profile, surroundings)
        }
        (Action::Normalise { document }, profile) => {
            json!({ "document": normalised(release, &document, profile) })
        }
        (Action::Redact { document }, profile) => {
            let redacted = document::redacted(&Document(normalised(release, &document, profile)));
            json!({ "document": redacted.0 })
        }
        (Action::Serialise { document }, profile) => {
            json!({ "text": document::serialise(&Document(normalised(release, &document, profile))) })
        }
        (Action::Resolve { text, agent_id, overrides }, Profile::Reference) => {
            let below = Overrides {
                security: overrides.security,
                ask: overrides.ask,
                ask_fallback: overrides.ask_fallback,
                auto_allow_skills: overrides.auto_allow_skills,
            };
            let resolved = peers::resolve(release, text.as_deref(), agent_id.as_deref(), &below);
            json!({
                "agent": values(resolved.agent),
                "defaults": values(resolved.defaults),
                "patterns": resolved.patterns,
            })
        }
        (Action::Resolve { text, agent_id, .. }, Profile::Attentive) => {
            resolve(text.as_deref(), agent_id.as_deref())
        }
        (Action::Snapshot { document, agent_id }, profile) => {
            json!({ "snapshot": snapshot(release, document, agent_id.as_deref(), profile) })
        }
        (Action::SnapshotCurrent { before, after, agent_id }, profile) => {
            let of = |document| snapshot(release, document, agent_id.as_deref(), profile);
            let (before, after) = (of(before), of(after));
            let current = match profile {
                Profile::Reference => reference::currency::is_current(&before, &after),
                Profile::Attentive => currency::still_current(&before, &after).is_ok(),
            };
            json!({ "current": current })
        }
    }
}

fn load(text: Option<&str>) -> Value {
    let (problem, document) = match document::parse(text.map(str::as_bytes)) {
        Parsed::Missing => (None, Some(document::empty())),
        Parsed::Usable(document) => (None, Some(document)),
        Parsed::Unusable(problem) => (Some(problem.to_string()), None),
    };
    json!({
        "exists": text.is_some(),
        "valid": problem.is_none(),
        "error": problem,
        "hash": document::hash(text.map(str::as_bytes)),
        "document": document.map(|document| document::normalised(&document, &mut new_id).0),
    })
}

fn resolve(text: Option<&str>, agent: Option<&str>) -> Value {
    let document = match document::parse(text.map(str::as_bytes)) {
        Parsed::Missing => document::empty(),
        Parsed::Usable(document) => document,
        // Nothing is in force, so everything is denied.
        Parsed::Unusable(problem) => {
            return json!({ "agent": null, "error": problem.to_string(), "patterns": [] });
        }
    };
    let (policy, rules) = document::resolve(&document, agent, Requested::default());
    json!({
        "agent": {
            "security": policy.security.value,
            "ask": policy.ask.value,
            "askFallback": policy.ask_fallback.value,
            "autoAllowSkills": policy.auto_allow_skills,
        },
        "patterns": rules.iter().map(|rule| rule.pattern.trim()).collect::<Vec<_>>(),
    })
}

fn merge_socket(
    release: Release,
    incoming: &Document,
    current: Option<Document>,
    profile: Profile,
    surroundings: &Surroundings,
) -> Value {
    let default_path = surroundings.home.join(".openclaw/exec-approvals.sock").display().to_string();
    let new_token = new_token();
    let (path, token) = match profile {
        Profile::Reference => {
            peers::merged_socket(release, incoming, current.as_ref(), &default_path, &new_token)
        }
        Profile::Attentive => {
            let mut merged = document::with_socket_of(incoming, &current.unwrap_or_else(document::empty));
            if let Some(token) = SocketToken::parse(&new_token) {
                document::ensure_socket(&mut merged, &default_path, &token);
            }
            let (path, token) = document::socket(&merged);
            (path.unwrap_or_default(), token.map(|token| token.expose().to_owned()).unwrap_or_default())
        }
    };
    json!({ "socket": { "path": path, "token": token } })
}

fn normalised(release: Release, document: &Members, profile: Profile) -> Map<String, Value> {
    match profile {
        Profile::Reference => peers::normalised(release, document, &mut new_id),
        Profile::Attentive => document::normalised(&Document(document.clone()), &mut new_id).0,
    }
}

fn snapshot(release: Release, document: Members, agent: Option<&str>, profile: Profile) -> PolicySnapshot {
    match profile {
        Profile::Reference => peers::snapshot(release, &document, agent),
        Profile::Attentive => document::snapshot(&Document(document), agent),
    }
}

fn values(values: Values) -> Value {
    json!({
        "security": values.security,
        "ask": values.ask,
        "askFallback": values.ask_fallback,
        "autoAllowSkills": values.auto_allow_skills,
    })
}

fn new_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// A token of the peers' form, 32 characters. It protects nothing: it is only printed.
fn new_token() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}
