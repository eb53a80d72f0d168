//! Any text is a frame of the approval socket, the control channel or the gateway, or an error; what is read says the same when
//! it is written and read again. The first byte tells which kind the rest is read as.
#![no_main]

use countersign_protocol::control::{ControlRequest, ControlResponse};
use countersign_protocol::gateway::approval::{Decided, RequestParams, Requested, Resolved};
use countersign_protocol::gateway::connect::{Challenge, ConnectParams, HelloOk};
use countersign_protocol::gateway::node::{
    InvokeParams, InvokeProgress, InvokeRequest, InvokeResult, NodeEvent, PrepareParams, RunParams, WhichParams,
};
use countersign_protocol::gateway::plugin::PluginParams;
use countersign_protocol::gateway::proposal::ProposalView;
use countersign_protocol::gateway::{ErrorShape, Frame};
use countersign_protocol::socket::{AnswerLine, AskRequest, ExecRequest, RequestLine};
use libfuzzer_sys::fuzz_target;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reading, by the first byte.
const KINDS: [fn(&str); 22] = [
    again::<RequestLine>,
    again::<AskRequest>,
    again::<ExecRequest>,
    again::<AnswerLine>,
    again::<ControlRequest>,
    again::<ControlResponse>,
    again::<Frame>,
    read::<ErrorShape>,
    read::<Challenge>,
    read::<ConnectParams>,
    read::<HelloOk>,
    again::<RequestParams>,
    again::<Requested>,
    again::<Resolved>,
    again::<Decided>,
    read::<InvokeParams>,
    read::<InvokeRequest>,
    read::<InvokeResult>,
    read::<InvokeProgress>,
    read::<NodeEvent>,
    parameters,
    read::<ProposalView>,
];

fuzz_target!(|text: &str| {
    let Some(kind) = text.bytes().next() else { return };
    let rest = text.get(1..).unwrap_or_default();
    KINDS[usize::from(kind) % KINDS.len()](rest);
});

/// Written once it may differ, for what is unknown is dropped and defaults are filled in; written twice it may not.
fn again<T: DeserializeOwned + Serialize>(text: &str) {
    let Ok(read) = serde_json::from_str::<T>(text) else { return };
    let written = serde_json::to_value(&read).unwrap();
    let same: T = serde_json::from_value(written.clone()).unwrap();
    assert_eq!(serde_json::to_value(&same).unwrap(), written);
}

fn read<T: DeserializeOwned>(text: &str) {
    let _ = serde_json::from_str::<T>(text);
}

/// What comes within an invocation of a node, in a text of its own.
fn parameters(text: &str) {
    if let Ok(request) = serde_json::from_str::<InvokeRequest>(text)
        && let Ok(parameters) = request.parameters()
    {
        let _ = serde_json::from_value::<RunParams>(parameters.clone());
        let _ = serde_json::from_value::<PrepareParams>(parameters.clone());
        let _ = serde_json::from_value::<PluginParams>(parameters.clone());
        let _ = serde_json::from_value::<WhichParams>(parameters);
    }
}
