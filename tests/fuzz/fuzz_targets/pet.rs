//! Any text is a frame of the pet channel or an error; what is read keeps to its bounds and can be written again.
#![no_main]

use countersign_protocol::pet::{
    Action, FromServer, MAX_ARGUMENTS_BYTES, MAX_ID_BYTES, MAX_NAME_BYTES, SessionId, ToolApproval,
    ToolApprovalResponse,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(action) = Action::read(text) {
        assert!((1..=MAX_NAME_BYTES).contains(&action.action.len()));
        if let Ok(response) = ToolApprovalResponse::read(action.data) {
            assert!((1..=MAX_ID_BYTES).contains(&response.request_id.len()));
            let again = serde_json::to_value(&response).unwrap();
            assert_eq!(ToolApprovalResponse::read(again).unwrap(), response);
        }
    }
    if let Ok(FromServer::Push(push)) = FromServer::read(text) {
        let again = serde_json::to_string(&push).unwrap();
        assert!(matches!(FromServer::read(&again), Ok(FromServer::Push(same)) if same.push_type == push.push_type));
        if let Ok(approval) = ToolApproval::read(push.data) {
            assert!(approval.check().unwrap().len() <= MAX_ARGUMENTS_BYTES);
        }
    }
    if let Ok(id) = SessionId::parse(text) {
        assert_eq!(id.as_str(), text);
        assert!(!text.chars().any(char::is_control));
    }
});
