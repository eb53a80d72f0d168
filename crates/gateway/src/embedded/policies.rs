//! Policy documents over the gateway: this machine's own, and those of nodes (docs/protocol/document.md,
//! "Over a gateway").

use super::connection::Call;
use super::params::Params;
use super::{Backend, invoke};
use countersign_protocol::gateway::ErrorShape;
use countersign_protocol::gateway::node::command;
use countersign_protocol::gateway::policy::PolicyFile;
use countersign_protocol::ids::NodeId;
use serde_json::{Map, Value, json};

/// Why a document was not read or written.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// It is not the one that the change was made from.
    #[error("exec approvals changed since last load; re-run exec.approvals.get and retry")]
    Changed,
    /// What came is no document.
    #[error("{0}")]
    Invalid(String),
    /// It cannot be read or written here.
    #[error("{0}")]
    Unavailable(String),
}

/// This machine's document.
pub(super) async fn get<B: Backend>(call: &Call<B>, params: &Params) -> Result<Value, ErrorShape> {
    shown(call.gateway.backend.policy().await.map_err(|error| refused(params.method(), error))?)
}

/// A node's document.
pub(super) async fn get_of_node<B: Backend>(call: &Call<B>, params: &Params) -> Result<Value, ErrorShape> {
    invoke::policy(&call.gateway, &NodeId::from(params.text("nodeId")?), command::POLICY_GET, json!({})).await
}

/// Has a node replace its document.
pub(super) async fn set_of_node<B: Backend>(call: &Call<B>, params: &Params) -> Result<Value, ErrorShape> {
    let node_id = params.text("nodeId")?;
    let mut document = json!({ "file": params.object("file")? });
    if let Some(base) = params.optional_string("baseHash")? {
        document["baseHash"] = base.into();
    }
    invoke::policy(&call.gateway, &NodeId::from(node_id), command::POLICY_SET, document).await
}

/// Replaces the document if it is still the one that the caller has seen.
pub(super) async fn set<B: Backend>(call: &Call<B>, params: &Params) -> Result<Value, ErrorShape> {
    let file: &Map<String, Value> = params.object("file")?;
    let base = params.optional_string("baseHash")?.map(str::trim).filter(|base| !base.is_empty());
    let backend = &call.gateway.backend;
    let current = backend.policy().await.map_err(|error| refused(params.method(), error))?;
    let base = match base {
        Some(base) => base.to_owned(),
        None if current.exists => {
            let text = "exec approvals base hash required; re-run exec.approvals.get and retry";
            return Err(ErrorShape::invalid(text));
        }
        None => current.hash,
    };
    let written = backend.set_policy(file.clone(), base).await;
    shown(written.map_err(|error| refused(params.method(), error))?)
}

fn shown(file: PolicyFile) -> Result<Value, ErrorShape> {
    serde_json::to_value(file).map_err(|error| ErrorShape::unavailable(error.to_string()))
}

fn refused(method: &str, error: PolicyError) -> ErrorShape {
    match error {
        PolicyError::Changed => ErrorShape::invalid(error.to_string()),
        PolicyError::Invalid(why) => ErrorShape::invalid(format!("invalid {method} params: {why}")),
        PolicyError::Unavailable(why) => ErrorShape::unavailable(why),
    }
}
