//! Approvals documents of other gateways and of their nodes (docs/protocol/document.md, "Over a gateway"):
//! which there are, what they say, and putting another in their place. Nothing is kept here: every change is
//! made from what the machine says at that moment, over the very connection that said it, and only while its
//! hash is still the same.

mod built_in;
mod reply;

use reply::BadAnswer;
pub use reply::{Content, FileContent};

use super::{Connections, display};
use countersign_gateway::access::Scope;
use countersign_gateway::client::{Address, Answers, CallError, Live};
use countersign_policy::display::Secrets;
use countersign_policy::document;
use countersign_protocol::document::Document;
use countersign_protocol::gateway::ErrorShape;
use countersign_protocol::ui::{PolicyAccess, PolicyPlace, PolicyReach, PolicyStore, PolicyStores};
use reply::{MAX_DOCUMENT, MAX_MESSAGE, Node};
use serde_json::{Map, Value, json};
use std::time::Duration;
use tokio::task::JoinSet;

/// A gateway as it is at the moment.
struct Far {
    id: String,
    name: String,
    is_loopback: bool,
    /// The connection, or why there is none.
    live: Result<Live, PolicyAccess>,
}

/// What a gateway said about its nodes; nothing where it was not asked.
type NodesTold = Option<Result<(Vec<Node>, usize), NodesUnknown>>;

/// A document as it is at the moment, and the connection that brought it.
pub struct Fetched {
    live: Live,
    place: PolicyPlace,
    /// The person's name for the gateway, with the node's; for the history, so escaped.
    pub name: String,
    /// Whether the gateway is on this machine.
    pub is_loopback: bool,
    /// Whether another document is taken there.
    pub takes_changes: bool,
    /// What it keeps.
    pub content: Content,
}

/// Why a change was not made, or is not known to be.
#[derive(Debug, thiserror::Error)]
pub enum NotWritten {
    /// Somebody else changed it.
    #[error("it changed since it was read")]
    Stale,
    /// It would be too large.
    #[error("expected a document of at most {most} bytes, got {bytes}")]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// What is taken there.
        most: u64,
    },
    /// It was refused there.
    #[error("it was refused there: {0}")]
    Refused(String),
    /// Whether it was taken is not known.
    #[error("whether it was taken there is not known: {0}")]
    Unknown(CallError),
}

impl Connections {
    /// Every document of another machine that is known of. Asks each gateway for its nodes; one that does not
    /// answer holds up the others for no longer than [`LIST_WAIT`].
    pub async fn policies(&self) -> PolicyStores {
        let mut asking = JoinSet::new();
        for (at, far) in self.far().into_iter().enumerate() {
            asking.spawn(async move {
                let told = match &far.live {
                    Ok(live) => Some(nodes(live).await),
                    Err(_) => None,
                };
                (at, far, told)
            });
        }
        let mut told: Vec<(usize, Far, NodesTold)> = Vec::new();
        while let Some(one) = asking.join_next().await {
            told.extend(one.ok());
        }
        told.sort_by_key(|(at, ..)| *at);
        let mut all = PolicyStores { stores: Vec::new(), left_out: 0 };
        for (_, far, told) in told {
            list(&mut all, far, told);
        }
        all
    }

    /// What one of them says now.
    pub async fn policy(&self, place: &PolicyPlace) -> Result<Fetched, PolicyAccess> {
        let far = self.far().into_iter().find(|far| far.id == place.gateway).ok_or(PolicyAccess::Gone)?;
        let live = far.live?;
        if live.may(Scope::Admin) == Some(false) {
            return Err(PolicyAccess::NotPermitted);
        }
        let node = match &place.node {
            None => None,
            Some(id) => Some(node(&live, id).await?),
        };
        let (method, params, release) = match &node {
            None => ("exec.approvals.get", json!({}), super::operator::release(&live.hello().server.version)),
            Some(node) => ("exec.approvals.node.get", json!({"nodeId": node.id}), node.release),
        };
        let answer = live.call_within(method, params, Answers::One, READ_WAIT).await.map_err(access)?;
        let content = reply::content(answer, release)
            .map_err(|bad| PolicyAccess::Malformed { text: display::escape(&bad.to_string()) })?;
        if node.is_none() && !matches!(content, Content::File(_)) {
            let text = "file: expected an object, got nothing".to_owned();
            return Err(PolicyAccess::Malformed { text });
        }
        let name = match &node {
            None => display::escape(&far.name),
            Some(node) => format!("{} › {}", display::escape(&far.name), display::escape(&node.name)),
        };
        let takes_changes = node.as_ref().is_none_or(|node| node.takes);
        Ok(Fetched { live, place: place.clone(), name, is_loopback: far.is_loopback, takes_changes, content })
    }

    fn far(&self) -> Vec<Far> {
        self.list.map(|gateway, running| Far {
            id: gateway.id.clone(),
            name: gateway.name.clone(),
            is_loopback: Address::parse(&gateway.url).is_ok_and(|address| address.is_loopback()),
            live: match running {
                None => Err(PolicyAccess::Off),
                Some(running) => running.onward.live().ok_or(PolicyAccess::NotConnected),
            },
        })
    }
}

impl Fetched {
    /// Puts another document in its place, if it is still the one with this hash. The new hash, where one is
    /// told. When the future is dropped, whether it was taken is not known.
    pub async fn replace(&self, document: &Document, hash: &str) -> Result<Option<String>, NotWritten> {
        let size = u64::try_from(document::serialise(document).len()).unwrap_or(u64::MAX);
        let room = self.live.hello().policy.max_payload.saturating_sub(ENVELOPE);
        let most = room.min(u64::try_from(MAX_DOCUMENT).unwrap_or(u64::MAX));
        if size > most {
            return Err(NotWritten::TooLarge { bytes: size, most });
        }
        let mut params = json!({"file": document.0, "baseHash": hash});
        let method = match &self.place.node {
            None => "exec.approvals.set",
            Some(node) => {
                params["nodeId"] = node.as_str().into();
                "exec.approvals.node.set"
            }
        };
        match self.live.call_within(method, params, Answers::One, WRITE_WAIT).await {
            // It was taken, whatever else is told.
            Ok(Value::Object(answer)) => Ok(reply::hash(&answer)),
            Ok(_) => Ok(None),
            Err(CallError::Refused(error)) if is_stale(&error) => Err(NotWritten::Stale),
            // A node that did not answer its gateway in time may have taken it all the same.
            Err(CallError::Refused(error)) if is_doubtful(&error) => {
                Err(NotWritten::Unknown(CallError::TimedOut(WRITE_WAIT)))
            }
            Err(CallError::Refused(error)) => Err(NotWritten::Refused(words(&error))),
            Err(CallError::Full) => Err(NotWritten::Refused(CallError::Full.to_string())),
            Err(error) => Err(NotWritten::Unknown(error)),
        }
    }
}

fn list(all: &mut PolicyStores, far: Far, told: NodesTold) {
    let shown = |name: &str| display::shown(name, Secrets::Show);
    let access = match &far.live {
        Ok(live) if live.may(Scope::Admin) == Some(false) => PolicyAccess::NotPermitted,
        Ok(_) => PolicyAccess::Open,
        Err(access) => access.clone(),
    };
    let (nodes, left_out, unknown) = match told {
        None => (Vec::new(), 0, None),
        Some(Ok((nodes, left_out))) => (nodes, left_out, None),
        Some(Err(why)) => (Vec::new(), 0, Some(display::escape(&why.to_string()))),
    };
    let gateway = far.id;
    all.stores.push(PolicyStore {
        place: PolicyPlace { gateway: gateway.clone(), node: None },
        name: shown(&far.name),
        gateway: None,
        access: access.clone(),
        reach: PolicyReach::GatewayHost,
        nodes_unknown: unknown,
    });
    let room = MAX_STORES.saturating_sub(all.stores.len());
    let left_out = left_out + nodes.len().saturating_sub(room);
    all.left_out = all.left_out.saturating_add(u32::try_from(left_out).unwrap_or(u32::MAX));
    all.stores.extend(nodes.into_iter().take(room).map(|node| PolicyStore {
        place: PolicyPlace { gateway: gateway.clone(), node: Some(node.id.clone()) },
        name: shown(&node.name),
        gateway: Some(shown(&far.name)),
        access: match &access {
            PolicyAccess::Open if !node.gives => PolicyAccess::NotOffered,
            PolicyAccess::Open if !node.connected => PolicyAccess::NotConnected,
            access => access.clone(),
        },
        reach: node.reach(),
        nodes_unknown: None,
    }));
}

/// Why a gateway's nodes are not known.
#[derive(Debug, thiserror::Error)]
enum NodesUnknown {
    /// Its answer makes no sense.
    #[error(transparent)]
    Answer(#[from] BadAnswer),
    /// It refuses, in these words of its own, which are escaped.
    #[error("{0}")]
    Refused(String),
    /// It did not answer.
    #[error(transparent)]
    Call(CallError),
}

async fn nodes(live: &Live) -> Result<(Vec<Node>, usize), NodesUnknown> {
    match live.call_within("node.list", json!({}), Answers::One, LIST_WAIT).await {
        Ok(answer) => Ok(reply::nodes(&answer)?),
        // A gateway that takes no nodes.
        Err(CallError::Refused(error)) if error.message.contains("unknown method") => Ok((Vec::new(), 0)),
        Err(CallError::Refused(error)) => Err(NodesUnknown::Refused(words(&error))),
        Err(error) => Err(NodesUnknown::Call(error)),
    }
}

/// The node with this id. Where the gateway does not list its nodes it is asked for all the same.
async fn node(live: &Live, id: &str) -> Result<Node, PolicyAccess> {
    if !reply::is_id(id) {
        return Err(PolicyAccess::Gone);
    }
    let Ok((nodes, _)) = nodes(live).await else { return Ok(Node::unknown(id)) };
    let node = nodes.into_iter().find(|node| node.id == id).ok_or(PolicyAccess::Gone)?;
    if !node.gives {
        return Err(PolicyAccess::NotOffered);
    }
    if node.connected { Ok(node) } else { Err(PolicyAccess::NotConnected) }
}

/// Why a document was not told.
fn access(error: CallError) -> PolicyAccess {
    match error {
        CallError::Gone => PolicyAccess::NotConnected,
        CallError::TimedOut(wait) => {
            PolicyAccess::NoAnswer { seconds: u32::try_from(wait.as_secs()).unwrap_or(u32::MAX) }
        }
        CallError::Refused(error) if error.message.contains("missing scope") => PolicyAccess::NotPermitted,
        CallError::Refused(error) if error.message.contains("node not connected") => {
            PolicyAccess::NotConnected
        }
        CallError::Refused(error) => PolicyAccess::Refused { text: words(&error) },
        other => PolicyAccess::Refused { text: other.to_string() },
    }
}

/// Whether a refusal says that somebody else changed the document (docs/protocol/document.md,
/// "Over a gateway").
fn is_stale(error: &ErrorShape) -> bool {
    let text = &error.message;
    text.contains("exec approvals changed") || text.contains("exec approvals base hash")
}

fn is_doubtful(error: &ErrorShape) -> bool {
    let details: Option<&Map<String, Value>> = error.details.as_deref().and_then(Value::as_object);
    let node = details.and_then(|details| details.get("nodeError"));
    node.is_some_and(|node| node["code"] == "TIMEOUT" || node["code"] == "DISCONNECTED")
}

fn words(error: &ErrorShape) -> String {
    display::escape(&reply::short(&error.message, MAX_MESSAGE))
}

/// Documents of other machines that are listed: as many as a person could look through.
const MAX_STORES: usize = 256;

/// How long a gateway may take to list its nodes. It has them at hand.
const LIST_WAIT: Duration = Duration::from_secs(5);

/// How long a document may take: a node is asked by its gateway.
const READ_WAIT: Duration = Duration::from_secs(15);

/// How long a change may take.
const WRITE_WAIT: Duration = Duration::from_secs(20);

/// Bytes of a frame around the document.
const ENVELOPE: u64 = 1_024;
