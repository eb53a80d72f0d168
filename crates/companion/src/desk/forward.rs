//! Handing on for windows. Nothing but a window comes here: a target may be a program, and who could name one
//! from a command line could have it started.

use super::{Desk, error};
use countersign_peers::forward::ForwardError;
use countersign_protocol::ui::{CommandError, ErrorCode, ForwardSettings, ForwardTargetEdit, SampleResult};

impl Desk {
    /// Whether anything is handed on, and of which agents and sessions.
    pub async fn set_forward(&self, settings: ForwardSettings) -> Result<(), CommandError> {
        self.inner.parts.forward.set(settings).await.map_err(|failure| forward_error(&failure))
    }

    /// Adds or changes a target. What waits for it is forgotten.
    pub async fn save_forward_target(&self, edit: ForwardTargetEdit) -> Result<(), CommandError> {
        self.inner.parts.forward.save(edit).await.map_err(|failure| forward_error(&failure))
    }

    /// Forgets a target and its secret.
    pub async fn remove_forward_target(&self, id: &str) -> Result<(), CommandError> {
        self.inner.parts.forward.remove(id).await.map_err(|failure| forward_error(&failure))
    }

    /// Sends a sample to a target and says what came of it.
    pub async fn send_forward_sample(&self, id: &str) -> Result<SampleResult, CommandError> {
        self.inner.parts.forward.sample(id).await.map_err(|failure| forward_error(&failure))
    }
}

fn forward_error(failure: &ForwardError) -> CommandError {
    let code = match failure {
        ForwardError::Invalid(_) => ErrorCode::Invalid,
        ForwardError::Gone => ErrorCode::Gone,
        ForwardError::Broken(_) | ForwardError::Store(_) => ErrorCode::Store,
    };
    let mistake = match failure {
        ForwardError::Invalid(wrong) => wrong.mistake(),
        _ => None,
    };
    CommandError { mistake, ..error(code, failure.to_string()) }
}
