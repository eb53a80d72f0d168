//! The agents of this machine for the windows, and the first steps: connecting them, and a sample request.

use super::{Desk, error};
use crate::agents::{Agents, AgentsError};
use countersign_agents::{ConnectError, PATIENCE};
use countersign_node::host::placement::Placement;
use countersign_node::socket::server::Peer;
use countersign_policy::display::{self, Secrets};
use countersign_policy::effective::Requested;
use countersign_protocol::question::Via;
use countersign_protocol::socket::ExecRequest;
use countersign_protocol::ui::{
    AgentPreview, AgentPreviewParams, AgentWritten, AgentsView, CommandError, ErrorCode, FirstSteps,
    SampleRun,
};
use countersign_protocol::vocabulary::Ask;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

impl Desk {
    /// How the agents of this machine stand.
    pub async fn agents(&self) -> Result<AgentsView, CommandError> {
        self.with_agents(|agents| Ok(agents.view())).await
    }

    /// What a change of an agent's settings comes to. Nothing is written.
    pub async fn preview_agent(&self, params: AgentPreviewParams) -> Result<AgentPreview, CommandError> {
        let id = self.inner.parts.ports.ids.uuid();
        self.with_agents(move |agents| agents.preview(&params, id)).await
    }

    /// Writes exactly the change that was shown under this id.
    pub async fn write_agent(&self, id: String) -> Result<AgentWritten, CommandError> {
        let now_ms = self.now_ms();
        self.with_agents(move |agents| {
            let backups = agents.write(&id, now_ms)?;
            let backups = backups.iter().map(|path| display::shown(&path.to_string_lossy(), Secrets::Show));
            Ok(AgentWritten { backups: backups.collect(), view: agents.view() })
        })
        .await
    }

    /// The first steps were gone through or skipped.
    pub async fn end_first_steps(&self) -> Result<(), CommandError> {
        self.live().first_steps = FirstSteps::Over;
        let now_ms = self.now_ms();
        let written = self.blocking(move |agents| agents.end_first_steps(now_ms)).await?;
        written.map_err(|failure| error(ErrorCode::Internal, failure.to_string()))
    }

    /// Asks for a harmless command as any program can, and says what became of it. A person is asked whatever
    /// rules allow, unless the policy refuses it. Dropping the future takes the question back.
    pub async fn try_sample(&self) -> SampleRun {
        let request = ExecRequest {
            command: SAMPLE.map(str::to_owned).to_vec(),
            agent_id: Some(SAMPLE_AGENT.to_owned()),
            approval_timeout_ms: u64::try_from(PATIENCE.as_millis()).ok(),
            ..ExecRequest::default()
        };
        let policy = Requested { security: None, ask: Some(Ask::Always) };
        let peer = Peer { via: Some(Via::CommandLine), ..Peer::default() };
        let gone = CancellationToken::new();
        let _guard = gone.clone().drop_guard();
        match self.inner.parts.host.exec_at(request, Placement::Here { policy }, &peer, gone).await {
            Ok(ran) => {
                let printed = [ran.stdout, ran.stderr].concat();
                SampleRun::Ran { output: display::shown(printed.trim_end(), Secrets::Mask) }
            }
            Err(refusal) => SampleRun::NotRun { outcome: refusal.outcome },
        }
    }

    pub(super) async fn with_agents<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Agents) -> Result<T, AgentsError> + Send + 'static,
    ) -> Result<T, CommandError> {
        self.blocking(work).await?.map_err(|failure| agents_error(&failure))
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Agents) -> T + Send + 'static,
    ) -> Result<T, CommandError> {
        let agents = Arc::clone(&self.inner.parts.agents);
        let done = tokio::task::spawn_blocking(move || work(&agents)).await;
        done.map_err(|failure| error(ErrorCode::Internal, failure.to_string()))
    }
}

fn agents_error(failure: &AgentsError) -> CommandError {
    let code = match failure {
        AgentsError::NotShown | AgentsError::Connect(ConnectError::Changed(_)) => ErrorCode::Stale,
        AgentsError::Unknown(_) | AgentsError::Ways(_) | AgentsError::Connect(_) => ErrorCode::Invalid,
        AgentsError::NoCommand(_) => ErrorCode::Internal,
    };
    error(code, display::escape(&failure.to_string()))
}

/// Harmless, and prints something to see.
const SAMPLE: [&str; 2] = ["uname", "-a"];

/// Who asks for it.
const SAMPLE_AGENT: &str = "sample";

#[cfg(test)]
mod tests;
