//! Any bytes are a line of the approval socket, the control channel, the gateway or the pet channel, what
//! comes out of a box, or an error; what is read says the same when it is written and read again. The first
//! byte tells which kind the rest is read as.
#![no_main]

use countersign_companion::fuzzing::{control_line, run};
use countersign_gate::fuzzing as gate;
use countersign_node::fuzzing::request_line;
use countersign_protocol::control::{ControlRequest, ControlResponse};
use countersign_protocol::gateway::approval::{Decided, RequestParams, Requested, Resolved};
use countersign_protocol::gateway::connect::{Challenge, ConnectParams, HelloOk};
use countersign_protocol::gateway::node::{
    InvokeParams, InvokeProgress, InvokeRequest, InvokeResult, NodeEvent, PrepareParams, RunEvent, RunParams,
    WhichParams,
};
use countersign_protocol::gateway::plugin::PluginParams;
use countersign_protocol::gateway::proposal::ProposalView;
use countersign_protocol::gateway::{ErrorShape, Frame};
use countersign_protocol::limits::SOCKET_REQUEST_LINE_BYTES;
use countersign_protocol::pet::{
    Action, FromServer, MAX_ARGUMENTS_BYTES, MAX_ID_BYTES, MAX_NAME_BYTES, SessionId, ToolApproval,
    ToolApprovalResponse,
};
use countersign_protocol::socket::{AnswerLine, AskRequest, ExecRequest, RequestLine};
use libfuzzer_sys::fuzz_target;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reading, by the first byte.
const KINDS: [fn(&[u8]); 24] = [
    socket_line,
    again::<AskRequest>,
    again::<ExecRequest>,
    again::<AnswerLine>,
    control_request,
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
    invocation,
    read::<InvokeResult>,
    read::<InvokeProgress>,
    read::<NodeEvent>,
    read::<RunEvent>,
    read::<ProposalView>,
    pet_action,
    pet_push,
];

/// What comes out of a box. Beyond the kinds that are told by a remainder, so that inputs of these
/// keep their meaning.
const SAID_OF_A_CLIENT: u8 = 255;
const DESTINATION: u8 = 254;
const BEGINNING_OF_A_TUNNEL: u8 = 253;

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, rest)) = bytes.split_first() else { return };
    match *kind {
        SAID_OF_A_CLIENT => return gate::said_of_a_client(rest),
        DESTINATION => return gate::destination(std::str::from_utf8(rest).unwrap_or_default()),
        BEGINNING_OF_A_TUNNEL => return gate::first_bytes(rest),
        _ => {}
    }
    KINDS[usize::from(*kind) % KINDS.len()](rest);
});

/// Written once it may differ, for what is unknown is dropped and defaults are filled in; written
/// twice it may not.
fn again<T: DeserializeOwned + Serialize>(bytes: &[u8]) {
    let Ok(read) = serde_json::from_slice::<T>(bytes) else { return };
    let written = serde_json::to_value(&read).unwrap();
    let same: T = serde_json::from_value(written.clone()).unwrap();
    assert_eq!(serde_json::to_value(&same).unwrap(), written);
}

fn read<T: DeserializeOwned>(bytes: &[u8]) {
    let _ = serde_json::from_slice::<T>(bytes);
}

/// The bytes up to the first line break, and no more than a line may have.
fn socket_line(bytes: &[u8]) {
    let line = run(request_line(bytes)).unwrap();
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    assert_eq!(line, bytes[..end.min(SOCKET_REQUEST_LINE_BYTES)]);
    again::<RequestLine>(&line);
}

fn control_request(bytes: &[u8]) {
    if let Some(line) = control_line(bytes) {
        again::<ControlRequest>(&line);
    }
}

/// What comes within an invocation of a node, in a text of its own.
fn invocation(bytes: &[u8]) {
    if let Ok(request) = serde_json::from_slice::<InvokeRequest>(bytes)
        && let Ok(parameters) = request.parameters()
    {
        let _ = serde_json::from_value::<RunParams>(parameters.clone());
        let _ = serde_json::from_value::<PrepareParams>(parameters.clone());
        let _ = serde_json::from_value::<PluginParams>(parameters.clone());
        let _ = serde_json::from_value::<WhichParams>(parameters);
    }
}

/// What a companion client says keeps to its bounds.
fn pet_action(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(action) = Action::read(text) {
        assert!((1..=MAX_NAME_BYTES).contains(&action.action.len()));
        if let Ok(response) = ToolApprovalResponse::read(action.data) {
            assert!((1..=MAX_ID_BYTES).contains(&response.request_id.len()));
            let again = serde_json::to_value(&response).unwrap();
            assert_eq!(ToolApprovalResponse::read(again).unwrap(), response);
        }
    }
    if let Ok(id) = SessionId::parse(text) {
        assert_eq!(id.as_str(), text);
        assert!(!text.chars().any(char::is_control));
    }
}

/// What a pet server says does too.
fn pet_push(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(FromServer::Push(push)) = FromServer::read(text) {
        let again = serde_json::to_string(&push).unwrap();
        assert!(
            matches!(FromServer::read(&again), Ok(FromServer::Push(same)) if same.push_type == push.push_type)
        );
        if let Ok(approval) = ToolApproval::read(push.data) {
            assert!(approval.check().unwrap().len() <= MAX_ARGUMENTS_BYTES);
        }
    }
}
